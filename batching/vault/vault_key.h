/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A key of the vault, as those see it that compute with it. vault.h is for all
 * others.
 */
#ifndef WARPRSA_BATCHING_VAULT_VAULT_KEY_H
#define WARPRSA_BATCHING_VAULT_VAULT_KEY_H

#include <stdatomic.h>

#include "batching/base/secret_memory.h"
#include "batching/vault/key_numbers.h"
#include "batching/vault/padding_key.h"
#include "batching/vault/remote_key.h"
#include "batching/vault/vault.h"
#include "batching/vault/vault_ledger.h"

/* What all keys of a vault are made with. */
typedef struct warprsa_vault_means {
    warprsa_secret_pool pool;
    warprsa_padding_library *library;
} warprsa_vault_means;

/* All but the last five stays as it is made. */
struct warprsa_vault_key {
    char name[WARPRSA_KEY_NAME_SIZE];
    uint8_t spki_sha256[WARPRSA_KEY_SPKI_BYTES];
    uint8_t *spki; /* DER */
    size_t spki_bytes;
    unsigned modulus_bytes;
    /* SECRET; what libcrypto computes with. Of a remote key: the public key. */
    warprsa_padding_key *padding;
    bool is_remote; /* GPU hosts have it: there are no private numbers here */
    warprsa_private_key *engines; /* SECRET, of the pool; NULL: none */
    warprsa_vault_means *means;
    warprsa_vault *vault;
    warprsa_vault_ledger *ledger; /* of its name */
    atomic_uint references;       /* the vault's own among them */
    atomic_bool removed;
    char *certificates; /* PEM, under the vault's lock; NULL: none */
    size_t certificate_bytes;
    uint32_t certificate_edition; /* the vault's reading that brought them */
};

/* Makes a key, with one reference. Its means outlive it. Its engines' numbers
 * are from the pool; those of libcrypto are in the process's own memory, which
 * warprsa_secrets_lock_memory() locks. NULL: they are none of a key, or there
 * is no memory. Any thread. */
warprsa_vault_key *warprsa_vault_key_new(warprsa_vault_means *means,
                                         const char *name,
                                         const warprsa_key_numbers *numbers);

/* As warprsa_vault_key_new(), for a key that GPU hosts have. */
warprsa_vault_key *
warprsa_vault_key_new_remote(warprsa_vault_means *means,
                             const warprsa_remote_key *remote);

/* Gives the key certificates, in the place of those that it has. False: no
 * memory. One thread. */
bool warprsa_vault_key_set_certificates(warprsa_vault_key *key, const char *pem,
                                        size_t bytes);

#endif
