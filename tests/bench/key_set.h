/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Many RSA keys of one size at little cost: the pairs of a few primes. They
 * are no secret keys (two moduli with a common factor give it away), but to
 * the arithmetic they are like any.
 */
#ifndef WARPRSA_BENCH_KEY_SET_H
#define WARPRSA_BENCH_KEY_SET_H

#include "tests/unit/support/gpu_keys.h"

typedef struct key_set {
    made_key *keys;
    size_t count;
} key_set;

/* `count` keys with a modulus of `bits`, e = 65537; errors end the program. */
void key_set_new(key_set *set, size_t bits, size_t count);
void key_set_free(key_set *set);

#endif
