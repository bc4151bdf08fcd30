/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The acceptor: the thread that accepts control connections and makes a session
 * for each process that asks for one.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_ACCEPTOR_H
#define WARPRSA_BATCHING_DAEMON_SERVER_ACCEPTOR_H

#include <pthread.h>
#include <stdbool.h>

#include "batching/daemon/server/event_loop.h"

typedef struct warprsa_acceptor {
    warprsa_server_context *context;
    warprsa_event_loop *event_loops; /* config.threads of them, in turn */
    unsigned next;                   /* event loop */
    int wake;                        /* eventfd */
    pthread_t thread;
} warprsa_acceptor;

/* Context and event loops outlive the acceptor. False: no descriptor. */
bool warprsa_acceptor_init(warprsa_acceptor *acceptor,
                           warprsa_server_context *context,
                           warprsa_event_loop *event_loops);
void warprsa_acceptor_free(warprsa_acceptor *acceptor);

/* Starts the thread. False: there can be none. */
bool warprsa_acceptor_start(warprsa_acceptor *acceptor);

/* Ends the thread and all control connections, and waits for it. */
void warprsa_acceptor_stop(warprsa_acceptor *acceptor);

#endif
