/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cheap RSA keys of random sizes: primes are searched for once and combined
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
/* Uniform enough in 0 .. limit - 1. */
unsigned random_below(random_stream *stream, unsigned limit);
void random_bytes(random_stream *stream, unsigned char *out, size_t len);

enum {
    RANDOM_PRIMES = 80
};

typedef struct prime_pool {
    BIGNUM *primes[RANDOM_PRIMES];
} prime_pool;

/* Finds the primes with so many threads; 1 or 0. */
int prime_pool_fill(prime_pool *pool, uint64_t seed, unsigned threads);
void prime_pool_free(prime_pool *pool);

typedef struct random_key {
    EVP_PKEY *subject; /* in the context with the provider */
    EVP_PKEY *oracle;  /* the same key in one without */
    BIGNUM *n;
    unsigned bytes;      /* of n */
    unsigned prime_bits; /* of the longer prime */
} random_key;

/* Two primes of the pool, in either order, of equal length or not, with a
 * modulus of 1024 to 4096 bits, and a public exponent of 2 to 64 bits. 1 or 0;
 * the pool may be used by many threads. */
int random_key_make(random_key *key, const prime_pool *pool,
                    random_stream *stream, OSSL_LIB_CTX *subject,
                    OSSL_LIB_CTX *oracle);
void random_key_free(random_key *key);

#endif
