/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The keys on one device: see device_keys.h.
 */
#include "batching/queue/device_keys.h"

#include "batching/base/clock.h"
#include "batching/queue/key_loads.h"
#include "batching/queue/key_residency.h"
#include "batching/queue/queue_core.h"

enum {
    UNLOAD_STEP = 64, /* keys taken off the list at once */
};

static void count_wiped(warprsa_queue_device *device, uint64_t count)
{
    warprsa_count(&device->queue->config.counters->keys_wiped, count);
    atomic_fetch_sub_explicit(&device->counters->keys, count,
                              memory_order_relaxed);
}

void warprsa_device_lock_keys(warprsa_queue_device *device)
{
    pthread_mutex_lock(&device->residency_lock);
}

void warprsa_device_unlock_keys(warprsa_queue_device *device)
{
    pthread_mutex_unlock(&device->residency_lock);
}

bool warprsa_device_pin_key(warprsa_batch *batch, warprsa_key *key,
                            uint32_t *index)
{
    uint32_t found = warprsa_key_index_on(key, batch->device->number);

    if (found == 0)
        return false;
    warprsa_keys_pin(key, batch->device->number);
    batch->pinned++;
    *index = found - 1;
    return true;
}

uint32_t warprsa_device_pinned_key(const warprsa_queue_device *device,
                                   const warprsa_key *key)
{
    return warprsa_key_index_on(key, device->number) - 1;
}

bool warprsa_device_set_aside(warprsa_queue_device *device,
                              const warprsa_batch_request *request,
                              uint64_t now_ns)
{
    return warprsa_key_loads_add(device->loads, request->key, request->slot,
                                 now_ns);
}

void warprsa_device_unpin_keys(warprsa_batch *batch)
{
    warprsa_queue_device *device = batch->device;

    pthread_mutex_lock(&device->residency_lock);
    for (size_t i = 0; i < batch->pinned; i++)
        warprsa_keys_unpin(batch->requests[i].key, device->number);
    batch->pinned = 0;
    pthread_mutex_unlock(&device->residency_lock);
}

/* Makes room for a key on the device, or for a large key among others of them.
 * WARPRSA_NO_MEMORY: there is none. */
static warprsa_status evict(warprsa_queue_device *device, warprsa_key *wanted,
                            bool only_large)
{
    warprsa_status status;
    uint32_t index = 0;
    bool found;

    pthread_mutex_lock(&device->residency_lock);
    found = warprsa_keys_evict(&device->queue->keys, device->number, wanted,
                               only_large, &index);
    pthread_mutex_unlock(&device->residency_lock);
    if (!found)
        return WARPRSA_NO_MEMORY;
    status = device->from->engine->unload_key(device->handle, index);
    if (status != WARPRSA_OK)
        return status;
    count_wiped(device, 1);
    warprsa_count(&device->queue->config.counters->keys_evicted, 1);
    return WARPRSA_OK;
}

/* Loads a key, evicting others as long as there is no room. */
static warprsa_status load_key(warprsa_queue_device *device, warprsa_key *key,
                               uint32_t *index)
{
    const warprsa_engine *engine = device->from->engine;
    warprsa_status evicted = WARPRSA_OK;

    while (evicted == WARPRSA_OK) {
        warprsa_status status =
            engine->load_key(device->handle, key->numbers, index);

        if (status != WARPRSA_NO_MEMORY && status != WARPRSA_LARGE_KEYS_FULL)
            return status;
        evicted = evict(device, key, status == WARPRSA_LARGE_KEYS_FULL);
    }
    return evicted;
}

/* A key is on the device, under this index. With the residency_lock held. */
static void note_loaded(warprsa_queue_device *device, warprsa_key *key,
                        uint32_t index)
{
    warprsa_keys_loaded(key, device->number, index,
                        warprsa_key_loads_succeeded(device->loads, key));
}

/* The next key to be loaded, or NULL. *there: the device has its numbers by now
 * for another owner, and its requests are ready. */
static warprsa_key *begin_load(warprsa_queue_device *device, bool *there,
                               warprsa_request_chain *refused)
{
    warprsa_key *key;
    uint32_t index;

    pthread_mutex_lock(&device->residency_lock);
    key = warprsa_key_loads_next(device->loads, warprsa_clock_ns(), refused);
    *there = key != NULL && warprsa_keys_find_twin(key, device->number, &index);
    if (*there)
        note_loaded(device, key, index);
    pthread_mutex_unlock(&device->residency_lock);
    return key;
}

