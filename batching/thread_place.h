/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which of several places a thread uses, where all do the same to any of them
 * and would wait for one another's cache line if there were only one.
 */
#ifndef WARPRSA_THREAD_PLACE_H
#define WARPRSA_THREAD_PLACE_H

#include <pthread.h>
#include <stdint.h>

enum {
    WARPRSA_PLACES = 16,
};

/* Always the same for a thread; two may have the same. */
static inline unsigned warprsa_thread_place(void)
{
    /* Fibonacci hashing: descriptors of threads lie stacks apart. */
    uint64_t mixed = (uint64_t)pthread_self() * UINT64_C(0x9e3779b97f4a7c15);

    return (unsigned)(mixed >> 32) % WARPRSA_PLACES;
}

#endif
