/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The keys on one device of a queue: which are there, pinned by batches under
 * way, those that are to be loaded, and those that are to be wiped. A worker
 * calls these functions from inside its device (warprsa_device_enter), unless
 * something else is said.
 */
#ifndef WARPRSA_BATCHING_QUEUE_DEVICE_KEYS_H
#define WARPRSA_BATCHING_QUEUE_DEVICE_KEYS_H

#include "batching/queue/device_types.h"

/*
 * Around the preparation of a batch. In between, warprsa_device_pin_key() gives
 * the device's index of a key, which stays there until
 * warprsa_device_unpin_keys(); false: the key is not on the device.
 * warprsa_device_pinned_key() gives the index of a key that is pinned already.
 * warprsa_device_set_aside() has a request wait until its key is on the device;
 * false: too many of its owner's requests wait already.
 */
void warprsa_device_lock_keys(warprsa_queue_device *device);
bool warprsa_device_pin_key(warprsa_batch *batch, warprsa_key *key,
                            uint32_t *index);
uint32_t warprsa_device_pinned_key(const warprsa_queue_device *device,
                                   const warprsa_key *key);
bool warprsa_device_set_aside(warprsa_queue_device *device,
                              const warprsa_batch_request *request,
                              uint64_t now_ns);
void warprsa_device_unlock_keys(warprsa_queue_device *device);

/* The batch has ended, its keys are no longer in use. Must come before its
 * requests drop their references to the keys. Not for a batch that has missed
 * its deadline, which may still read them; nor for one with which the device
 * was lost: its keys stay pinned until the device is closed, so that another
 * worker, which knows nothing of the loss yet, evicts none of them. */
void warprsa_device_unpin_keys(warprsa_batch *batch);

/*
 * Loads one of the keys that requests were set aside for, evicting others if
 * there is no room. Returns false if there was none to load, or another worker
 * is at it. Else, if it failed, *status says why, and *refused gets the
 * requests that waited for it. WARPRSA_NO_MEMORY: no room, and no key that may
 * be evicted. In any case *refused also gets requests that their callers have
 * given up; a key is not loaded if no other request waits for it.
 */
bool warprsa_device_load_key(warprsa_queue_device *device,
                             warprsa_status *status,
                             warprsa_request_chain *refused);

/* Whether there is a key to be loaded, or a request whose key has been loaded,
 * that no worker has begun with. */
bool warprsa_device_has_loads(const warprsa_queue_device *device);

/* Whether requests were set aside, other than those of a key being loaded. */
bool warprsa_device_has_set_aside(const warprsa_queue_device *device);

/* Takes the requests that were set aside; not those of a key being loaded. */
void warprsa_device_take_set_aside(warprsa_queue_device *device,
                                   warprsa_request_chain *taken);

/* Between two batches of a stream: unloads the keys that lost their last
 * reference. Else than WARPRSA_OK: one could not be wiped, and the device has
 * failed. */
warprsa_status warprsa_device_unload_released(warprsa_batch *batch);

/* The engine's device has been closed, and has wiped its keys, or not: none is
 * there any more. Without the device's lock; nobody is inside. */
void warprsa_device_forget_keys(warprsa_queue_device *device, bool wiped);

#endif
