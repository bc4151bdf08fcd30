/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sleeping on a word of this process's memory, and waking who sleeps there
 * (futex(2)).
 */
#ifndef WARPRSA_BATCHING_BASE_FUTEX_H
#define WARPRSA_BATCHING_BASE_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "batching/base/clock.h"

/* Sleeps while *word is `value`, until woken or until_ns (a time of
 * warprsa_clock_ns()). May also return early for no reason, so callers loop. */
static inline void warprsa_futex_wait(_Atomic uint32_t *word, uint32_t value,
                                      uint64_t until_ns)
{
    struct timespec until = warprsa_timespec(until_ns);

    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, &until, NULL,
            FUTEX_BITSET_MATCH_ANY);
}

/* Wakes up to `count` sleepers. */
static inline void warprsa_futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

#endif
