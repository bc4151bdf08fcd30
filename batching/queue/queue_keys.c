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
     * than devices hold unless they are told to. One that is refused is
     * computed by its caller. */
    KEYS_OF_OWNER = 16384,
};

static void init_owner(warprsa_key_owner *owner, uint64_t id)
{
    memset(owner, 0, sizeof(*owner));
    owner->id = id;
    warprsa_turn_init(&owner->queued, &owner->used);
    for (unsigned d = 0; d < WARPRSA_DEVICES_MAX; d++) {
        TAILQ_INIT(&owner->share[d].unused);
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

/* With the lock held: memory for a key, of which `numbers` alone is set. */
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
    /* First: the owner may go with its last key. Of its requests none is left
     * only after the thread that found none before has counted the owner, and
     * has queued its request. */
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

static uint32_t index_on(const warprsa_key *key, unsigned device)
{
    return atomic_load_explicit(&key->on_device[device].index,
                                memory_order_relaxed);
}

/* With the lock held: another owner's key that lies on a device with the same
 * numbers. NULL: there is none. */
static warprsa_key *twin_on(const warprsa_key *key, unsigned device)
{
    warprsa_key *twin = key->twin;

    while (twin != key && index_on(twin, device) == 0)
        twin = twin->twin;
    return twin != key ? twin : NULL;
}

/* With the lock held: a key that nobody holds and that lies on no device is
 * about to be freed. */
static void forget_key(warprsa_key *key)
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
        if (index_on(key, d) != 0) {
            atomic_fetch_add_explicit(&keys->unloads[d], 1,
                                      memory_order_release);
            any = true;
        }
    key->released = any;
    if (any)
        LIST_INSERT_HEAD(&keys->released, key, link);
    else
        forget_key(key);
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
    forget_key(key);
    free(key);
}

void warprsa_keys_loaded(warprsa_key *key, unsigned device, uint32_t index,
                         uint32_t pins)
{
    warprsa_key_share *share = warprsa_key_share_of(key, device);
    warprsa_key_residency *residency = &key->on_device[device];

    if (share->loaded++ == 0)
        TAILQ_INSERT_TAIL(&key->keys->on_device[device], share, loaded_link);
    residency->pins = pins;
    if (pins == 0)
        TAILQ_INSERT_TAIL(&share->unused, residency, link);
    atomic_store_explicit(&residency->index, index + 1, memory_order_relaxed);
}

bool warprsa_keys_find_twin(warprsa_key *key, unsigned device, uint32_t *index)
{
    warprsa_key *twin;

    pthread_mutex_lock(&key->keys->lock);
    twin = twin_on(key, device);
    if (twin != NULL)
        *index = index_on(twin, device) - 1;
    pthread_mutex_unlock(&key->keys->lock);
    return twin != NULL;
}

void warprsa_keys_pin(warprsa_key *key, unsigned device)
{
    warprsa_key_residency *residency = &key->on_device[device];

    if (residency->pins++ == 0)
        TAILQ_REMOVE(&warprsa_key_share_of(key, device)->unused, residency,
                     link);
}

void warprsa_keys_unpin(warprsa_key *key, unsigned device)
{
    warprsa_key_residency *residency = &key->on_device[device];

    if (--residency->pins == 0)
        TAILQ_INSERT_TAIL(&warprsa_key_share_of(key, device)->unused, residency,
                          link);
}

/* Takes an unpinned key out of its owner's share. */
static void leave_share(warprsa_keys *keys, warprsa_key *key, unsigned device)
{
    warprsa_key_share *share = warprsa_key_share_of(key, device);

    TAILQ_REMOVE(&share->unused, &key->on_device[device], link);
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
        if (index_on(key, device) == 0 || key->on_device[device].pins > 0)
            continue;
        if (twin_on(key, device) == NULL)
            indices[count++] = index_on(key, device) - 1;
        leave_share(keys, key, device);
        off_device(key, device);
        atomic_fetch_sub_explicit(&keys->unloads[device], 1,
                                  memory_order_relaxed);
    }
    pthread_mutex_unlock(&keys->lock);
    return count;
}

/* Whose key makes room for one more of `own`: of the owners that have most,
 * `own` itself if it is one of them. NULL: nobody's. */
static warprsa_key_share *largest(warprsa_keys *keys, unsigned device,
                                  warprsa_key_share *own)
{
    warprsa_key_share *found = TAILQ_EMPTY(&own->unused) ? NULL : own, *share;
    uint32_t most = own->loaded;

    TAILQ_FOREACH (share, &keys->on_device[device], loaded_link)
        if (share->loaded > most && !TAILQ_EMPTY(&share->unused)) {
            most = share->loaded;
            found = share;
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
    *index = index_on(key, device) - 1;
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
                        warprsa_key *wanted, uint32_t *index)
{
    warprsa_key_share *own = warprsa_key_share_of(wanted, device), *share;

    while ((share = largest(keys, device, own)) != NULL)
        if (take_off(keys, TAILQ_FIRST(&share->unused)->key, device, index))
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
        TAILQ_INIT(&share->unused);
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
        if (index_on(key, device) != 0)
            off_device(key, device);
    }
    atomic_store_explicit(&keys->unloads[device], 0, memory_order_relaxed);
    pthread_mutex_unlock(&keys->lock);
}
