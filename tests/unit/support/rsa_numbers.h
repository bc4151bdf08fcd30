/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of a two-prime RSA key in the second representation of RFC 8017,
 * section 3.2, for tests that make keys from numbers. One thread at a time.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_RSA_NUMBERS_H
#define WARPRSA_TESTS_UNIT_SUPPORT_RSA_NUMBERS_H

#include <openssl/bn.h>
#include <openssl/evp.h>

typedef enum rsa_number {
    NUMBER_N,
    NUMBER_E,
    NUMBER_D,
    NUMBER_P,
    NUMBER_Q,
    NUMBER_DP,
    NUMBER_DQ,
    NUMBER_QINV,
    NUMBERS
} rsa_number;

typedef struct rsa_numbers {
    BIGNUM *value[NUMBERS]; /* all there; 0: not known */
    BN_CTX *ctx;
} rsa_numbers;

/* These functions return 1, or 0 without memory. */
int rsa_numbers_init(rsa_numbers *numbers);
void rsa_numbers_free(rsa_numbers *numbers);

/* d from p, q and e; 0 also if e has no inverse. */
int rsa_numbers_private_exponent(rsa_numbers *numbers);

/* p and q from n, e and d; 0 also if these do not belong together. */
int rsa_numbers_factor(rsa_numbers *numbers);

/* The CRT parameters from p, q and d. */
int rsa_numbers_crt(rsa_numbers *numbers);

/* Imports the key into a library context. The caller frees it; NULL: failed. */
EVP_PKEY *rsa_numbers_import(const rsa_numbers *numbers, OSSL_LIB_CTX *libctx);

/* All numbers of such a key; 0 also if it has not all of them. */
int rsa_numbers_of_key(rsa_numbers *numbers, const EVP_PKEY *key);

/* The length in bits of the longer prime. */
unsigned rsa_numbers_prime_bits(const rsa_numbers *numbers);

#endif
