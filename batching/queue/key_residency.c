/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which keys lie on which devices: see key_residency.h.
 */
#include "batching/queue/key_residency.h"

#include <stdlib.h>

enum {
    /* Pins of a key that is pinned often: most keys have so many if each has
     * five on average, and a few frequent keys among rare ones do not make it
     * most. Measured: doc/log/2026-11-28-crowd.md. */
    OFTEN = 4,
};

/* With the lock held: another owner's key that lies on a device with the same
 * numbers. NULL: there is none. */
static warprsa_key *twin_on(const warprsa_key *key, unsigned device)
{
    warprsa_key *twin = key->twin;

    while (twin != key && warprsa_key_index_on(twin, device) == 0)
        twin = twin->twin;
    return twin != key ? twin : NULL;
}

/* With the lock held: takes a released key off a device, and frees it if that
 * was the last device. */
static void off_device(warprsa_key *key, unsigned device)
{
    atomic_store_explicit(&key->on_device[device].index, 0,
                          memory_order_relaxed);
    for (unsigned d = 0; d < WARPRSA_DEVICES_MAX; d++)
        if (warprsa_key_index_on(key, d) != 0)
            return;
    LIST_REMOVE(key, link);
    warprsa_keys_forget(key);
    free(key);
}

static bool is_large(const warprsa_key *key)
{
    return key->size >= WARPRSA_CLASS_LARGE;
}

/* A key has lost its last pin. */
static void add_unused(warprsa_key *key, unsigned device)
{
    warprsa_key_share *share = warprsa_key_share_of(key, device);
    warprsa_key_residency *residency = &key->on_device[device];

    TAILQ_INSERT_TAIL(&share->unused, residency, link);
    if (is_large(key))
        TAILQ_INSERT_TAIL(&share->unused_large, residency, large_link);
}

/* It gets a pin, or leaves the device. */
static void remove_unused(warprsa_key *key, unsigned device)
{
    warprsa_key_share *share = warprsa_key_share_of(key, device);
    warprsa_key_residency *residency = &key->on_device[device];

    TAILQ_REMOVE(&share->unused, residency, link);
    if (is_large(key))
        TAILQ_REMOVE(&share->unused_large, residency, large_link);
}

void warprsa_keys_loaded(warprsa_key *key, unsigned device, uint32_t index,
                         uint32_t pins)
{
    warprsa_key_share *share = warprsa_key_share_of(key, device);
    warprsa_key_residency *residency = &key->on_device[device];

    if (share->loaded++ == 0)
        TAILQ_INSERT_TAIL(&key->keys->on_device[device], share, loaded_link);
    share->loaded_large += is_large(key);
    residency->pins = pins;
    if (pins == 0)
        add_unused(key, device);
    else
        atomic_fetch_add(&key->keys->pinned[device][key->size], 1);
    if (pins >= OFTEN)
        atomic_fetch_add(&key->keys->pinned_often[device][key->size], 1);
    atomic_store_explicit(&residency->index, index + 1, memory_order_relaxed);
}

bool warprsa_keys_find_twin(warprsa_key *key, unsigned device, uint32_t *index)
{
    warprsa_key *twin;

    pthread_mutex_lock(&key->keys->lock);
    twin = twin_on(key, device);
    if (twin != NULL)
        *index = warprsa_key_index_on(twin, device) - 1;
    pthread_mutex_unlock(&key->keys->lock);
    return twin != NULL;
}

void warprsa_keys_pin(warprsa_key *key, unsigned device)
{
    warprsa_key_residency *residency = &key->on_device[device];
    const uint32_t pins = ++residency->pins;

    if (pins == OFTEN)
        atomic_fetch_add(&key->keys->pinned_often[device][key->size], 1);
    if (pins != 1)
        return;
    remove_unused(key, device);
    atomic_fetch_add(&key->keys->pinned[device][key->size], 1);
}

void warprsa_keys_unpin(warprsa_key *key, unsigned device)
{
    warprsa_key_residency *residency = &key->on_device[device];
    const uint32_t pins = --residency->pins;

    if (pins == OFTEN - 1)
        atomic_fetch_sub(&key->keys->pinned_often[device][key->size], 1);
    if (pins != 0)
        return;
    add_unused(key, device);
    atomic_fetch_sub(&key->keys->pinned[device][key->size], 1);
}

/* Takes an unpinned key out of its owner's share. */
static void leave_share(warprsa_keys *keys, warprsa_key *key, unsigned device)
{
    warprsa_key_share *share = warprsa_key_share_of(key, device);

    remove_unused(key, device);
    share->loaded_large -= is_large(key);
    if (--share->loaded == 0)
        TAILQ_REMOVE(&keys->on_device[device], share, loaded_link);
}

