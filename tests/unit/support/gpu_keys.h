/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * RSA keys for the tests of gpu/, made from primes of awkward patterns.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_GPU_KEYS_H
#define WARPRSA_TESTS_UNIT_SUPPORT_GPU_KEYS_H

#include <stdint.h>

#include "gpu/engine.h"
#include "tests/unit/support/random_keys.h"
#include "tests/unit/support/rsa_numbers.h"

/* Where the search for a prime of k bits starts, and which way it goes. */
typedef enum prime_pattern {
    PRIME_DOWN,    /* down from 2^k - 1 */
    PRIME_UP,      /* up from 2^(k-1) + 1 */
    PRIME_ONES,    /* up from ones over as many zeros */
    PRIME_ZEROS,   /* down from a one, zeros, and k/2 ones */
    PRIME_STRIPES, /* up from 101010... */
    PRIME_RANDOM,  /* up from some number of the k bits */
} prime_pattern;

typedef struct prime_choice {
    prime_pattern pattern;
    int bits;
} prime_choice;

/* A key is made of these. */
typedef struct key_recipe {
    prime_choice p, q;
    uint64_t e;
} key_recipe;

typedef struct made_key {
    rsa_numbers numbers;
    warprsa_private_key key;
    uint32_t index; /* for the test's use */
} made_key;

/* All of these: 1 or 0. Any thread, a BN_CTX or key to one thread at a time. */

int made_key_new(made_key *made, const key_recipe *recipe);
/* The same with p and q so far from where their searches start: to look for
 * long primes takes seconds. NULL: they are looked for. */
int made_key_at(made_key *made, const key_recipe *recipe,
                const unsigned *distances);
/* A new key of libcrypto's. */
int made_key_random(made_key *made, size_t bits);
void made_key_free(made_key *made);

/* `key` from numbers of which only those that fit are used. */
int private_key_from_numbers(warprsa_private_key *key,
                             const rsa_numbers *numbers);

/* A random number below n. */
int made_key_message(const made_key *made, BIGNUM *m, random_stream *stream);

/* s = m^d mod n by libcrypto: both halves, then Garner's recombination. */
int made_key_answer(made_key *made, BIGNUM *s, const BIGNUM *m);

/* Whether s < n and s^e = m: with e prime to (p - 1)(q - 1) there is only one
 * such s. Bytes of the modulus's length. */
int made_key_accepts(made_key *made, const uint8_t *s, const uint8_t *m);

#endif
