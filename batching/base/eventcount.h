/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An eventcount: how a device's idle workers sleep and submitters wake one. An
 * eventcount is a futex word that is odd ("armed") while a worker that may
 * sleep wants to be woken. The first submitter that sees the word odd makes it
 * even and pays for the system call. Later submitters pay for one load, until a
 * worker arms the word again.
 *
 * No wake-up is lost: a submitter queues, then looks at the word; a worker arms
 * the word, then looks at the queues. All four steps are in the one total order
 * of sequentially consistent operations, so one thread sees the other's step.
 */
#ifndef WARPRSA_BATCHING_BASE_EVENTCOUNT_H
#define WARPRSA_BATCHING_BASE_EVENTCOUNT_H

#include <stdbool.h>

#include "batching/base/futex.h"

typedef struct warprsa_eventcount {
    _Alignas(64) _Atomic uint32_t word;
    _Atomic uint32_t idle; /* workers that sleep or are about to */
} warprsa_eventcount;

/* Wakes one worker if the eventcount is armed. To be called after queueing. */
static inline void warprsa_eventcount_notify(warprsa_eventcount *eventcount)
{
    uint32_t word = atomic_load(&eventcount->word);

    if ((word & 1) &&
        atomic_compare_exchange_strong(&eventcount->word, &word, word + 1))
        warprsa_futex_wake(&eventcount->word, 1);
}

/* Wakes every worker, for something other than queued requests. */
static inline void warprsa_eventcount_notify_all(warprsa_eventcount *eventcount)
{
    atomic_fetch_add(&eventcount->word, 2);
    warprsa_futex_wake(&eventcount->word, INT_MAX);
}

/* By a thread that has armed the eventcount and will not sleep on it. */
static inline void
warprsa_eventcount_cancel_wait(warprsa_eventcount *eventcount)
{
    atomic_fetch_and(&eventcount->word, ~UINT32_C(1));
}

/* Whether it is armed. */
static inline bool
warprsa_eventcount_has_waiter(const warprsa_eventcount *eventcount)
{
    return (atomic_load(&eventcount->word) & 1) != 0;
}

/* Arms the eventcount and returns its word. The caller then looks for work, and
 * only after that sleeps on the word. */
static inline uint32_t
warprsa_eventcount_prepare_wait(warprsa_eventcount *eventcount)
{
    return atomic_fetch_or(&eventcount->word, 1) | 1;
}

#endif
