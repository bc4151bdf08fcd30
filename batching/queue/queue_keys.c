/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of a queue's private keys: see queue_keys.h.
 */
#include "batching/queue/queue_keys.h"

#include <stdlib.h>
#include <string.h>

#include "batching/base/clock.h"
#include "batching/base/wipe_registers.h"

enum {
    BUCKETS_MAX = 65536,
    /* An owner that shares the devices may have so many requests under way for
     * each free request slot. */
    REQUESTS_PER_FREE = 8,
    /* Keys of an owner that shares the devices: some 85 MB of memory, and more
     * than devices hold unless they are told to. The caller itself computes
     * operations with a key that is refused. */
    KEYS_OF_OWNER = 16384,
};

static void init_owner(warprsa_key_owner *owner, uint64_t id)
{
    memset(owner, 0, sizeof(*owner));
    owner->id = id;
    warprsa_turn_init(&owner->queued, &owner->used);
    for (unsigned d = 0; d < WARPRSA_DEVICES_MAX; d++) {
        TAILQ_INIT(&owner->share[d].unused);
        TAILQ_INIT(&owner->share[d].unused_large);
        TAILQ_INIT(&owner->share[d].waiting);
        warprsa_turn_init(&owner->share[d].turn, &owner->used);
    }
}

bool warprsa_keys_init(warprsa_keys *keys, unsigned expected,
                       const warprsa_keys_callbacks *callbacks)
{
    memset(keys, 0, sizeof(*keys));
    keys->callbacks = *callbacks;
    LIST_INIT(&keys->released);
    LIST_INIT(&keys->owners);
    init_owner(&keys->self, WARPRSA_OWNER_SELF);
    for (unsigned d = 0; d < WARPRSA_DEVICES_MAX; d++)
        TAILQ_INIT(&keys->on_device[d]);
    keys->buckets = 1;
    while (keys->buckets < expected && keys->buckets < BUCKETS_MAX)
        keys->buckets *= 2;
    keys->bucket = calloc(keys->buckets, sizeof(*keys->bucket));
    if (keys->bucket == NULL)
        return false;
    if (pthread_mutex_init(&keys->lock, NULL) == 0) {
        if (warprsa_secret_pool_init(&keys->secrets))
            return true;
        pthread_mutex_destroy(&keys->lock);
    }
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
    while (!LIST_EMPTY(&keys->owners)) {
        warprsa_key_owner *owner = LIST_FIRST(&keys->owners);

        LIST_REMOVE(owner, link);
        free(owner);
    }
    warprsa_secret_pool_free(&keys->secrets);
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
           memcmp(found->numbers, key, sizeof(*key)) == 0;
}

/* With the lock held: the owner's key. Skips one that has lost its last
 * reference and is about to be taken off the list; its numbers are there until
 * then. *twin: a key with the same numbers, of anybody, or NULL. */
static warprsa_key *find(struct warprsa_key_list *bucket, uint64_t owner,
                         const uint8_t *id, const warprsa_private_key *key,
                         warprsa_key **twin)
{
    warprsa_key *found;

    *twin = NULL;
    LIST_FOREACH (found, bucket, link) {
        if (!same_key(found, id, key))
            continue;
        *twin = found;
        if (found->owner->id == owner && reference_unless_last(found))
            return found;
    }
    return NULL;
}

/* With the lock held: puts a key into the circle of its twin. */
static void join_twin(warprsa_key *key, warprsa_key *twin)
{
    key->twin = twin->twin;
    twin->twin = key;
}

/* With the lock held, before a key is freed. */
static void leave_twins(warprsa_key *key)
{
    warprsa_key *before = key;

    while (before->twin != key)
        before = before->twin;
    before->twin = key->twin;
}

/* With the lock held. Whether an owner is of no interest any more: it has no
 * key, and one that came back would be allowed no more loads than a new one.
 * The keys come first: without a key no worker writes to a share, which only
 * the device's residency_lock protects. */
static bool is_forgettable(const warprsa_key_owner *owner, uint64_t now_ns)
{
    if (owner->keys != 0)
        return false;
    for (unsigned d = 0; d < WARPRSA_DEVICES_MAX; d++)
        if (owner->share[d].allowance_ns > now_ns)
            return false;
    return true;
}

/* With the lock held. */
static void forget_owners(warprsa_keys *keys)
{
    uint64_t now_ns = warprsa_clock_ns();
    warprsa_key_owner *owner, *next;

    for (owner = LIST_FIRST(&keys->owners); owner != NULL; owner = next) {
        next = LIST_NEXT(owner, link);
        if (!is_forgettable(owner, now_ns))
            continue;
        LIST_REMOVE(owner, link);
        free(owner);
    }
}

/* With the lock held: the owner of this id, found or made. NULL: no memory. */
static warprsa_key_owner *find_owner(warprsa_keys *keys, uint64_t id)
{
    warprsa_key_owner *owner;

    if (id == WARPRSA_OWNER_SELF)
        return &keys->self;
    LIST_FOREACH (owner, &keys->owners, link)
        if (owner->id == id)
            return owner;
    forget_owners(keys);
    owner = malloc(sizeof(*owner));
    if (owner == NULL)
        return NULL;
    init_owner(owner, id);
    LIST_INSERT_HEAD(&keys->owners, owner, link);
    return owner;
}

/* With the lock held. */
static bool may_have_one_more(const warprsa_key_owner *owner)
{
    return owner->id == WARPRSA_OWNER_SELF || owner->keys < KEYS_OF_OWNER;
}

