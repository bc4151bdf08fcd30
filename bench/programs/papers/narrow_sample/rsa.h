/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * RSA keys for the system with narrow samples, and libcrypto's decryptions. p
 * and q are odd random numbers without a common divisor and not primes, and the
 * exponents are random: that costs little to make and as much to compute.
 */
#ifndef WARPRSA_PAPERS_NARROW_RSA_H
#define WARPRSA_PAPERS_NARROW_RSA_H

#include "bench/programs/papers/common/number.h"

enum {
    /* Of each: modulus, r2, r3 and exponent of both halves, q_inverse. */
    NARROW_KEY_WORDS_MAX = 9 * PAPERS_WORDS_MAX,
};

typedef struct narrow_rsa {
    size_t words; /* of p and of q */
    BIGNUM *p, *q, *dp, *dq, *q_inverse;
    BN_CTX *ctx;
    uint32_t n0inv[2];
    /* `words` each: modulus p, q, r2 p, q, r3 p, q, exponent p, q, inverse. */
    uint32_t key[NARROW_KEY_WORDS_MAX];
} narrow_rsa;

/* A key of 2 * bits whose halves have limbs of `width` bits and R =
 * 2^(width * limbs). With `ones`, p and q are 2^bits - 1 and 2^bits - 3, and
 * the exponents all ones. narrow_rsa_free() frees it. */
void narrow_rsa_new(narrow_rsa *k, size_t bits, size_t width, size_t limbs,
                    bool ones);
void narrow_rsa_free(narrow_rsa *k);

/* A random ciphertext below p q, of 2 * words words; or p q - 1. */
void narrow_rsa_text(const narrow_rsa *k, uint32_t *to, bool largest);

/* Whether it is the decryption of c: c^dp mod p, c^dq mod q, below p q. */
bool narrow_rsa_is(const narrow_rsa *k, const uint32_t *c,
                   const uint32_t *result);

#endif
