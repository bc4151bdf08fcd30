/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * SplitMix64, for choices that need no secrecy. Any state is a seed.
 */
#ifndef WARPRSA_LOAD_RANDOM_H
#define WARPRSA_LOAD_RANDOM_H

#include <stdint.h>

typedef struct load_random {
    uint64_t state;
} load_random;

static inline uint64_t load_random_next(load_random *random)
{
    uint64_t x = random->state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* 0 .. limit - 1, uniform enough; limit > 0. */
static inline unsigned load_random_below(load_random *random, unsigned limit)
{
    return (unsigned)((load_random_next(random) >> 32) * limit >> 32);
}

#endif
