/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A private key as padding needs it: two RSA objects of libcrypto with the same
 * modulus. One computes. The other is told the outcome of its exponentiation,
 * which an engine has computed, and does the rest: what libcrypto's decryption
 * does after it.
 *
 * Threads share both. The one that computes is as safe as any RSA object of
 * libcrypto. The one that is told reads the outcome from a variable of the
 * calling thread, which is set before libcrypto is called and unset after it;
 * libcrypto calls the RSA_METHOD on the thread that called it, and here there
 * is no async job that could pause in between.
 */
#ifndef WARPRSA_BATCHING_VAULT_PADDING_KEY_H
#define WARPRSA_BATCHING_VAULT_PADDING_KEY_H

#include <openssl/evp.h>

#include "batching/vault/padding_library.h"

/* What an RSA-PSS key is restricted to (RFC 4055, 3.1). */
typedef struct warprsa_padding_restrictions {
    bool pss;        /* its type is RSA-PSS: no other padding */
    bool restricted; /* the next three count */
    unsigned digest; /* warprsa_use_digest; WARPRSA_USE_DIGESTS: unknown */
    unsigned mgf1_digest;
    int salt_bytes_min;
} warprsa_padding_restrictions;

/* Read-only once it is made. SECRET, unless it is a public key. */
typedef struct warprsa_padding_key {
    const warprsa_padding_library *library;
    /* libcrypto's own, with its blinding; of a public key with n and e alone */
    RSA *computing;
    RSA *told; /* NULL: it is a public key */
    RSA_METHOD *told_method;
    warprsa_padding_restrictions restrictions;
    unsigned bytes; /* of the modulus */
    unsigned bits;
    uint8_t n[WARPRSA_VAULT_MODULUS_BYTES_MAX]; /* its first `bytes` */
    bool e_fits;                                /* into the next one */
    uint8_t e[8]; /* most significant byte first, padded with zeros */
} warprsa_padding_key;

/*
 * Copies the numbers of an RSA or RSA-PSS private key, of any number of primes.
 * The caller keeps `key`. NULL: it is no such key, lacks d, is larger than
 * RSA-16384, or there is no memory. The library outlives it. Any thread.
 */
warprsa_padding_key *
warprsa_padding_key_new(const warprsa_padding_library *library, EVP_PKEY *key);

/* As warprsa_padding_key_new(), of a public key: for warprsa_padding_encode(),
 * warprsa_padding_verify() and warprsa_padding_verify_power() alone. */
warprsa_padding_key *
warprsa_padding_key_new_public(const warprsa_padding_library *library,
                               EVP_PKEY *key);

/* Wipes the numbers. No thread uses it any more. NULL: does nothing. */
void warprsa_padding_key_free(warprsa_padding_key *key);

/* Tells the calling thread's next operations with told keys their outcome, as
 * long as the modulus; NULL ends that. SECRET: the bytes stay the caller's. */
void warprsa_padding_key_tell(const uint8_t *power);

#endif
