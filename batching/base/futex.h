/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sleeping on a word of this process's memory, and the clock that goes with
 * it (CLOCK_MONOTONIC, nanoseconds).
 */
#ifndef WARPRSA_BATCHING_BASE_FUTEX_H
#define WARPRSA_BATCHING_BASE_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WARPRSA_NS_PER_MS  UINT64_C(1000000)
#define WARPRSA_NS_PER_SEC UINT64_C(1000000000)

static inline uint64_t warprsa_now_ns(void)
{
    struct timespec now;

    /* Cannot fail for this clock. */
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * WARPRSA_NS_PER_SEC + (uint64_t)now.tv_nsec;
}

static inline struct timespec warprsa_timespec(uint64_t ns)
{
    struct timespec at = {(time_t)(ns / WARPRSA_NS_PER_SEC),
                          (long)(ns % WARPRSA_NS_PER_SEC)};

    return at;
}

/* Sleeps while *word is `value`, until woken or until_ns (a time of
 * warprsa_now_ns()). May also return for no reason: callers loop. */
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
