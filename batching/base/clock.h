/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The clock that only goes forward.
 */
#ifndef WARPRSA_BATCHING_BASE_CLOCK_H
#define WARPRSA_BATCHING_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since some moment before the program's start. Any thread. */
static inline uint64_t warprsa_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

#endif
