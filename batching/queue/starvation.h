/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The pauses of CPUs in the background (background.h) whose threads find no CPU
 * to run on: then callers wait for requests that another device would have
 * answered. Nothing tells when CPUs are idle again, so it is tried, and after a
 * try in vain the next pause is twice as long. Once eight times the length of a
 * pause has passed without another try in vain, the next is a first one again.
 */
#ifndef WARPRSA_BATCHING_QUEUE_STARVATION_H
#define WARPRSA_BATCHING_QUEUE_STARVATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Zeros to begin with. Any thread without locks: of two that note the same, one
 * may begin the pause anew. */
typedef struct warprsa_starvation {
    _Atomic uint64_t until_ns; /* the end of the last pause; 0: none yet */
    _Atomic uint64_t pause_ns; /* its length */
} warprsa_starvation;

/* A batch has found no CPU. Begins a pause, and returns its length, unless
 * there is one, for batches begun before it; then it returns 0. now_ns: a time
 * of warprsa_clock_ns(). */
uint64_t warprsa_starvation_note(warprsa_starvation *starvation,
                                 uint64_t now_ns);

/* Whether there is a pause. */
static inline bool
warprsa_starvation_is_paused(const warprsa_starvation *starvation,
                             uint64_t now_ns)
{
    return now_ns <
           atomic_load_explicit(&starvation->until_ns, memory_order_relaxed);
}

#endif
