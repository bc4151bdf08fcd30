/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A key of the vault; see vault_key.h.
 */
#include "batching/vault/vault_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

static void free_key(warprsa_vault_key *key)
{
    warprsa_padding_key_free(key->padding);
    warprsa_secret_give(&key->means->pool, key->engines, sizeof(*key->engines));
    free(key->spki);
    free(key->certificates);
    free(key);
}

/* The numbers for engines, if one takes them. False: no memory. */
static bool take_for_engines(warprsa_vault_key *key,
                             const warprsa_key_numbers *numbers)
{
    key->engines =
        warprsa_secret_take(&key->means->pool, sizeof(*key->engines));
    if (key->engines == NULL)
        return false;
    if (warprsa_key_numbers_for_engines(numbers, key->engines))
        return true;
    warprsa_secret_give(&key->means->pool, key->engines, sizeof(*key->engines));
    key->engines = NULL;
    return true;
}

/* The key that pads, of the type that the numbers say. */
static bool take_for_libcrypto(warprsa_vault_key *key,
                               const warprsa_key_numbers *numbers)
{
    EVP_PKEY *pkey = warprsa_key_numbers_to(numbers);

    if (pkey == NULL)
        return false;
    key->padding = warprsa_padding_key_new(key->means->library, pkey);
    EVP_PKEY_free(pkey);
    if (key->padding == NULL)
        return false;
    key->padding->restrictions = (warprsa_padding_restrictions){
        .pss = numbers->is_pss != 0,
        .restricted = numbers->pss_digest != WARPRSA_DIGEST_NONE,
        .digest = numbers->pss_digest,
        .mgf1_digest = numbers->pss_mgf1_digest,
        .salt_bytes_min = (int)numbers->pss_salt_bytes_min,
    };
    return true;
}

/* What all keys have, once there is the one that pads. */
static bool take_public(warprsa_vault_key *key, const uint8_t *spki,
                        size_t bytes)
{
    unsigned length = 0;

    key->modulus_bytes = key->padding->bytes;
    key->spki_bytes = bytes;
    key->spki = malloc(key->spki_bytes);
    if (key->spki == NULL)
        return false;
    memcpy(key->spki, spki, key->spki_bytes);
    return EVP_Digest(key->spki, key->spki_bytes, key->spki_sha256, &length,
                      EVP_sha256(), NULL) == 1 &&
           length == sizeof(key->spki_sha256);
}

static bool fill(warprsa_vault_key *key, const warprsa_key_numbers *numbers)
{
    return take_for_libcrypto(key, numbers) && take_for_engines(key, numbers) &&
           take_public(key, numbers->spki, numbers->spki_bytes);
}

static bool fill_remote(warprsa_vault_key *key,
                        const warprsa_remote_key *remote)
{
    EVP_PKEY *public = warprsa_remote_key_public(
        key->means->library->libctx, remote->spki, remote->spki_bytes);

    if (public == NULL)
        return false;
    key->is_remote = true;
    key->padding = warprsa_padding_key_new_public(key->means->library, public);
    EVP_PKEY_free(public);
    return key->padding != NULL &&
           take_public(key, remote->spki, remote->spki_bytes);
}

/* A key without anything in it. NULL: no memory. */
static warprsa_vault_key *empty_key(warprsa_vault_means *means,
                                    const char *name)
{
    warprsa_vault_key *key = calloc(1, sizeof(*key));

    if (key == NULL)
        return NULL;
    snprintf(key->name, sizeof(key->name), "%s", name);
    key->means = means;
    atomic_init(&key->references, 1);
    atomic_init(&key->removed, false);
    return key;
}

warprsa_vault_key *warprsa_vault_key_new(warprsa_vault_means *means,
                                         const char *name,
                                         const warprsa_key_numbers *numbers)
{
    warprsa_vault_key *key = empty_key(means, name);

    if (key == NULL || fill(key, numbers))
        return key;
    free_key(key);
    return NULL;
}

warprsa_vault_key *
warprsa_vault_key_new_remote(warprsa_vault_means *means,
                             const warprsa_remote_key *remote)
{
    warprsa_vault_key *key = empty_key(means, remote->name);

    if (key == NULL || fill_remote(key, remote))
        return key;
    free_key(key);
    return NULL;
}

bool warprsa_vault_key_set_certificates(warprsa_vault_key *key, const char *pem,
                                        size_t bytes)
{
    char *copy = NULL;

    if (bytes > 0) {
        copy = malloc(bytes);
        if (copy == NULL)
            return false;
        memcpy(copy, pem, bytes);
    }
    free(key->certificates);
    key->certificates = copy;
    key->certificate_bytes = bytes;
    return true;
}

void warprsa_vault_key_hold(warprsa_vault_key *key)
{
    atomic_fetch_add(&key->references, 1);
}

void warprsa_vault_key_release(warprsa_vault_key *key)
{
    if (key != NULL && atomic_fetch_sub(&key->references, 1) == 1)
        free_key(key);
}

const char *warprsa_vault_key_name(const warprsa_vault_key *key)
{
    return key->name;
}

const uint8_t *warprsa_vault_key_spki_sha256(const warprsa_vault_key *key)
{
    return key->spki_sha256;
}

unsigned warprsa_vault_key_modulus_bytes(const warprsa_vault_key *key)
{
    return key->modulus_bytes;
}

const uint8_t *warprsa_vault_key_spki(const warprsa_vault_key *key,
                                      size_t *bytes)
{
    *bytes = key->spki_bytes;
    return key->spki;
}

const warprsa_private_key *
warprsa_vault_key_for_engines(const warprsa_vault_key *key)
{
    return key->engines;
}

bool warprsa_vault_key_is_remote(const warprsa_vault_key *key)
{
    return key->is_remote;
}

bool warprsa_vault_key_is_removed(const warprsa_vault_key *key)
{
    return atomic_load(&key->removed);
}
