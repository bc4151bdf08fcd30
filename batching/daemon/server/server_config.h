/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The configuration of the daemon's server: limits on clients, sockets, the
 * queue that computes. It comes from the administrator, never from a client.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_SERVER_CONFIG_H
#define WARPRSA_BATCHING_DAEMON_SERVER_SERVER_CONFIG_H

#include <stdbool.h>
#include <sys/types.h>

#include "batching/daemon/process/supervisor.h"
#include "batching/daemon/server/use_operations.h"
#include "batching/queue/queue.h"

enum {
    WARPRSA_EVENT_LOOPS_MAX = 16,
    WARPRSA_USE_THREADS_MAX = 8,
};

/* The limits on clients. */
typedef struct warprsa_server_limits {
    unsigned clients;                  /* processes connected */
    unsigned user_clients;             /* of one user */
    unsigned control_connections;      /* programs that loaded the provider */
    unsigned user_control_connections; /* of one user */
    unsigned slots;     /* of one client: requests under way at once */
    unsigned keys;      /* of one client */
    unsigned notifiers; /* of one client: wait contexts of async jobs */
} warprsa_server_limits;

typedef struct warprsa_server_config {
    warprsa_queue *queue;               /* outlives the server */
    warprsa_counters *counters;         /* the queue's */
    warprsa_vault *vault;               /* outlives the server; NULL: none */
    const warprsa_use_operations *uses; /* the same; both or none */
    unsigned deadline_ms;               /* the queue's */
    unsigned threads;                   /* 1..WARPRSA_EVENT_LOOPS_MAX */
    /* Threads that uses of the vault's keys are handed over to; 0: the event
     * loops do all. At most WARPRSA_USE_THREADS_MAX. */
    unsigned use_threads;
    warprsa_server_limits limits;
    /* The user of warprsad-gateway, whose CONNECT may name an identity of the
     * network. This process's own user: no other user may. */
    uid_t gateway_uid;
    int listeners[WARPRSA_LISTENERS_MAX]; /* SOCK_SEQPACKET, listening */
    unsigned listeners_count;
    /* Computes the id of a key for the queue. No client may be able to predict
     * an id, since it could then find out which keys others have. False: the id
     * can't be computed. Any thread. */
    bool (*key_id)(const warprsa_private_key *key,
                   uint8_t id[WARPRSA_KEY_ID_BYTES]);
    int log_level;      /* lines about clients above it are not written */
    unsigned log_lines; /* about one user in a second */
    /* Takes a line for the log; any thread. NULL: there is no log. */
    warprsa_trace_fn log;
    void *log_arg;
} warprsa_server_config;

#endif
