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

/* With the lock held: tells the daemon to wipe the keys that were freed, and
 * frees their numbers. Where the daemon has not read what it was sent before,
 * some are left for the next time. */
static void send_frees(warprsa_client *client, warprsa_connection *c)
{
    bool any = false;

    while (c->freed_count > 0) {
        const uint32_t number = c->freed[c->freed_count - 1];

        c->message.type = WARPRSA_SHM_KEY_FREE;
        c->message.number = number;
        c->message.generation = c->key_generation[number];
        if (!warprsa_connection_send(c))
            break;
        any = true;
        c->freed_count--;
        warprsa_id_pool_release(&c->free_keys, number);
        warprsa_count(&client->config.counters->keys_wiped, 1);
    }
    if (any)
        warprsa_connection_notify_message(c);
}

/* With the lock held: has the daemon wipe a key that has a number. */
static void free_number(warprsa_client *client, warprsa_connection *c,
                        warprsa_backend_key *key)
{
    c->freed[c->freed_count++] = key->number;
    key->serial = 0;
    send_frees(client, c);
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
        unname(client, key);
        if (key->serial == c->serial) {
            free_number(client, c, key);
            return c->freed_count == 0;
        }
    }
    return false;
}

/* With the lock held: a number for a key. False: there is none now. While
 * numbers wait to be freed the daemon can be sent no key either. */
static bool acquire_number(warprsa_client *client, warprsa_connection *c,
                           const warprsa_backend_key *key, uint32_t *number)
{
    if (c->freed_count > 0)
        return false;
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
            free_number(client, c, key);
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

    send_frees(client, c);
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
