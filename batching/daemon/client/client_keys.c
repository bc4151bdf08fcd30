/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client's keys; see client_keys.h.
 */
#include "batching/daemon/client/client_keys.h"

#include <stdlib.h>
#include <string.h>

/* With the lock held. */
static warprsa_backend_key *find_key(struct warprsa_backend_key_list *bucket,
                                     const uint8_t *id,
                                     const warprsa_private_key *key)
{
    warprsa_backend_key *found;

    LIST_FOREACH (found, bucket, link)
        if (memcmp(found->id, id, WARPRSA_KEY_ID_BYTES) == 0 &&
            memcmp(&found->key, key, sizeof(*key)) == 0)
            return found;
    return NULL;
}

warprsa_backend_key *warprsa_client_key(void *impl,
                                        const uint8_t id[WARPRSA_KEY_ID_BYTES],
                                        const warprsa_private_key *key)
{
    warprsa_client *client = impl;
    struct warprsa_backend_key_list *bucket =
        &client->bucket[id[0] % WARPRSA_CLIENT_BUCKETS];
    int size = warprsa_key_class(key);
    warprsa_backend_key *found;

    if (size < 0)
        return NULL;
    pthread_mutex_lock(&client->lock);
    found = find_key(bucket, id, key);
    if (found == NULL) {
        found = calloc(1, sizeof(*found));
        if (found != NULL) {
            found->client = client;
            found->size = (warprsa_size_class)size;
            found->key = *key;
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

/* With the lock held: tells the daemon to wipe a key. If the message can't be
 * sent, the key's number stays taken. */
static void send_key_free(warprsa_client *client,
                          const warprsa_backend_key *key)
{
    warprsa_connection *c = client->connection;

    if (c == NULL || key->serial != c->serial)
        return;
    c->message.type = WARPRSA_SHM_KEY_FREE;
    c->message.number = key->number;
    c->message.generation = key->generation;
    if (warprsa_connection_send(c)) {
        warprsa_connection_notify_message(c);
        warprsa_id_pool_release(&c->free_keys, key->number);
        warprsa_count(&client->config.counters->keys_wiped, 1);
    }
}

void warprsa_client_key_release(warprsa_backend_key *key)
{
    warprsa_client *client = key->client;
    bool last;

    pthread_mutex_lock(&client->lock);
    last = --key->references == 0;
    if (last) {
        LIST_REMOVE(key, link);
        send_key_free(client, key);
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
    bool sent;

    if (key->serial == c->serial)
        return true;
    if (!warprsa_id_pool_acquire(&c->free_keys, &message->number))
        return false;
    message->type = WARPRSA_SHM_KEY;
    message->generation = ++c->key_generation[message->number];
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
    warprsa_count(&client->config.counters->keys_loaded, 1);
    return true;
}
