/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys for the tests of padding, each for libcrypto's default provider and for
 * warprsa_padding, and an engine in the place of the real ones: BN_mod_exp().
 */
#ifndef WARPRSA_TESTS_UNIT_VAULT_PADDING_KEYS_H
#define WARPRSA_TESTS_UNIT_VAULT_PADDING_KEYS_H

#include <openssl/bn.h>
#include <openssl/evp.h>

#include "batching/vault/padding.h"

typedef struct padding_subject {
    const char *name;
    EVP_PKEY *oracle;
    warprsa_padding_key *key;
    BIGNUM *n, *d;
    unsigned bytes;
} padding_subject;

/* RSA-PSS keys may be restricted to these; NULL and -1: they are not. */
typedef struct pss_restrictions {
    const char *digest;
    const char *mgf1_digest;
    int salt_bytes;
} pss_restrictions;

/* Generates an RSA key. */
void subject_new(padding_subject *subject, const char *name, unsigned bits,
                 unsigned primes);

/* Generates an RSA-PSS key. */
void subject_new_pss(padding_subject *subject, const char *name, unsigned bits,
                     const pss_restrictions *restrictions);

/* A key of 16377 bits, 2048 bytes, of five Mersenne primes: nothing to find. */
void subject_new_largest(padding_subject *subject, const char *name);

void subject_free(padding_subject *subject);

/* The library of all subjects; the first call makes it. */
warprsa_padding_library *subject_library(void);

/* power = number^exponent mod n. */
void subject_power(const padding_subject *subject, const BIGNUM *exponent,
                   const uint8_t *number, uint8_t *power);

/* The errors of the calling thread that libcrypto's default provider raised,
 * without those that EVP adds since OpenSSL 3.5. */
void oracle_errors(warprsa_use_errors *errors);

/* A use without a digest. */
warprsa_key_use use_of(warprsa_use_operation operation,
                       warprsa_use_padding padding, unsigned input_bytes);

#endif
