/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Many RSA keys of one size that are quick to make, because their primes are
 * pairs of a few. They are not secret: the greatest common divisor of two
 * moduli is a prime. To the arithmetic they are ordinary keys.
 */
#ifndef WARPRSA_BENCH_KEY_SET_H
#define WARPRSA_BENCH_KEY_SET_H

#include "tests/unit/support/gpu_keys.h"

typedef struct key_set {
    made_key *keys;
    size_t count;
} key_set;

/* Makes `count` keys with a modulus of `bits` bits and e = 65537. Errors end
 * the program. key_set_free() frees the keys. */
void key_set_new(key_set *set, size_t bits, size_t count);
void key_set_free(key_set *set);

#endif
