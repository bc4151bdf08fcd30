/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One call of Operate as the server sees it: the keys of a session and its
 * operations under way. This is the trust boundary of the network. messages.h
 * has checked each message by itself; this file checks it against what the
 * session and its identity may do. What the identity may do with a key of the
 * vault is for warprsad to decide, who has the key and the rules: a use goes to
 * it as it came.
 */
#ifndef WARPRSA_BATCHING_REMOTE_SERVER_OPERATE_H
#define WARPRSA_BATCHING_REMOTE_SERVER_OPERATE_H

#include <sys/queue.h>

#include "batching/remote/server/identities.h"
#include "batching/remote/server/upstream.h"
#include "batching/remote/wire/http2.h"

struct warprsa_operate;

/* An operation under way; one for each slot. */
typedef struct warprsa_operate_pending {
    warprsa_ticket ticket;
    uint32_t id;
    uint32_t bytes; /* of the modulus; 0: of a use */
} warprsa_operate_pending;

/* Results that wait for a message. SECRET: they may be decrypted texts. */
typedef struct warprsa_operate_results {
    size_t count;
    warprsa_remote_result result[WARPRSA_REMOTE_BATCH_MAX];
    uint8_t output[WARPRSA_REMOTE_BATCH_MAX][WARPRSA_VAULT_MODULUS_BYTES_MAX];
} warprsa_operate_results;

/* What sessions need from the thread that runs them. */
typedef struct warprsa_operate_host {
    warprsa_upstream upstream;
    bool draining; /* no more operations are taken */
    /* A session has written to its stream, or takes messages again. Runs the
     * connection. */
    void (*written)(struct warprsa_operate *session);
    /* A call cannot go on, for a reason that no function here returns: warprsad
     * has no session for it or has ended the session, or a held message breaks
     * the protocol. Logs this and ends the stream with the status. */
    void (*refuse)(struct warprsa_operate *session, warprsa_grpc_status status,
                   const char *why);
    unsigned holding; /* sessions that wait for room for a message */
    warprsa_remote_request request; /* SECRET; the message being served */
    warprsa_operate_results results;
} warprsa_operate_host;

typedef struct warprsa_operate_key {
    bool taken;
    bool is_vaults;               /* warprsad has it, maybe; the client not */
    warprsa_remote_status status; /* OK: warprsad has been told of it */
    uint32_t bytes;               /* of the modulus, of a client's own key */
    uint8_t *modulus;             /* the same; else NULL */
} warprsa_operate_key;

/* A client's message that waits for the session at warprsad, or for room there.
 * SECRET: it may have a key. */
typedef struct warprsa_operate_held {
    STAILQ_ENTRY(warprsa_operate_held) link;
    size_t size;
    uint8_t bytes[];
} warprsa_operate_held;

typedef struct warprsa_operate {
    LIST_ENTRY(warprsa_operate) link; /* the host's */
    warprsa_operate_host *host;
    warprsa_http2_stream *stream; /* NULL once it has closed */
    warprsa_identity *identity;
    warprsa_upstream_session session;
    uint32_t keys_max, operations_max;
    bool is_further; /* as in identities.h */
    warprsa_operate_key *keys;
    warprsa_operate_pending *pending; /* the first `in_flight` are under way */
    STAILQ_HEAD(, warprsa_operate_held) held;
    unsigned in_flight;
    bool half_closed; /* the client sends nothing more */
    bool told;        /* that the server drains */
    uint64_t operations;
} warprsa_operate;

/* Begins a session on a stream, maybe a further one of its identity: asks
 * warprsad for a session and then welcomes the client, or ends the stream. The
 * identity outlives the session. NULL: no memory. */
warprsa_operate *warprsa_operate_new(warprsa_operate_host *host,
                                     warprsa_http2_stream *stream,
                                     warprsa_identity *identity,
                                     bool is_further);

/* Whether a session may be freed: its stream has closed, and warprsad is done
 * with it, for which a host that drains does not wait. */
bool warprsa_operate_is_over(const warprsa_operate *session);

/* Frees a session whose stream has closed, after the events of this round. */
void warprsa_operate_free(warprsa_operate *session);

/* Takes a message of the client. NULL, or what was wrong with it. While
 * messages are held, the connection is not read from (warprsa_http2_hold()). */
const char *warprsa_operate_message(warprsa_operate *session,
                                    const uint8_t *bytes, size_t size);

/* The client will send no more. */
void warprsa_operate_half_closed(warprsa_operate *session);

/* The stream is about to be freed, and nobody waits for results. warprsad wipes
 * the keys and drops requests that no batch has. */
void warprsa_operate_closed(warprsa_operate *session);

/* To be called several times a second, and oftener while the host is `holding`:
 * serves held messages, and refuses operations that have waited too long. */
void warprsa_operate_tick(warprsa_operate *session);

/* If the host drains: tells the client, and ends the session once no operation
 * is in flight. */
void warprsa_operate_drain(warprsa_operate *session);

#endif
