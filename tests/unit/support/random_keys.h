/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * RSA keys of random sizes that cost little: primes are found once and combined
 * in pairs. The same seed gives the same keys.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_RANDOM_KEYS_H
#define WARPRSA_TESTS_UNIT_SUPPORT_RANDOM_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include <openssl/bn.h>
#include <openssl/evp.h>

/* SplitMix64; any state is a seed. Not for secrets. */
typedef struct random_stream {
    uint64_t state;
} random_stream;

uint64_t random_next(random_stream *stream);
/* A number from 0 to limit - 1, uniform enough for tests. */
unsigned random_below(random_stream *stream, unsigned limit);
void random_bytes(random_stream *stream, unsigned char *out, size_t len);

enum {
    RANDOM_PRIMES = 80,
    LARGE_PRIMES = 8, /* always the same: to find them takes seconds */
};

typedef struct prime_pool {
    BIGNUM *primes[RANDOM_PRIMES];
    BIGNUM *large[LARGE_PRIMES]; /* neighbours make a key of the usual length */
    unsigned large_in;           /* one key in so many is of them; 0: none is */
} prime_pool;

/* Finds the primes with `threads` threads. Returns 1, or 0 on failure. */
int prime_pool_fill(prime_pool *pool, uint64_t seed, unsigned threads,
                    unsigned large_in);
void prime_pool_free(prime_pool *pool);

typedef struct random_key {
    EVP_PKEY *subject; /* in the context with the provider */
    EVP_PKEY *oracle;  /* the same key in one without */
    BIGNUM *n;
    unsigned bytes;      /* of n */
    unsigned prime_bits; /* of the longer prime */
} random_key;

/* Makes a key from two primes of the pool, in either order, of equal length or
 * not. Its modulus has 1024 to 4096 bits, or from there to 8192 if its primes
 * are large ones, its public exponent 2 to 64. Returns 1, or 0 on failure. Many
 * threads may use the pool. */
int random_key_make(random_key *key, const prime_pool *pool,
                    random_stream *stream, OSSL_LIB_CTX *subject,
                    OSSL_LIB_CTX *oracle);
void random_key_free(random_key *key);

#endif
