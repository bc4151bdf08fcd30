/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Jobs that may go on, as told by callbacks on other threads: a stack that any
 * thread pushes to and one thread empties. Only the push that finds that one
 * asleep makes a system call.
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

/* Pushes unless it is there already. Any thread. */
void load_ready_push(load_ready *ready, load_ready_link *link);

/* Takes all, in the order they came in; each may be pushed again once its
 * `queued` is cleared, which is the caller's to do after reading `next`. */
load_ready_link *load_ready_take(load_ready *ready);

/* To be called before sleeping on `fd`: false if there is something to take
 * already. load_ready_woken() follows the sleep. */
bool load_ready_may_sleep(load_ready *ready);
void load_ready_woken(load_ready *ready);

#endif
