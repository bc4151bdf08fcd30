/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The private keys of a queue: found by id, counted, wiped, and whose they are.
 * key_residency.h has on which devices each one lies. Loading a key onto a
 * device and unloading it is left to the device's workers, since callers may
 * run on stacks too small for a driver. The table knows neither queue nor
 * workers: it reports to callbacks.
 *
 * A key has one owner. Another owner that brings the same numbers has a key of
 * its own, so each pays for what it asks for, whoever came first.
 */
#ifndef WARPRSA_BATCHING_QUEUE_QUEUE_KEYS_H
#define WARPRSA_BATCHING_QUEUE_QUEUE_KEYS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "batching/base/secret_memory.h"
#include "batching/queue/fair_queue.h"
#include "batching/queue/queue_types.h"

/* Where a key is on one device. */
typedef struct warprsa_key_residency {
    /* Index given by the device's engine, plus 1; 0: not there. Set by the
     * device's workers, cleared under the table's lock. */
    _Atomic uint32_t index;
    /* Requests of batches under way, and those whose batch is next; under the
     * device's residency_lock. */
    uint32_t pins;
    /* The requests that wait until it is loaded, and whether it is to be loaded
     * or being loaded; under the same lock. */
    warprsa_request_chain waiting;
    bool is_wanted;
    /* Among its owner's keys on that device that are unpinned, or among those
     * that wait to be loaded; under the same lock. */
    TAILQ_ENTRY(warprsa_key_residency) link;
    /* Of a large class: among its owner's such keys that are unpinned. */
    TAILQ_ENTRY(warprsa_key_residency) large_link;
    struct warprsa_key *key;
} warprsa_key_residency;

TAILQ_HEAD(warprsa_key_residency_list, warprsa_key_residency);

/* What one owner has of one device; under the device's residency_lock. */
typedef struct warprsa_key_share {
    uint32_t loaded;       /* keys on the device */
    uint32_t loaded_large; /* of large classes */
    /* Those without pins, the one used longest ago first; and, in a list of
     * their own too, those of large classes. */
    struct warprsa_key_residency_list unused, unused_large;
    struct warprsa_key_residency_list waiting; /* to be loaded, in order */
    uint32_t requests;                         /* that wait for keys */
    uint64_t allowance_ns; /* when the allowance of loads is whole again */
    warprsa_turn turn;     /* requests whose keys were loaded for them */
    TAILQ_ENTRY(warprsa_key_share) loaded_link;  /* while loaded > 0 */
    TAILQ_ENTRY(warprsa_key_share) waiting_link; /* while any waits */
} warprsa_key_share;

TAILQ_HEAD(warprsa_key_share_list, warprsa_key_share);

typedef struct warprsa_key_owner {
    uint64_t id;
    uint32_t keys; /* under the table's lock */
    /* Requests that are not answered yet; not counted for WARPRSA_OWNER_SELF,
     * whose threads would share a cache line for it. */
    _Atomic uint32_t requests;
    _Atomic uint64_t used; /* see fair_queue.h */
    warprsa_turn queued;   /* under the backlog's lock */
    LIST_ENTRY(warprsa_key_owner) link;
    warprsa_key_share share[WARPRSA_DEVICES_MAX];
} warprsa_key_owner;

LIST_HEAD(warprsa_key_owner_list, warprsa_key_owner);

