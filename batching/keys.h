/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The private keys of a queue: found by id, counted, wiped, and on which
 * devices each one lies. Loading a key onto a device and unloading it is left
 * to the device's workers, since callers may run on stacks too small for a
 * driver. The table knows neither queue nor workers: it reports to callbacks.
 */
#ifndef WARPRSA_BATCHING_KEYS_H
#define WARPRSA_BATCHING_KEYS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "batching/queue_types.h"

/* Where a key is on one device. */
typedef struct warprsa_key_residency {
    /* Index given by the device's engine, plus 1; 0: not there. Set by the
     * device's workers, cleared under the table's lock. */
    _Atomic uint32_t index;
    /* Requests of batches under way; under the device's residency_lock. */
    uint32_t pins;
    /* In the device's list of unpinned keys; under the same lock. */
    TAILQ_ENTRY(warprsa_key_residency) link;
    struct warprsa_key *key;
} warprsa_key_residency;

/* The unpinned keys of a device, least recently used first. */
TAILQ_HEAD(warprsa_key_residency_list, warprsa_key_residency);

struct warprsa_key {
    /* Of callers, and of requests not answered yet. */
    _Alignas(64) _Atomic uint32_t references;
    warprsa_size_class size;
    bool released; /* in the list of released keys; under the table's lock */
    struct warprsa_keys *keys; /* its table, which lives while references > 0 */
    warprsa_key_residency on_device[WARPRSA_DEVICES_MAX];
    LIST_ENTRY(warprsa_key) link;
    uint8_t id[WARPRSA_KEY_ID_BYTES];
    warprsa_private_key key; /* wiped with the last reference */
};

LIST_HEAD(warprsa_key_list, warprsa_key);

/* What the owner of the table does at each step of a key's life. */
typedef struct warprsa_keys_callbacks {
    /* A key was added. Under the table's lock: must take no lock and not call
     * the table. */
    void (*added)(void *arg);
    /* A key has lost its last reference and still lies on a device: that
     * device's workers have to come for it. Without locks. */
    void (*unload_wanted)(void *arg);
    /* The end of a key that was added. Without locks; the table is not touched
     * afterwards and may be freed. */
    void (*gone)(void *arg);
    void *arg;
} warprsa_keys_callbacks;

typedef struct warprsa_keys {
    warprsa_keys_callbacks callbacks;
    pthread_mutex_t lock; /* of everything below but `unloads` */
    struct warprsa_key_list *bucket;
    size_t buckets; /* a power of two */
    /* Without references and wiped, but still on a device. */
    struct warprsa_key_list released;
    /* How many of the released keys lie on each device. */
    _Atomic uint32_t unloads[WARPRSA_DEVICES_MAX];
} warprsa_keys;

/* Makes an empty table for about `expected` keys. False: no memory. */
bool warprsa_keys_init(warprsa_keys *keys, unsigned expected,
                       const warprsa_keys_callbacks *callbacks);

/* Frees a table that has no key with a reference. */
void warprsa_keys_free(warprsa_keys *keys);

/* In the child of a fork: frees the table's own memory and touches no key. */
void warprsa_keys_abandon(warprsa_keys *keys);

/* The table's copy of a key with one more reference, found by `id` or made.
 * NULL: no memory, or a size that no engine computes. Any thread. */
warprsa_key *warprsa_keys_get(warprsa_keys *keys,
                              const uint8_t id[WARPRSA_KEY_ID_BYTES],
                              const warprsa_private_key *key);

/* One more, or `count` fewer references. The last one wipes the key. A worker
 * that drops some must keep the table alive by other means. Any thread. */
void warprsa_key_reference(warprsa_key *key);
void warprsa_key_drop(warprsa_key *key, uint32_t count);

/* In the child of a fork: wipes the child's copy of the numbers and gives one
 * reference back without touching the table. */
void warprsa_key_drop_in_child(warprsa_key *key);

/* Takes up to `max` released keys off a device: fills indices[] with what the
 * calling worker must unload and returns how many. Under the device's
 * residency_lock, of which `unused` is the list of unpinned keys. */
unsigned warprsa_keys_take_released(warprsa_keys *keys, unsigned device,
                                    struct warprsa_key_residency_list *unused,
                                    uint32_t *indices, unsigned max);

/* Takes the unpinned key that was used longest ago off a device; *index: what
 * to unload. False: there is none. Locks as above. */
bool warprsa_keys_evict(warprsa_keys *keys, unsigned device,
                        struct warprsa_key_residency_list *unused,
                        uint32_t *index);

/* Notes that a device has been closed, and with it every key on it. Returns
 * how many there were. Locks as above. */
unsigned warprsa_keys_forget_device(warprsa_keys *keys, unsigned device);

#endif
