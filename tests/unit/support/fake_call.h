/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A host's call of Operate without a network: what stands for HTTP/2 and for
 * the map of identities beneath batching/remote/server/operate.c. The whole of
 * a program has one host, one identity and one stream.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_FAKE_CALL_H
#define WARPRSA_TESTS_UNIT_SUPPORT_FAKE_CALL_H

#include "tests/unit/support/daemon_support.h"

#include "batching/remote/server/operate.h"

typedef struct fake_call_seen {
    uint8_t out[WARPRSA_REMOTE_PREFIX + WARPRSA_REMOTE_MESSAGE_MAX];
    unsigned ended;             /* how often the stream was ended */
    warprsa_grpc_status status; /* by the first end */
    unsigned holds;             /* of the connection */
    unsigned operations;        /* that the identity has under way */
} fake_call_seen;

extern fake_call_seen fake_call;
extern warprsa_operate_host fake_host;
extern warprsa_identity fake_identity;
extern warprsa_http2_stream fake_stream;

/* The program's own: a response has been sent. */
void fake_call_response(const warprsa_remote_response *response);

/* A host at the daemon's socket, with an identity that may have so many keys
 * and operations. */
void fake_call_open(const char *path, unsigned keys, unsigned operations);
void fake_call_close(void);

/* Begins a call, of which nothing has been seen yet. */
warprsa_operate *fake_call_begin(void);

/* Ends it, and nothing of it may be under way then. The caller frees it. */
void fake_call_end(warprsa_operate *session);

/* Events of the host, and what is overdue. */
void fake_call_run(warprsa_operate *session, int timeout_ms);

#endif
