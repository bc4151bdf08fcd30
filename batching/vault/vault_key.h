/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A key of the vault, as those see it that compute with it. vault.h is for all
 * others.
 */
#ifndef WARPRSA_BATCHING_VAULT_VAULT_KEY_H
#define WARPRSA_BATCHING_VAULT_VAULT_KEY_H

#include <stdatomic.h>

#include <openssl/evp.h>

#include "batching/base/secret_memory.h"
#include "batching/vault/key_numbers.h"
#include "batching/vault/vault.h"
#include "batching/vault/vault_ledger.h"

/* All but the last four stays as it is made. */
struct warprsa_vault_key {
    char name[WARPRSA_KEY_NAME_SIZE];
    uint8_t spki_sha256[WARPRSA_KEY_SPKI_BYTES];
    uint8_t *spki; /* DER */
    size_t spki_bytes;
    unsigned modulus_bytes;
    /* What an RSA-PSS key is restricted to, as warprsa_key_numbers has it. */
    bool is_pss;
    unsigned pss_digest, pss_mgf1_digest, pss_salt_bytes_min;
    EVP_PKEY *libcrypto;          /* of the type RSA; SECRET */
    warprsa_private_key *engines; /* SECRET, of the pool; NULL: none */
    warprsa_secret_pool *pool;
    warprsa_vault *vault;
    warprsa_vault_ledger *ledger; /* of its name */
    atomic_uint references;       /* the vault's own among them */
    atomic_bool removed;
    char *certificates; /* PEM, under the vault's lock; NULL: none */
    size_t certificate_bytes;
};

/* Makes a key, with one reference. Its engines' numbers are from the pool,
 * which outlives it; those of libcrypto are in the process's own memory, which
 * warprsa_secrets_lock_memory() locks. NULL: they are none of a key, or there
 * is no memory. Any thread. */
warprsa_vault_key *warprsa_vault_key_new(warprsa_secret_pool *pool,
                                         const char *name,
                                         const warprsa_key_numbers *numbers);

/* Gives the key certificates, in the place of those that it has. False: no
 * memory. One thread. */
bool warprsa_vault_key_set_certificates(warprsa_vault_key *key, const char *pem,
                                        size_t bytes);

/* What denies a use by the type of the key: an RSA-PSS key makes signatures
 * with PSS and with its own digests and salts alone. Padding by the client is
 * for the rules to allow. */
warprsa_denial warprsa_vault_key_permits(const warprsa_vault_key *key,
                                         const warprsa_key_use *use);

#endif
