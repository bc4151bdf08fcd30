/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of a queue's private keys: see keys.h.
 */
#include "batching/keys.h"

#include <stdlib.h>
#include <string.h>

enum {
    BUCKETS_MAX = 65536,
};

bool warprsa_keys_init(warprsa_keys *keys, unsigned expected,
                       const warprsa_keys_callbacks *callbacks)
{
    memset(keys, 0, sizeof(*keys));
    keys->callbacks = *callbacks;
    LIST_INIT(&keys->released);
    keys->buckets = 1;
    while (keys->buckets < expected && keys->buckets < BUCKETS_MAX)
        keys->buckets *= 2;
    keys->bucket = calloc(keys->buckets, sizeof(*keys->bucket));
    if (keys->bucket == NULL)
        return false;
    if (pthread_mutex_init(&keys->lock, NULL) == 0)
        return true;
    free(keys->bucket);
    return false;
}

void warprsa_keys_free(warprsa_keys *keys)
{
    /* Left over only where a device had to be given up without closing. */
    while (!LIST_EMPTY(&keys->released)) {
        warprsa_key *key = LIST_FIRST(&keys->released);

        LIST_REMOVE(key, link);
        free(key);
    }
    pthread_mutex_destroy(&keys->lock);
    free(keys->bucket);
}

void warprsa_keys_abandon(warprsa_keys *keys)
{
    free(keys->bucket);
}

/* The id is a hash already: any of its bits choose the bucket. */
static struct warprsa_key_list *
bucket_of(warprsa_keys *keys, const uint8_t id[WARPRSA_KEY_ID_BYTES])
{
    uint32_t hash;

    memcpy(&hash, id, sizeof(hash));
    return &keys->bucket[hash & (keys->buckets - 1)];
}