struct warprsa_key {
    /* The references of callers, and of requests that are not answered yet.
     * Every request writes it; the rest is read by all and has cache lines of
     * its own. */
    _Alignas(64) _Atomic uint32_t references;
    _Alignas(64) warprsa_size_class size;
    uint32_t modulus_bytes;
    /* Its numbers give wrong results: no device is to compute with them. */
    _Atomic bool is_wrong;
    warprsa_key_owner *owner;
    /* The next key with the same numbers, of another owner, in a circle; under
     * the table's lock. Itself: there is none. */
    struct warprsa_key *twin;
    bool released; /* in the list of released keys; under the table's lock */
    struct warprsa_keys *keys; /* its table, which lives while references > 0 */
    warprsa_key_residency on_device[WARPRSA_DEVICES_MAX];
    LIST_ENTRY(warprsa_key) link;
    uint8_t id[WARPRSA_KEY_ID_BYTES];
    /* SECRET, of the table's pool; wiped and NULL with the last reference. In a
     * forked child it is all zeros, where the kernel can do that. */
    warprsa_private_key *numbers;
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
    pthread_mutex_t lock;        /* of everything below but what is atomic */
    warprsa_secret_pool secrets; /* the keys' numbers; has its own lock */
    struct warprsa_key_list *bucket;
    size_t buckets;                       /* a power of two */
    warprsa_key_owner self;               /* WARPRSA_OWNER_SELF */
    struct warprsa_key_owner_list owners; /* all others */
    /* How many other owners have requests that are not answered yet; and what
     * one of them had used, see fair_queue.h. */
    _Atomic uint32_t busy_owners;
    _Atomic uint64_t reached;
    /* Without references and wiped, but still on a device. */
    struct warprsa_key_list released;
    /* How many of the released keys lie on each device. */
    _Atomic uint32_t unloads[WARPRSA_DEVICES_MAX];
    /* How many keys are pinned on each device, for batches under way and for
     * those that are next, by size class; one of several owners counts for each
     * of them. Written under its residency_lock. */
    _Atomic uint32_t pinned[WARPRSA_DEVICES_MAX][WARPRSA_CLASSES];
    /* How many of these have several requests each there. Likewise. */
    _Atomic uint32_t pinned_often[WARPRSA_DEVICES_MAX][WARPRSA_CLASSES];
    /* The owners with keys on each device; under its residency_lock. */
    struct warprsa_key_share_list on_device[WARPRSA_DEVICES_MAX];
} warprsa_keys;

/* Makes an empty table for about `expected` keys. False: no memory. */
bool warprsa_keys_init(warprsa_keys *keys, unsigned expected,
                       const warprsa_keys_callbacks *callbacks);

/* Frees a table that has no key with a reference. */
void warprsa_keys_free(warprsa_keys *keys);

/* In the child of a fork: frees the table's own memory and touches no key. */
void warprsa_keys_abandon(warprsa_keys *keys);

/* The owner's key with these numbers, with one more reference, found by `id` or
 * made. NULL: no memory, the owner has as many keys as one may have, or a size
 * that no engine computes. Any thread. */
warprsa_key *warprsa_keys_get(warprsa_keys *keys, uint64_t owner,
                              const uint8_t id[WARPRSA_KEY_ID_BYTES],
                              const warprsa_private_key *key);

/* One more, or `count` fewer references. The last one wipes the key. A worker
 * that drops references must keep the table alive by other means. Any thread.
 */
void warprsa_key_reference(warprsa_key *key);
void warprsa_key_drop(warprsa_key *key, uint32_t count);

/* For a request with this key that is queued: takes a reference. For `count`
 * requests that are about to be answered: drops their references, as
 * warprsa_key_drop() does. Both keep the owner's count of requests. Any thread.
 */
void warprsa_key_requested(warprsa_key *key);
void warprsa_key_answered(warprsa_key *key, uint32_t count);

/* Whether it has been found to have numbers that give wrong results: a queue
 * refuses its requests. Any thread. */
static inline bool warprsa_key_is_wrong(const warprsa_key *key)
{
    return atomic_load_explicit(&key->is_wrong, memory_order_relaxed);
}

/* Whether its owner shares the devices with others. Any thread. */
bool warprsa_key_is_shared(const warprsa_key *key);

/* Whether the owner of a shared key may have one more request under way, while
 * so many of all request slots are free. Any thread. */
bool warprsa_key_may_request(const warprsa_key *key, uint32_t free_slots);

/* Whether requests of several owners, other than WARPRSA_OWNER_SELF, have not
 * been answered yet; a hint. Any thread. */
static inline bool warprsa_keys_are_shared(const warprsa_keys *keys)
{
    return atomic_load_explicit(&keys->busy_owners, memory_order_relaxed) > 1;
}

/* Whether its numbers can't be swapped out. By the holder of a reference. */
bool warprsa_key_is_locked(const warprsa_key *key);

/* In the child of a fork: wipes the child's copy of the numbers, if it has one,
 * and gives one reference back without touching the table. */
void warprsa_key_drop_in_child(warprsa_key *key);

/* What a key's owner has of a device. */
static inline warprsa_key_share *warprsa_key_share_of(warprsa_key *key,
                                                      unsigned device)
{
    return &key->owner->share[device];
}

/* The index of a key on a device, plus 1; 0: it is not there. */
static inline uint32_t warprsa_key_index_on(const warprsa_key *key,
                                            unsigned device)
{
    return atomic_load_explicit(&key->on_device[device].index,
                                memory_order_relaxed);
}

/* With the table's lock held: a key that nobody holds and that lies on no
 * device is about to be freed. */
void warprsa_keys_forget(warprsa_key *key);

#endif
