/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Numbers for the papers' systems, and libcrypto's answers: a modular
 * exponentiation of many random bases with one modulus and one exponent, as
 * the papers measure it. Words are of 32 bits, the lowest first. One thread;
 * errors end the program. Nothing here is secret, and nothing is constant time.
 */
#ifndef WARPRSA_PAPERS_NUMBER_H
#define WARPRSA_PAPERS_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/bn.h>

enum {
    PAPERS_WORDS_MAX = 128, /* of 4096 bits */
};

/* Ends the program with a message and status 1. */
void papers_fail(const char *what) __attribute__((noreturn));

/* Zeroed host memory, never NULL; the caller frees it. */
void *papers_memory(size_t count, size_t bytes);

/* x as `words` words, which must be enough for it. */
void papers_words(uint32_t *to, size_t words, const BIGNUM *x);
void papers_number(BIGNUM *x, const uint32_t *from, size_t words);

/* -1/n mod 2^32 of an odd number whose lowest word is `low`. */
uint32_t papers_n0inv(uint32_t low);

typedef struct papers_modexp {
    size_t bits, words; /* of the modulus; words * 32 >= bits */
    size_t exponent_bits;
    size_t ones; /* bits of the exponent that are set */
    BIGNUM *n, *e;
    BN_CTX *ctx;
    uint32_t n0inv;
    uint32_t modulus[PAPERS_WORDS_MAX];
    uint32_t exponent[PAPERS_WORDS_MAX];
    uint32_t r2[PAPERS_WORDS_MAX]; /* R^2 mod n for R = 2^(32 words) */
} papers_modexp;

/* A random odd modulus of `bits` bits with its top bit set, and an exponent:
 * the number given, or a random one as long as the modulus if that is 0.
 * papers_modexp_free() frees it. */
void papers_modexp_new(papers_modexp *m, size_t bits, unsigned long exponent);
void papers_modexp_free(papers_modexp *m);

/* The same for a modulus that the caller sets m->n to: at the edges. */
void papers_modexp_of(papers_modexp *m, const BIGNUM *n, unsigned long e);

/* `count` random numbers below the modulus, m->words words each. */
void papers_bases(const papers_modexp *m, uint32_t *to, size_t count);

/* Whether base^e mod n == result; both have m->words words. */
bool papers_modexp_is(const papers_modexp *m, const uint32_t *base,
                      const uint32_t *result);

#endif