static bool reference_unless_last(warprsa_key *key)
{
    uint32_t n = atomic_load_explicit(&key->references, memory_order_relaxed);

    while (n != 0)
        if (atomic_compare_exchange_weak_explicit(&key->references, &n, n + 1,
                                                  memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    return false;
}

/* Compares the numbers too, so that a caller that gives one id to two keys
 * still gets the right one. Both are zero-padded to full size. */
static bool same_key(const warprsa_key *found, const uint8_t *id,
                     const warprsa_private_key *key)
{
    return memcmp(found->id, id, WARPRSA_KEY_ID_BYTES) == 0 &&
           memcmp(&found->key, key, sizeof(*key)) == 0;
}

/* With the lock held. Skips a key that has lost its last reference and is
 * about to be taken off the list. */
static warprsa_key *find(struct warprsa_key_list *bucket, const uint8_t *id,
                         const warprsa_private_key *key)
{
    warprsa_key *found;

    for (found = LIST_FIRST(bucket); found != NULL;
         found = LIST_NEXT(found, link))
        if (same_key(found, id, key) && reference_unless_last(found))
            return found;
    return NULL;
}

static warprsa_key *new_key(warprsa_keys *keys, const uint8_t *id,
                            const warprsa_private_key *key,
                            warprsa_size_class size)
{
    warprsa_key *made = aligned_alloc(_Alignof(warprsa_key), sizeof(*made));

    if (made == NULL)
        return NULL;
    memset(made, 0, sizeof(*made));
    made->references = 1;
    made->size = size;
    made->keys = keys;
    memcpy(made->id, id, sizeof(made->id));
    made->key = *key;
    for (unsigned d = 0; d < WARPRSA_DEVICES_MAX; d++)
        made->on_device[d].key = made;
    return made;
}

warprsa_key *warprsa_keys_get(warprsa_keys *keys,
                              const uint8_t id[WARPRSA_KEY_ID_BYTES],
                              const warprsa_private_key *key)
{
    struct warprsa_key_list *bucket = bucket_of(keys, id);
    int size = warprsa_key_class(key);
    warprsa_key *found;

    if (size < 0)
        return NULL;
    pthread_mutex_lock(&keys->lock);
    found = find(bucket, id, key);
    if (found == NULL) {
        found = new_key(keys, id, key, (warprsa_size_class)size);
        if (found != NULL) {
            LIST_INSERT_HEAD(bucket, found, link);
            keys->callbacks.added(keys->callbacks.arg);
        }
    }
    pthread_mutex_unlock(&keys->lock);
    return found;
}

void warprsa_key_reference(warprsa_key *key)
{
    atomic_fetch_add_explicit(&key->references, 1, memory_order_relaxed);
}

static uint32_t index_on(const warprsa_key *key, unsigned device)
{
    return atomic_load_explicit(&key->on_device[device].index,
                                memory_order_relaxed);
}

/* With the lock held: wipes the numbers and, if the key is on a device, puts
 * it on the list from which that device's workers unload. False: it is on none
 * and can be freed. */
static bool wipe_and_list(warprsa_keys *keys, warprsa_key *key)
{
    bool any = false;

    explicit_bzero(&key->key, sizeof(key->key));
    LIST_REMOVE(key, link);
    for (unsigned d = 0; d < WARPRSA_DEVICES_MAX; d++)
        if (index_on(key, d) != 0) {
            atomic_fetch_add_explicit(&keys->unloads[d], 1,
                                      memory_order_release);
            any = true;
        }
    key->released = any;
    if (any)
        LIST_INSERT_HEAD(&keys->released, key, link);
    return any;
}

void warprsa_key_drop(warprsa_key *key, uint32_t count)
{
    warprsa_keys *keys = key->keys;
    bool listed;

    if (atomic_fetch_sub_explicit(&key->references, count,
                                  memory_order_acq_rel) != count)
        return;
    pthread_mutex_lock(&keys->lock);
    listed = wipe_and_list(keys, key);
    pthread_mutex_unlock(&keys->lock);
    if (listed)
        keys->callbacks.unload_wanted(keys->callbacks.arg);
    else
        free(key);
    keys->callbacks.gone(keys->callbacks.arg);
}

void warprsa_key_drop_in_child(warprsa_key *key)
{
    /* The table is not touched: another thread of the parent may have been
     * changing it. This copy of the numbers is the child's own. References of
     * requests in flight are never given back in the child, so the memory of a
     * busy key stays allocated, but wiped. */
    explicit_bzero(&key->key, sizeof(key->key));
    if (atomic_fetch_sub_explicit(&key->references, 1, memory_order_acq_rel) ==
        1)
        free(key);
}

/* With the lock held: a device was closed. Returns whether the key was on it.
 */
static bool forget(warprsa_key *key, unsigned device)
{
    bool was = index_on(key, device) != 0;

    atomic_store_explicit(&key->on_device[device].index, 0,
                          memory_order_relaxed);
    key->on_device[device].pins = 0;
    return was;
}

/* With the lock held: takes a released key off a device, and frees it if that
 * was the last device. */
static void off_device(warprsa_key *key, unsigned device)
{
    atomic_store_explicit(&key->on_device[device].index, 0,
                          memory_order_relaxed);
    for (unsigned d = 0; d < WARPRSA_DEVICES_MAX; d++)
        if (index_on(key, d) != 0)
            return;
    LIST_REMOVE(key, link);
    free(key);
}

unsigned warprsa_keys_take_released(warprsa_keys *keys, unsigned device,
                                    struct warprsa_key_residency_list *unused,
                                    uint32_t *indices, unsigned max)
{
    warprsa_key *key, *next;
    unsigned count = 0;

    pthread_mutex_lock(&keys->lock);
    for (key = LIST_FIRST(&keys->released); key != NULL && count < max;
         key = next) {
        warprsa_key_residency *residency = &key->on_device[device];

        next = LIST_NEXT(key, link);
        if (index_on(key, device) == 0 || residency->pins > 0)
            continue;
        indices[count++] = index_on(key, device) - 1;
        TAILQ_REMOVE(unused, residency, link);
        off_device(key, device);
    }
    atomic_fetch_sub_explicit(&keys->unloads[device], count,
                              memory_order_relaxed);
    pthread_mutex_unlock(&keys->lock);
    return count;
}

bool warprsa_keys_evict(warprsa_keys *keys, unsigned device,
                        struct warprsa_key_residency_list *unused,
                        uint32_t *index)
{
    warprsa_key_residency *residency = TAILQ_FIRST(unused);
    warprsa_key *key;

    if (residency == NULL)
        return false;
    key = residency->key;
    TAILQ_REMOVE(unused, residency, link);
    pthread_mutex_lock(&keys->lock);
    *index = index_on(key, device) - 1;
    if (key->released) {
        atomic_fetch_sub_explicit(&keys->unloads[device], 1,
                                  memory_order_relaxed);
        off_device(key, device);
    } else {
        atomic_store_explicit(&residency->index, 0, memory_order_relaxed);
    }
    pthread_mutex_unlock(&keys->lock);
    return true;
}

unsigned warprsa_keys_forget_device(warprsa_keys *keys, unsigned device)
{
    warprsa_key *key, *next;
    unsigned count = 0;

    pthread_mutex_lock(&keys->lock);
    for (size_t b = 0; b < keys->buckets; b++)
        for (key = LIST_FIRST(&keys->bucket[b]); key != NULL;
             key = LIST_NEXT(key, link))
            count += forget(key, device);
    for (key = LIST_FIRST(&keys->released); key != NULL; key = next) {
        next = LIST_NEXT(key, link);
        if (index_on(key, device) != 0) {
            off_device(key, device);
            count++;
        }
    }
    atomic_store_explicit(&keys->unloads[device], 0, memory_order_relaxed);
    pthread_mutex_unlock(&keys->lock);
    return count;
}