/* With the lock held: memory for a key. Only `numbers` is set. */
static warprsa_key *allocate(warprsa_keys *keys)
{
    warprsa_key *made = aligned_alloc(_Alignof(warprsa_key), sizeof(*made));

    if (made == NULL)
        return NULL;
    memset(made, 0, sizeof(*made));
    made->numbers = warprsa_secret_take(&keys->secrets, sizeof(*made->numbers));
    if (made->numbers != NULL)
        return made;
    free(made);
    return NULL;
}

/* With the lock held. */
static warprsa_key *new_key(warprsa_keys *keys, uint64_t owner,
                            const uint8_t *id, const warprsa_private_key *key,
                            warprsa_size_class size)
{
    warprsa_key_owner *whose = find_owner(keys, owner);
    warprsa_key *made =
        whose != NULL && may_have_one_more(whose) ? allocate(keys) : NULL;

    if (made == NULL)
        return NULL;
    made->references = 1;
    made->owner = whose;
    made->twin = made;
    whose->keys++;
    made->size = size;
    made->modulus_bytes = key->modulus_bytes;
    made->keys = keys;
    memcpy(made->id, id, sizeof(made->id));
    *made->numbers = *key;
    for (unsigned d = 0; d < WARPRSA_DEVICES_MAX; d++)
        made->on_device[d].key = made;
    return made;
}

warprsa_key *warprsa_keys_get(warprsa_keys *keys, uint64_t owner,
                              const uint8_t id[WARPRSA_KEY_ID_BYTES],
                              const warprsa_private_key *key)
{
    struct warprsa_key_list *bucket = bucket_of(keys, id);
    int size = warprsa_key_class(key);
    warprsa_key *found, *twin;

    if (size < 0)
        return NULL;
    pthread_mutex_lock(&keys->lock);
    found = find(bucket, owner, id, key, &twin);
    if (found == NULL) {
        found = new_key(keys, owner, id, key, (warprsa_size_class)size);
        if (found != NULL) {
            if (twin != NULL)
                join_twin(found, twin);
            LIST_INSERT_HEAD(bucket, found, link);
            keys->callbacks.added(keys->callbacks.arg);
        }
    }
    pthread_mutex_unlock(&keys->lock);
    warprsa_wipe_registers(); /* of what was compared and copied */
    return found;
}

void warprsa_key_reference(warprsa_key *key)
{
    atomic_fetch_add_explicit(&key->references, 1, memory_order_relaxed);
}

bool warprsa_key_is_shared(const warprsa_key *key)
{
    return key->owner->id != WARPRSA_OWNER_SELF;
}

void warprsa_key_requested(warprsa_key *key)
{
    warprsa_key_reference(key);
    if (warprsa_key_is_shared(key) &&
        atomic_fetch_add_explicit(&key->owner->requests, 1,
                                  memory_order_relaxed) == 0)
        atomic_fetch_add_explicit(&key->keys->busy_owners, 1,
                                  memory_order_relaxed);
}

void warprsa_key_answered(warprsa_key *key, uint32_t count)
{
    /* Before the references are dropped: the owner may go with its last key.
     * Its requests come down to 0 only after the thread that raised them from 0
     * has counted the owner, since that thread queues its request later. */
    if (warprsa_key_is_shared(key) &&
        atomic_fetch_sub_explicit(&key->owner->requests, count,
                                  memory_order_relaxed) == count)
        atomic_fetch_sub_explicit(&key->keys->busy_owners, 1,
                                  memory_order_relaxed);
    warprsa_key_drop(key, count);
}

/* The threshold is a dynamic one: A. K. Choudhury, E. L. Hahne, "Dynamic queue
 * length thresholds for shared-memory packet switches", IEEE/ACM Transactions
 * on Networking 6(2), 1998. If each of n owners wants all it can get, a part of
 * 1 / (1 + n * REQUESTS_PER_FREE) of the slots stays free, so that one more
 * always finds some, and one alone has nearly all. */
bool warprsa_key_may_request(const warprsa_key *key, uint32_t free_slots)
{
    return atomic_load_explicit(&key->owner->requests, memory_order_relaxed) <
           (uint64_t)free_slots * REQUESTS_PER_FREE;
}

void warprsa_keys_forget(warprsa_key *key)
{
    leave_twins(key);
    key->owner->keys--;
}

/* With the lock held: wipes the numbers and, if the key is on a device, puts
 * it on the list from which that device's workers unload. False: it is on none
 * and can be freed. */
static bool wipe_and_list(warprsa_keys *keys, warprsa_key *key)
{
    bool any = false;

    warprsa_secret_give(&keys->secrets, key->numbers, sizeof(*key->numbers));
    key->numbers = NULL;
    LIST_REMOVE(key, link);
    for (unsigned d = 0; d < WARPRSA_DEVICES_MAX; d++)
        if (warprsa_key_index_on(key, d) != 0) {
            atomic_fetch_add_explicit(&keys->unloads[d], 1,
                                      memory_order_release);
            any = true;
        }
    key->released = any;
    if (any)
        LIST_INSERT_HEAD(&keys->released, key, link);
    else
        warprsa_keys_forget(key);
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

bool warprsa_key_is_locked(const warprsa_key *key)
{
    return warprsa_secret_is_locked(key->numbers, sizeof(*key->numbers));
}

void warprsa_key_drop_in_child(warprsa_key *key)
{
    /* Neither the table nor its pool is touched: another thread of the parent
     * may have been changing it. So the pool stays mapped, but holds nothing.
     * References of requests in flight are never given back in the child, and
     * a busy key stays allocated. */
    if (key->numbers->modulus_bytes != 0)
        explicit_bzero(key->numbers, sizeof(*key->numbers));
    if (atomic_fetch_sub_explicit(&key->references, 1, memory_order_acq_rel) ==
        1)
        free(key);
}
