/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One call of Operate as the server sees it: the keys of a session and its
 * operations under way. This is the trust boundary of the network: what a
 * message says was checked by messages.h as far as the message alone can tell,
 * and is checked here against what the session and its identity may do.
 */
#ifndef WARPRSA_BATCHING_REMOTE_OPERATE_H
#define WARPRSA_BATCHING_REMOTE_OPERATE_H

#include <sys/queue.h>

#include "batching/queue.h"
#include "batching/remote/http2.h"
#include "batching/remote/identities.h"

struct warprsa_operate;

/* An operation under way. */
typedef struct warprsa_operate_pending {
    struct warprsa_operate *session;
    struct warprsa_operate_pending *next; /* free, or answered */
    warprsa_ticket ticket;
    uint32_t id, bytes;
    bool busy; /* the queue has it, or its answer is to be collected */
} warprsa_operate_pending;

/* Results on their way into a message. SECRET: may be decrypted texts. */
typedef struct warprsa_operate_results {
    size_t count;
    warprsa_remote_result result[WARPRSA_REMOTE_BATCH_MAX];
    uint8_t output[WARPRSA_REMOTE_BATCH_MAX][WARPRSA_MODULUS_BYTES_MAX];
} warprsa_operate_results;

/* What sessions need of the thread that runs them. */
typedef struct warprsa_operate_host {
    warprsa_queue *queue;
    unsigned deadline_ms; /* the queue's */
    bool (*key_id)(const warprsa_private_key *key,
                   uint8_t id[WARPRSA_KEY_ID_BYTES]);
    bool draining; /* no more operations are taken */
    /* Takes an operation that the queue has answered, for answered() to be
     * called by the thread. Called on a worker of the queue. */
    void (*push_answered)(struct warprsa_operate_host *host,
                          warprsa_operate_pending *pending);
    warprsa_operate_results results;
} warprsa_operate_host;

typedef struct warprsa_operate_key {
    warprsa_key *key; /* NULL: none, or one that `status` says no to */
    bool taken;
    warprsa_remote_status status;
    uint32_t bytes; /* of the modulus */
} warprsa_operate_key;

typedef struct warprsa_operate {
    LIST_ENTRY(warprsa_operate) link; /* the host's */
    warprsa_operate_host *host;
    warprsa_http2_stream *stream; /* NULL once it has closed */
    warprsa_identity *identity;
    uint32_t keys_max, operations_max;
    warprsa_operate_key *keys;
    warprsa_operate_pending *pending, *unused, *answered;
    unsigned in_flight;
    bool half_closed; /* the client sends nothing more */
    bool told;        /* that the server drains */
    uint64_t operations;
} warprsa_operate;

/* Begins a session on a stream and welcomes the client. The identity has to
 * outlive it. NULL: no memory. */
warprsa_operate *warprsa_operate_new(warprsa_operate_host *host,
                                     warprsa_http2_stream *stream,
                                     warprsa_identity *identity);

/* Frees one whose stream has closed and that has nothing in flight; its keys
 * are wiped with their last use. */
void warprsa_operate_free(warprsa_operate *session);

/* A message of the client. NULL, or what was wrong with it. */
const char *warprsa_operate_message(warprsa_operate *session,
                                    const uint8_t *bytes, size_t size);

/* The client will send no more. */
void warprsa_operate_half_closed(warprsa_operate *session);

/* The stream is about to be freed: nobody waits for the results any more, and
 * what no batch has is not computed. */
void warprsa_operate_closed(warprsa_operate *session);

/* Takes back an operation that push_answered() was called with; flush() then
 * sends the results of all that were taken back. False: no memory, and the
 * connection must be ended. */
void warprsa_operate_answered(warprsa_operate_pending *pending);
bool warprsa_operate_flush(warprsa_operate *session);

/* If the host drains: tells the client, and ends the session once nothing is
 * in flight. */
void warprsa_operate_drain(warprsa_operate *session);

#endif