unsigned warprsa_keys_take_released(warprsa_keys *keys, unsigned device,
                                    uint32_t *indices, unsigned max)
{
    warprsa_key *key, *next;
    unsigned count = 0;

    pthread_mutex_lock(&keys->lock);
    for (key = LIST_FIRST(&keys->released); key != NULL && count < max;
         key = next) {
        next = LIST_NEXT(key, link);
        if (warprsa_key_index_on(key, device) == 0 ||
            key->on_device[device].pins > 0)
            continue;
        if (twin_on(key, device) == NULL)
            indices[count++] = warprsa_key_index_on(key, device) - 1;
        leave_share(keys, key, device);
        off_device(key, device);
        atomic_fetch_sub_explicit(&keys->unloads[device], 1,
                                  memory_order_relaxed);
    }
    pthread_mutex_unlock(&keys->lock);
    return count;
}

static uint32_t loaded_of(const warprsa_key_share *share, bool only_large)
{
    return only_large ? share->loaded_large : share->loaded;
}

/* The key that an owner would give up; NULL: none. */
static warprsa_key_residency *first_unused(const warprsa_key_share *share,
                                           bool only_large)
{
    return TAILQ_FIRST(only_large ? &share->unused_large : &share->unused);
}

/* The key that makes room for one more key of `own`: of an owner that has most
 * keys, and of `own` itself if it is among those that have most. NULL: none. */
static warprsa_key_residency *find_unused(warprsa_keys *keys, unsigned device,
                                          const warprsa_key_share *own,
                                          bool only_large)
{
    warprsa_key_residency *found = first_unused(own, only_large);
    uint32_t most = loaded_of(own, only_large);
    const warprsa_key_share *share;

    TAILQ_FOREACH (share, &keys->on_device[device], loaded_link)
        if (loaded_of(share, only_large) > most &&
            first_unused(share, only_large) != NULL) {
            most = loaded_of(share, only_large);
            found = first_unused(share, only_large);
        }
    return found;
}

/* Takes an unpinned key off a device; *index: where it was. Whether it is to be
 * unloaded, since no other owner has it there. */
static bool take_off(warprsa_keys *keys, warprsa_key *key, unsigned device,
                     uint32_t *index)
{
    bool last;

    leave_share(keys, key, device);
    pthread_mutex_lock(&keys->lock);
    *index = warprsa_key_index_on(key, device) - 1;
    last = twin_on(key, device) == NULL;
    if (key->released) {
        atomic_fetch_sub_explicit(&keys->unloads[device], 1,
                                  memory_order_relaxed);
        off_device(key, device);
    } else {
        atomic_store_explicit(&key->on_device[device].index, 0,
                              memory_order_relaxed);
    }
    pthread_mutex_unlock(&keys->lock);
    return last;
}

bool warprsa_keys_evict(warprsa_keys *keys, unsigned device,
                        warprsa_key *wanted, bool only_large, uint32_t *index)
{
    const warprsa_key_share *own = warprsa_key_share_of(wanted, device);
    warprsa_key_residency *found;

    while ((found = find_unused(keys, device, own, only_large)) != NULL)
        if (take_off(keys, found->key, device, index))
            return true;
    return false;
}

/* A device was closed. */
static void forget(warprsa_key *key, unsigned device)
{
    atomic_store_explicit(&key->on_device[device].index, 0,
                          memory_order_relaxed);
    key->on_device[device].pins = 0;
}

static void forget_shares(warprsa_keys *keys, unsigned device)
{
    warprsa_key_share *share;

    TAILQ_FOREACH (share, &keys->on_device[device], loaded_link) {
        share->loaded = 0;
        share->loaded_large = 0;
        TAILQ_INIT(&share->unused);
        TAILQ_INIT(&share->unused_large);
    }
    TAILQ_INIT(&keys->on_device[device]);
}

void warprsa_keys_forget_device(warprsa_keys *keys, unsigned device)
{
    warprsa_key *key, *next;

    forget_shares(keys, device);
    pthread_mutex_lock(&keys->lock);
    for (size_t b = 0; b < keys->buckets; b++)
        for (key = LIST_FIRST(&keys->bucket[b]); key != NULL;
             key = LIST_NEXT(key, link))
            forget(key, device);
    for (key = LIST_FIRST(&keys->released); key != NULL; key = next) {
        next = LIST_NEXT(key, link);
        if (warprsa_key_index_on(key, device) != 0)
            off_device(key, device);
    }
    atomic_store_explicit(&keys->unloads[device], 0, memory_order_relaxed);
    for (int c = 0; c < WARPRSA_CLASSES; c++) {
        atomic_store(&keys->pinned[device][c], 0);
        atomic_store(&keys->pinned_often[device][c], 0);
    }
    pthread_mutex_unlock(&keys->lock);
}