/* Loads that key. */
static warprsa_status finish_load(warprsa_queue_device *device,
                                  warprsa_key *key,
                                  warprsa_request_chain *refused)
{
    uint32_t index = 0;
    warprsa_status status = load_key(device, key, &index);

    if (status == WARPRSA_OK) {
        warprsa_count(&device->queue->config.counters->keys_loaded, 1);
        warprsa_count(&device->counters->keys, 1);
    }
    pthread_mutex_lock(&device->residency_lock);
    if (status == WARPRSA_OK)
        note_loaded(device, key, index);
    else
        warprsa_key_loads_failed(device->loads, key, refused);
    pthread_mutex_unlock(&device->residency_lock);
    return status;
}

bool warprsa_device_load_key(warprsa_queue_device *device,
                             warprsa_status *status,
                             warprsa_request_chain *refused)
{
    bool there;
    warprsa_key *key = begin_load(device, &there, refused);

    if (key == NULL)
        return false;
    *status = there ? WARPRSA_OK : finish_load(device, key, refused);
    warprsa_key_drop(key, 1);
    return true;
}

/* Whether requests that were set aside have their keys by now. */
static bool has_loaded(const warprsa_queue_device *device)
{
    for (int c = 0; c < WARPRSA_CLASSES; c++)
        if (atomic_load(&device->loads->oldest[c]) != 0)
            return true;
    return false;
}

bool warprsa_device_has_loads(const warprsa_queue_device *device)
{
    return has_loaded(device) ||
           (atomic_load(&device->loads->waiting_keys) != 0 &&
            atomic_load(&device->loads->since_ns) == 0);
}

bool warprsa_device_has_set_aside(const warprsa_queue_device *device)
{
    return has_loaded(device) || atomic_load(&device->loads->waiting_keys) != 0;
}

void warprsa_device_take_set_aside(warprsa_queue_device *device,
                                   warprsa_request_chain *taken)
{
    warprsa_slots *slots = &device->queue->slots;
    uint32_t slot;

    pthread_mutex_lock(&device->residency_lock);
    for (int c = 0; c < WARPRSA_CLASSES; c++)
        while (warprsa_key_loads_take(device->loads, (warprsa_size_class)c,
                                      &slot)) {
            warprsa_keys_unpin(slots->request[slot].key, device->number);
            warprsa_slots_chain(slots, taken, slot);
        }
    warprsa_key_loads_take_waiting(device->loads, taken);
    pthread_mutex_unlock(&device->residency_lock);
}

/* Wipes keys from the device, up to the first that could not be wiped. */
static warprsa_status unload(warprsa_batch *batch, const uint32_t *indices,
                             unsigned count)
{
    warprsa_queue_device *device = batch->device;
    warprsa_status status = WARPRSA_OK;

    for (unsigned i = 0; i < count && status == WARPRSA_OK; i++) {
        warprsa_batch_call_begins(batch);
        status = device->from->engine->unload_key(device->handle, indices[i]);
        warprsa_batch_call_ends(batch);
        if (status == WARPRSA_OK)
            count_wiped(device, 1);
        else
            warprsa_queue_trace(device->queue, 1,
                                "device %u: a key was not wiped, %s",
                                device->number, warprsa_status_text(status));
    }
    return status;
}

/* A batch that missed its deadline may still read a key which its requests,
 * refused, no longer hold. The device was taken out of READY before they were
 * refused, so no key is unloaded then. */
static unsigned take_released(warprsa_queue_device *device, uint32_t *indices)
{
    unsigned count = 0;

    pthread_mutex_lock(&device->residency_lock);
    pthread_mutex_lock(&device->lock);
    if (device->state == WARPRSA_DEVICE_READY)
        count = warprsa_keys_take_released(&device->queue->keys, device->number,
                                           indices, UNLOAD_STEP);
    pthread_mutex_unlock(&device->lock);
    pthread_mutex_unlock(&device->residency_lock);
    return count;
}

warprsa_status warprsa_device_unload_released(warprsa_batch *batch)
{
    warprsa_queue_device *device = batch->device;
    _Atomic uint32_t *unloads = &device->queue->keys.unloads[device->number];
    uint32_t indices[UNLOAD_STEP];
    warprsa_status status = WARPRSA_OK;

    while (status == WARPRSA_OK &&
           atomic_load_explicit(unloads, memory_order_acquire) != 0) {
        unsigned count = take_released(device, indices);

        if (count == 0)
            break;
        status = unload(batch, indices, count);
    }
    return status;
}

void warprsa_device_forget_keys(warprsa_queue_device *device, bool wiped)
{
    _Atomic uint64_t *keys = &device->counters->keys;

    if (wiped)
        count_wiped(device, atomic_load(keys));
    else if (atomic_load(keys) != 0)
        warprsa_queue_trace(
            device->queue, 1, "device %u: %llu keys were not wiped",
            device->number, (unsigned long long)atomic_load(keys));
    atomic_store(keys, 0);
    pthread_mutex_lock(&device->residency_lock);
    warprsa_keys_forget_device(&device->queue->keys, device->number);
    pthread_mutex_unlock(&device->residency_lock);
}
