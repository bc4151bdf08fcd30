/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An event loop: a thread that does everything for some of the clients, by one
 * epoll instance. It looks at nothing that a client sends: the sessions do.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_EVENT_LOOP_H
#define WARPRSA_BATCHING_DAEMON_SERVER_EVENT_LOOP_H

#include <pthread.h>
#include <stdatomic.h>

#include "batching/daemon/server/session.h"

typedef struct warprsa_event_loop {
    warprsa_session_host host;
    pthread_t thread;
    int eventfd; /* wakes the thread */
    warprsa_event_source wake_source;
    /* A stack onto which the queue's workers push answered requests. */
    _Alignas(64) _Atomic(warprsa_pending *) answered;
    atomic_uint pushing;                        /* workers that are doing so */
    _Alignas(64) _Atomic uint64_t heartbeat_ns; /* of warprsa_clock_ns() */
    pthread_mutex_t lock;
    struct warprsa_sessions arriving; /* under the lock */
    bool has_more; /* the thread's own: the last round has left something */
} warprsa_event_loop;

/* Initialises zeroed memory; the context outlives the loop. False: no memory or
 * descriptor. */
bool warprsa_event_loop_init(warprsa_event_loop *loop,
                             warprsa_server_context *context);
void warprsa_event_loop_free(warprsa_event_loop *loop);

/*
 * One round, by the loop's thread: waits for events unless there is work, then
 * does a bounded part of it: one turn of each user, a few new sessions, a few
 * publications. So the work of one user's many sessions takes many rounds, and
 * others have their turns in between. False: the context is stopping, and no
 * session is left.
 */
bool warprsa_event_loop_round(warprsa_event_loop *loop);

/* The thread's function: rounds until one returns false. `loop` is a
 * warprsa_event_loop. */
void *warprsa_event_loop_run(void *loop);

/* Starts a round now. Any thread. */
void warprsa_event_loop_wake(warprsa_event_loop *loop);

/* Hands a new session over to the loop, which owns it from then on. Any thread,
 * while the context is not stopping. */
void warprsa_event_loop_add(warprsa_event_loop *loop, warprsa_session *session);

#endif
