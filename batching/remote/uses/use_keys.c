/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys that GPU hosts have; see use_keys.h.
 */
#include "batching/remote/uses/use_keys.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "batching/vault/vault_key.h"

static unsigned bucket_of(const warprsa_vault_key *key)
{
    return key->spki_sha256[0] % WARPRSA_USE_KEY_BUCKETS;
}

/* Sets a made-up prime of so many bits, of which checks use the length alone.
 * */
static void set_prime(uint8_t prime[WARPRSA_PRIME_BYTES_MAX], unsigned bits,
                      uint8_t low)
{
    prime[WARPRSA_PRIME_BYTES_MAX - 1 - (bits - 1) / 8] =
        (uint8_t)(1u << (bits - 1) % 8);
    prime[WARPRSA_PRIME_BYTES_MAX - 1] |= low;
}

/* The public key as warprsa_verify_new() takes it. The lengths of the primes
 * are not known here, and are taken to be the same. False: it has a longer
 * modulus or exponent than engines take. */
static bool fill(warprsa_private_key *to, const warprsa_padding_key *from)
{
    const unsigned half = (from->bits + 1) / 2;

    if (from->bits > WARPRSA_MODULUS_BITS_MAX || !from->e_fits)
        return false;
    memset(to, 0, sizeof(*to));
    to->modulus_bytes = from->bytes;
    memcpy(to->n + sizeof(to->n) - from->bytes, from->n, from->bytes);
    memcpy(to->e, from->e, sizeof(to->e));
    set_prime(to->p, half, 3);
    set_prime(to->q, half, 1);
    to->dp[sizeof(to->dp) - 1] = to->dq[sizeof(to->dq) - 1] = 1;
    to->qinv[sizeof(to->qinv) - 1] = 1;
    return true;
}

/* Without a verify, libcrypto checks. */
static void make_verify(warprsa_use_key *key)
{
    warprsa_private_key *public = malloc(sizeof(*public));

    if (public != NULL && fill(public, key->key->padding)) {
        key->size = warprsa_key_class(public);
        if (key->size >= 0)
            key->verify = warprsa_verify_new(public);
    }
    free(public);
}

bool warprsa_use_keys_init(warprsa_use_keys *keys)
{
    *keys = (warprsa_use_keys){0};
    return warprsa_id_pool_init(&keys->numbers, 0, WARPRSA_USE_KEYS_MAX);
}

void warprsa_use_keys_free(warprsa_use_keys *keys)
{
    for (unsigned i = 0; i < WARPRSA_USE_KEY_BUCKETS; i++)
        while (!LIST_EMPTY(&keys->buckets[i]))
            warprsa_use_keys_release(keys, LIST_FIRST(&keys->buckets[i]));
    warprsa_id_pool_free(&keys->numbers);
}

static warprsa_use_key *add(warprsa_use_keys *keys, warprsa_vault_key *key)
{
    warprsa_use_key *added = calloc(1, sizeof(*added));

    if (added == NULL)
        return NULL;
    if (!warprsa_id_pool_acquire(&keys->numbers, &added->number)) {
        free(added);
        return NULL;
    }
    warprsa_vault_key_hold(key);
    added->key = key;
    make_verify(added);
    LIST_INSERT_HEAD(&keys->buckets[bucket_of(key)], added, bucket);
    keys->numbered[added->number] = added;
    keys->count++;
    return added;
}

warprsa_use_key *warprsa_use_keys_take(warprsa_use_keys *keys,
                                       warprsa_vault_key *key)
{
    warprsa_use_key *found = NULL;

    LIST_FOREACH (found, &keys->buckets[bucket_of(key)], bucket)
        if (found->key == key)
            break;
    if (found == NULL)
        found = add(keys, key);
    if (found != NULL)
        found->uses++;
    return found;
}

warprsa_use_key *warprsa_use_keys_next_removed(const warprsa_use_keys *keys)
{
    warprsa_use_key *key = NULL;

    for (unsigned i = 0; i < WARPRSA_USE_KEY_BUCKETS; i++)
        LIST_FOREACH (key, &keys->buckets[i], bucket)
            if (key->uses == 0 && warprsa_vault_key_is_removed(key->key))
                return key;
    return NULL;
}

warprsa_use_key *warprsa_use_keys_number(const warprsa_use_keys *keys,
                                         uint32_t number)
{
    return number < WARPRSA_USE_KEYS_MAX ? keys->numbered[number] : NULL;
}

void warprsa_use_keys_release(warprsa_use_keys *keys, warprsa_use_key *key)
{
    LIST_REMOVE(key, bucket);
    keys->numbered[key->number] = NULL;
    keys->count--;
    warprsa_id_pool_release(&keys->numbers, key->number);
    warprsa_verify_free(key->verify);
    warprsa_vault_key_release(key->key);
    free(key);
}

void warprsa_use_keys_forget(warprsa_use_keys *keys, uint32_t connection,
                             uint32_t place)
{
    warprsa_use_key *key = NULL;

    for (unsigned i = 0; i < WARPRSA_USE_KEY_BUCKETS; i++)
        LIST_FOREACH (key, &keys->buckets[i], bucket) {
            key->told &= ~connection;
            key->no_room &= ~connection;
            atomic_fetch_and(&key->lacks, ~place);
        }
}
