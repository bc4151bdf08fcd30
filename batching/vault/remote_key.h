/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A key of GPU hosts, as a line of keys.conf names it:
 *
 *     www  remote  spki=MIIBIjANBgkqhkiG9w0B...
 *
 * The word after spki= is the SubjectPublicKeyInfo in DER (RFC 5280, 4.1), in
 * base64 (RFC 4648, section 4) on one line. It is all that this host knows of
 * the key: programs get references while every GPU host is away, and each
 * signature is checked by it. There is nothing secret here.
 */
#ifndef WARPRSA_BATCHING_VAULT_REMOTE_KEY_H
#define WARPRSA_BATCHING_VAULT_REMOTE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/evp.h>

#include "batching/vault/wire/key_name.h"

enum {
    WARPRSA_REMOTE_KEYS_MAX = 4096, /* lines of one file */
    WARPRSA_REMOTE_KEY_BITS_MIN = 1024,
    WARPRSA_REMOTE_KEY_BITS_MAX = 16384, /* as of any key of a vault */
    /* Of the longest modulus and as long an exponent, with PSS parameters. */
    WARPRSA_REMOTE_KEY_SPKI_BYTES = 2 * WARPRSA_REMOTE_KEY_BITS_MAX / 8 + 256,
};

#define WARPRSA_REMOTE_KEY_SPKI_ALLOWED                                        \
    "spki=, the SubjectPublicKeyInfo of an RSA key of 1024 to 16384 bits, "    \
    "with an odd e from 3 to n - 1, of 64 bits at most if there are more "     \
    "than 3072, in base64, as warprsa-key show prints it"

/* Plain data. */
typedef struct warprsa_remote_key {
    uint32_t line; /* of keys.conf, from 1 */
    char name[WARPRSA_KEY_NAME_SIZE];
    uint32_t spki_bytes;
    uint8_t spki[WARPRSA_REMOTE_KEY_SPKI_BYTES]; /* zeros after spki_bytes */
} warprsa_remote_key;

/* The public key of a SubjectPublicKeyInfo, of the type RSA or RSA-PSS, which
 * the caller frees. NULL: it is none, it has another length than `bytes`, or
 * its modulus is even, too short or too long, or is of more than 3072 bits with
 * an exponent of more than 64, of which libcrypto checks no signatures; or its
 * exponent is even, below 3 or not below the modulus (RFC 8017, 3.1).
 * libctx NULL: the default one. Any thread. */
EVP_PKEY *warprsa_remote_key_public(OSSL_LIB_CTX *libctx, const uint8_t *spki,
                                    size_t bytes);

/* Decodes base64 into the key's spki. False: it is no base64, or not that of
 * such a public key. Any thread. */
bool warprsa_remote_key_decode(warprsa_remote_key *key, const char *base64,
                               size_t length);

#endif
