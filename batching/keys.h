/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The private keys of a queue: found by id, counted, wiped. Also on which
 * devices each one lies; loading and unloading there is left to the workers,
 * since callers may run on stacks too small for a driver.
 */
#ifndef WARPRSA_KEYS_H
#define WARPRSA_KEYS_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "batching/queue.h"

/* Where a key is on one device. */
typedef struct warprsa_key_residency {
    /* Index given by the device's engine, plus 1; 0: not there. Set by the
     * device's workers, cleared under the keys' lock. */
    _Atomic uint32_t index;
    uint32_t pins; /* requests of batches under way; under `residency_lock` */
    TAILQ_ENTRY(warprsa_key_residency) link; /* of those without; as above */
    struct warprsa_key *key;
} warprsa_key_residency;

/* Least recently used first. */
TAILQ_HEAD(warprsa_key_residency_list, warprsa_key_residency);

struct warprsa_key {
    /* Of callers, and of requests not answered yet. */
    _Alignas(64) _Atomic uint32_t references;
    warprsa_size_class size;
    bool released;        /* in the list below; under the lock */
    warprsa_queue *queue; /* one of its references, while references > 0 */
    warprsa_key_residency on_device[WARPRSA_DEVICES_MAX];
    LIST_ENTRY(warprsa_key) link;
    uint8_t id[WARPRSA_KEY_ID_BYTES];
    warprsa_private_key key; /* wiped with the last reference */
};

LIST_HEAD(warprsa_key_list, warprsa_key);

typedef struct warprsa_keys {
    pthread_mutex_t lock; /* of everything here but `unloads` */
    struct warprsa_key_list *bucket;
    size_t buckets; /* a power of two */
    /* Wiped, but still on a device. */
    struct warprsa_key_list released;
    _Atomic uint32_t unloads[WARPRSA_DEVICES_MAX]; /* of those, per device */
} warprsa_keys;

/* Makes an empty table for about `expected` keys; false: no memory. */
bool warprsa_keys_init(warprsa_keys *keys, unsigned expected);

/* Frees a table without live keys. */
void warprsa_keys_free(warprsa_keys *keys);

/* One more or `count` fewer references; the last one wipes the key. A worker
 * that drops some holds a reference of the queue. */
void warprsa_key_reference(warprsa_key *key);
void warprsa_key_drop(warprsa_key *key, uint32_t count);

/* Takes up to `max` indices of released keys off a device's list, and off the
 * list of its unused ones, to be unloaded by the calling worker, who holds the
 * device's `residency_lock`. Returns how many. */
unsigned warprsa_keys_take_released(warprsa_keys *keys, unsigned device,
                                    struct warprsa_key_residency_list *unused,
                                    uint32_t *indices, unsigned max);

/* Takes the key that was used longest ago off a device's list of unused ones;
 * *index: what to unload. False: none. With the device's `residency_lock` held. */
bool warprsa_keys_evict(warprsa_keys *keys, unsigned device,
                        struct warprsa_key_residency_list *unused,
                        uint32_t *index);

/* Notes that a device has been closed, and with it every key on it; returns
 * how many there were. */
unsigned warprsa_keys_forget_device(warprsa_keys *keys, unsigned device);

#endif
