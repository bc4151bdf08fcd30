/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The daemon's service: takes connections on listening sockets and answers the
 * requests of the processes behind them by one queue (batching/queue.h).
 */
#ifndef WARPRSA_DAEMON_SERVER_H
#define WARPRSA_DAEMON_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batching/queue.h"

enum {
    WARPRSA_LISTENERS_MAX = 16,
    WARPRSA_EVENT_LOOPS_MAX = 16,
};

/* What clients may have. */
typedef struct warprsa_server_limits {
    unsigned clients;             /* processes connected */
    unsigned user_clients;        /* of one user */
    unsigned control_connections; /* programs that have loaded the provider */
    unsigned user_control_connections; /* of one user */
    unsigned slots;                    /* of one client: requests under way */
    unsigned keys;                     /* of one client */
    unsigned notifiers; /* of one client: wait contexts of async jobs */
} warprsa_server_limits;

typedef struct warprsa_server_config {
    warprsa_queue *queue;             /* outlives the server */
    const warprsa_counters *counters; /* the queue's */
    unsigned deadline_ms;             /* the queue's */
    unsigned threads;                 /* 1..WARPRSA_EVENT_LOOPS_MAX */
    warprsa_server_limits limits;
    int listeners[WARPRSA_LISTENERS_MAX]; /* SOCK_SEQPACKET, listening */
    unsigned listeners_count;
    /* The id of a key for the queue, one that no client can foresee: else it
     * could be made to tell what keys others have. False: it can't be had. */
    bool (*key_id)(const warprsa_private_key *key,
                   uint8_t id[WARPRSA_KEY_ID_BYTES]);
    /* Lines for the log; any thread. */
    warprsa_trace_fn log;
    void *log_arg;
} warprsa_server_config;

typedef struct warprsa_server warprsa_server;

/* Starts the threads. NULL with the reason in why. */
warprsa_server *warprsa_server_start(const warprsa_server_config *config,
                                     char *why, size_t why_size);

/* New limits; connections there are keep what they have. Any thread. */
void warprsa_server_limit(warprsa_server *server,
                          const warprsa_server_limits *limits);

/* Processes connected now. Any thread. */
unsigned warprsa_server_clients(warprsa_server *server);

/* Whether every thread has come round within the last `ms`. */
bool warprsa_server_is_healthy(warprsa_server *server, unsigned ms);

/* Takes no more connections and requests, answers those under way (the queue's
 * deadline bounds that), disconnects everybody, ends the threads and frees.
 * The listening sockets stay open. */
void warprsa_server_stop(warprsa_server *server);

#endif
