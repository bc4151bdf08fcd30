/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The one monotonic clock of the whole program: CLOCK_MONOTONIC, in
 * nanoseconds. Every deadline and every `..._ns` point in time is read from it.
 * Beside it, the CPU time of a thread.
 */
#ifndef WARPRSA_BATCHING_BASE_CLOCK_H
#define WARPRSA_BATCHING_BASE_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define WARPRSA_NS_PER_MS  UINT64_C(1000000)
#define WARPRSA_NS_PER_SEC UINT64_C(1000000000)

/* Nanoseconds since some moment before the program started. Never goes back.
 * Any thread. */
static inline uint64_t warprsa_clock_ns(void)
{
    struct timespec now;

    /* Cannot fail for this clock. */
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * WARPRSA_NS_PER_SEC + (uint64_t)now.tv_nsec;
}

/* Whether `every_ns` have passed since *last_ns, which becomes now in that
 * case. Of several threads that come at once, one is told so. Any thread. */
static inline bool warprsa_clock_is_due(_Atomic uint64_t *last_ns,
                                        uint64_t every_ns)
{
    const uint64_t now_ns = warprsa_clock_ns();
    uint64_t last = atomic_load_explicit(last_ns, memory_order_relaxed);

    return now_ns >= last + every_ns &&
           atomic_compare_exchange_strong_explicit(last_ns, &last, now_ns,
                                                   memory_order_relaxed,
                                                   memory_order_relaxed);
}

/* The CPU time of the calling thread, in nanoseconds. */
static inline uint64_t warprsa_thread_cpu_ns(void)
{
    struct timespec used;

    /* Cannot fail for a clock of the caller's own. */
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * WARPRSA_NS_PER_SEC + (uint64_t)used.tv_nsec;
}

/* A number of nanoseconds in the form that system calls want. */
static inline struct timespec warprsa_timespec(uint64_t ns)
{
    struct timespec ts = {(time_t)(ns / WARPRSA_NS_PER_SEC),
                          (long)(ns % WARPRSA_NS_PER_SEC)};

    return ts;
}

#endif
