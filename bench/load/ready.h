/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The jobs that can be resumed: a stack. Callbacks push jobs to it on any
 * thread, and the thread that runs the jobs empties it. A push makes a system
 * call only if it finds that thread asleep.
 */
#ifndef WARPRSA_LOAD_READY_H
#define WARPRSA_LOAD_READY_H

#include <stdatomic.h>
#include <stdbool.h>

typedef struct load_ready_link {
    struct load_ready_link *next;
    atomic_bool queued;
} load_ready_link;

typedef struct load_ready {
    _Atomic(load_ready_link *) top;
    atomic_bool asleep;
    int fd; /* an eventfd, written when `asleep` */
} load_ready;

/* Pushes a link unless it is in the stack already. Any thread. */
void load_ready_push(load_ready *ready, load_ready_link *link);

/* Takes all links out, in the order in which they were pushed. The caller reads
 * `next` of a link and then clears its `queued`; from then on it may be pushed
 * again. */
load_ready_link *load_ready_take(load_ready *ready);

/* To be called before sleeping on `fd`. False: there is something to take.
 * True: sleep, and call load_ready_woken() afterwards. */
bool load_ready_may_sleep(load_ready *ready);
void load_ready_woken(load_ready *ready);

#endif
