/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client's keys; see client_keys.h.
 */
#include "batching/daemon/client/client_keys.h"

#include <stdlib.h>
#include <string.h>

/* With the lock held. `key` is NULL for a key of the vault. */
static warprsa_backend_key *find_key(struct warprsa_backend_key_list *bucket,
                                     const uint8_t *id,
                                     const warprsa_private_key *key)
{
    warprsa_backend_key *found;

    LIST_FOREACH (found, bucket, link)
        if (memcmp(found->id, id, WARPRSA_KEY_ID_BYTES) == 0 &&
            found->of_vault == (key == NULL) &&
            (key == NULL || memcmp(&found->key, key, sizeof(*key)) == 0))
            return found;
    return NULL;
}

/* The key with one more reference; it is made if there is none yet. */
static warprsa_backend_key *hold(warprsa_client *client, const uint8_t *id,
                                 warprsa_size_class size,
                                 uint32_t modulus_bytes,
                                 const warprsa_private_key *key)
{
    struct warprsa_backend_key_list *bucket =
        &client->bucket[id[0] % WARPRSA_CLIENT_BUCKETS];
    warprsa_backend_key *found;

    pthread_mutex_lock(&client->lock);
    found = find_key(bucket, id, key);
    if (found == NULL) {
        found = calloc(1, sizeof(*found));
        if (found != NULL) {
            found->client = client;
            found->size = size;
            found->of_vault = key == NULL;
            if (key != NULL)
                found->key = *key;
            found->modulus_bytes = modulus_bytes;
            memcpy(found->id, id, sizeof(found->id));
            LIST_INSERT_HEAD(bucket, found, link);
            atomic_fetch_add(&client->references, 1);
            warprsa_count(&client->config.counters->keys, 1);
        }
    }
    if (found != NULL)
        found->references++;
    pthread_mutex_unlock(&client->lock);
    return found;
}

warprsa_backend_key *warprsa_client_key(void *impl,
                                        const uint8_t id[WARPRSA_KEY_ID_BYTES],
                                        const warprsa_private_key *key)
{
    int size = warprsa_key_class(key);

    return size < 0 ? NULL
                    : hold(impl, id, (warprsa_size_class)size,
                           key->modulus_bytes, key);
}

/* By the modulus alone; keys that no engine takes count as the largest. */
static warprsa_size_class class_of(unsigned modulus_bytes)
{
    unsigned size = 0;

    while (size + 1 < WARPRSA_CLASSES &&
           8 * modulus_bytes > warprsa_class_bits((warprsa_size_class)size))
        size++;
    return (warprsa_size_class)size;
}

warprsa_backend_key *
warprsa_client_vault_key(warprsa_client *client,
                         const uint8_t spki_sha256[WARPRSA_KEY_SPKI_BYTES],
                         unsigned modulus_bytes)
{
    if (modulus_bytes == 0 || modulus_bytes > WARPRSA_VAULT_MODULUS_BYTES_MAX)
        return NULL;
    return hold(client, spki_sha256, class_of(modulus_bytes), modulus_bytes,
                NULL);
}

/* With the lock held: tells the daemon to wipe a key, and frees its number.
 * False: the message can't be sent now, and the number stays taken. */
static bool send_key_free(warprsa_client *client, warprsa_connection *c,
                          warprsa_backend_key *key)
{
    c->message.type = WARPRSA_SHM_KEY_FREE;
    c->message.number = key->number;
    c->message.generation = key->generation;
    if (!warprsa_connection_send(c))
        return false;
    warprsa_connection_notify_message(c);
    warprsa_id_pool_release(&c->free_keys, key->number);
    warprsa_count(&client->config.counters->keys_wiped, 1);
    key->serial = 0;
    return true;
}

static void unname(warprsa_client *client, warprsa_backend_key *key)
{
    if (key->is_named)
        TAILQ_REMOVE(&client->named, key, named);
    key->is_named = false;
}

/* With the lock held: notes that a key of the vault is used now. */
static void name(warprsa_client *client, warprsa_backend_key *key)
{
    if (!key->of_vault)
        return;
    unname(client, key);
    TAILQ_INSERT_TAIL(&client->named, key, named);
    key->is_named = true;
}

/* With the lock held: takes the number of the vault's key that was used longest
 * ago. The daemon still answers uses under way with it, but for those that it
 * has not read yet: it refuses these, and they are submitted again. */
static bool take_a_number(warprsa_client *client, warprsa_connection *c)
{
    warprsa_backend_key *key;

    while ((key = TAILQ_FIRST(&client->named)) != NULL) {
        const bool has_number = key->serial == c->serial;

        if (has_number && !send_key_free(client, c, key))
            return false;
        unname(client, key);
        if (has_number)
            return true;
    }
    return false;
}

/* With the lock held: a number for a key. False: there is none now. */
static bool acquire_number(warprsa_client *client, warprsa_connection *c,
                           const warprsa_backend_key *key, uint32_t *number)
{
    return warprsa_id_pool_acquire(&c->free_keys, number) ||
           (key->of_vault && take_a_number(client, c) &&
            warprsa_id_pool_acquire(&c->free_keys, number));
}

void warprsa_client_key_release(warprsa_backend_key *key)
{
    warprsa_client *client = key->client;
    bool last;

    pthread_mutex_lock(&client->lock);
    last = --key->references == 0;
    if (last) {
        warprsa_connection *c = client->connection;

        LIST_REMOVE(key, link);
        unname(client, key);
        if (c != NULL && key->serial == c->serial)
            (void)send_key_free(client, c, key);
        atomic_fetch_sub(&client->config.counters->keys, 1);
    }
    pthread_mutex_unlock(&client->lock);
    if (!last)
        return;
    explicit_bzero(key, sizeof(*key));
    free(key);
    warprsa_client_drop(client);
}

/* In a forked child: the key stays in the list of the parent's client, which
 * the child does not use. */
void warprsa_client_key_abandon(warprsa_backend_key *key)
{
    explicit_bzero(&key->key, sizeof(key->key));
}

bool warprsa_client_upload(warprsa_client *client, warprsa_connection *c,
                           warprsa_backend_key *key)
{
    warprsa_shm_message *message = &c->message;
    uint32_t number = 0;
    bool sent;

    if (key->serial == c->serial) {
        name(client, key);
        return true;
    }
    if (!acquire_number(client, c, key, &number))
        return false;
    message->number = number;
    message->type = key->of_vault ? WARPRSA_SHM_KEY_USE : WARPRSA_SHM_KEY;
    message->generation = ++c->key_generation[message->number];
    if (key->of_vault)
        memcpy(message->spki_sha256, key->id, sizeof(message->spki_sha256));
    else
        message->key = key->key;
    sent = warprsa_connection_send(c);
    explicit_bzero(&message->key, sizeof(message->key));
    if (!sent) {
        warprsa_id_pool_release(&c->free_keys, message->number);
        return false;
    }
    key->number = message->number;
    key->generation = c->key_generation[key->number];
    key->serial = c->serial;
    name(client, key);
    warprsa_count(&client->config.counters->keys_loaded, 1);
    return true;
}
