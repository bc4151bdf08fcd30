/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of a client share: the client itself, its counted references,
 * and what it shows of its connection in the counters and to the router.
 */
#ifndef WARPRSA_BATCHING_DAEMON_CLIENT_CLIENT_STATE_H
#define WARPRSA_BATCHING_DAEMON_CLIENT_CLIENT_STATE_H

#include <pthread.h>
#include <sys/queue.h>

#include "batching/daemon/client/busy.h"
#include "batching/daemon/client/client_config.h"
#include "batching/daemon/client/session_connection.h"

enum {
    WARPRSA_CLIENT_BUCKETS = 256, /* of the hash table of keys */
};

/* client_keys.h has the keys. */
LIST_HEAD(warprsa_backend_key_list, warprsa_backend_key);
TAILQ_HEAD(warprsa_named_keys, warprsa_backend_key);

typedef struct warprsa_client {
    _Atomic uint32_t references; /* the opener's, each key's, each notifier's */
    warprsa_client_config config;

    pthread_mutex_t lock; /* of what follows, to `bucket` */
    /* NULL: none now. Without the lock it tells whether a connection that the
     * caller holds is still this one. */
    _Atomic(warprsa_connection *) connection;
    bool closed;
    char trouble[WARPRSA_COUNTERS_TEXT]; /* why there is no connection */
    uint32_t generations;                /* of slots, handed out so far */
    /* Keys of the vault that have a number on a connection, maybe an earlier
     * one; that used longest ago first. */
    struct warprsa_named_keys named;
    struct warprsa_backend_key_list bucket[WARPRSA_CLIENT_BUCKETS];

    /* As last published: the connection's state, and whether the daemon
     * computes with the CPUs alone. */
    _Atomic uint32_t state;
    _Atomic bool on_cpus;
    _Alignas(64) _Atomic uint32_t depth; /* requests that are not answered */

    pthread_mutex_t connect_lock; /* of what follows */
    uint32_t serials;             /* of connections, handed out so far */
    bool asked;                   /* for a connection; no reply yet */
    bool late;                    /* callers do not wait for the reply */
    warprsa_naps naps;            /* of callers that waited for it */
    warprsa_busy daemon;          /* since it was asked */
    uint64_t retry_ns;            /* not asked again before */
    unsigned pause_ms;            /* after the next failure */
} warprsa_client;

/* Drops a reference; the last one frees. Any thread. */
void warprsa_client_drop(warprsa_client *client);

/* The connection with one more reference, or NULL if there is none now. */
warprsa_connection *warprsa_client_connection(warprsa_client *client);

/* Writes a line to the trace, if there is one. */
__attribute__((format(printf, 2, 3))) void
warprsa_client_trace(const warprsa_client *client, const char *format, ...);

/* With the lock held: shows in the counters, and to the router, that there is
 * no daemon, and why. */
void warprsa_client_publish_none(warprsa_client *client, const char *why);

/* Shows a changed state of the daemon, or other devices, in the counters and to
 * the router. */
void warprsa_client_publish_state(warprsa_client *client,
                                  warprsa_connection *connection,
                                  warprsa_queue_state state);

#endif
