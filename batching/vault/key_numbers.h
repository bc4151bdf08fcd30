/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of a vault key, as they go from the process that reads the files
 * to the one that computes: plain data of a fixed size. libcrypto's decoders
 * leave parts of what they read in freed memory, so they run in a process that
 * ends, and only numbers leave it. What is made of them here is wiped by
 * whoever frees it.
 */
#ifndef WARPRSA_BATCHING_VAULT_KEY_NUMBERS_H
#define WARPRSA_BATCHING_VAULT_KEY_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include <openssl/evp.h>

#include "batching/vault/wire/key_use.h"
#include "gpu/engine.h"

enum {
    WARPRSA_VAULT_MODULUS_BITS_MIN = 1024,
    WARPRSA_VAULT_MODULUS_BITS_MAX = 8 * WARPRSA_VAULT_MODULUS_BYTES_MAX,
    WARPRSA_VAULT_PRIMES_MAX = 5, /* libcrypto takes no more */
    /* n, e and d, then all primes, all exponents d mod (r - 1), and all
     * coefficients: those of all primes but one. */
    WARPRSA_VAULT_NUMBERS_MAX = 3 + 3 * WARPRSA_VAULT_PRIMES_MAX - 1,
    /* Six sets of numbers that have together the length of n, or a byte more
     * for each prime. */
    WARPRSA_VAULT_NUMBER_BYTES =
        6 * (WARPRSA_VAULT_MODULUS_BYTES_MAX + WARPRSA_VAULT_PRIMES_MAX),
};

/* SECRET. The rest of each array is zeros. */
typedef struct warprsa_key_numbers {
    uint32_t primes; /* 2 .. WARPRSA_VAULT_PRIMES_MAX */
    /* A key of the type RSA-PSS makes signatures with PSS alone; with these
     * digests (warprsa_use_digest) and salts, unless pss_digest is 0. */
    uint32_t is_pss, pss_digest, pss_mgf1_digest, pss_salt_bytes_min;
    uint32_t spki_bytes;
    uint8_t spki[WARPRSA_KEY_SPKI_DER_MAX]; /* DER */
    uint32_t lengths[WARPRSA_VAULT_NUMBERS_MAX];
    uint8_t bytes[WARPRSA_VAULT_NUMBER_BYTES]; /* one number after the other */
} warprsa_key_numbers;

/* Takes the numbers of a private key of the type RSA or RSA-PSS. False: it
 * lacks some, or they are too large, or PSS is restricted to a digest that the
 * daemon does not know; *numbers is zeros then. Any thread. */
bool warprsa_key_numbers_from(warprsa_key_numbers *numbers,
                              const EVP_PKEY *key);

/* A key of the type RSA, for libcrypto to compute with; NULL: the numbers are
 * none of a key, or there is no memory. Whether they belong together is not
 * looked at. Any thread. */
EVP_PKEY *warprsa_key_numbers_to(const warprsa_key_numbers *numbers);

/* Fills in the key for engines. False: no engine takes it, and *key is zeros.
 * Any thread. */
bool warprsa_key_numbers_for_engines(const warprsa_key_numbers *numbers,
                                     warprsa_private_key *key);

#endif
