/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which keys lie on which devices, pinned by requests, and who makes room. By a
 * device's workers, under the device's residency_lock.
 *
 * On a device the keys of several owners with the same numbers are one: it lies
 * there once, under one index, as long as one of the owners has it there.
 * Owners share a device's memory: where there is no room for a key, its owner's
 * own keys make room, or those of an owner that has more. A device may have
 * room for fewer keys of large classes, which make room for each other alone.
 */
#ifndef WARPRSA_BATCHING_QUEUE_KEY_RESIDENCY_H
#define WARPRSA_BATCHING_QUEUE_KEY_RESIDENCY_H

#include "batching/queue/queue_keys.h"

/* Notes that a key has been loaded, under `index`, and is pinned `pins` times.
 */
void warprsa_keys_loaded(warprsa_key *key, unsigned device, uint32_t index,
                         uint32_t pins);

/* Whether the same numbers lie on the device as another owner's key, under
 * *index: then the key needs only warprsa_keys_loaded() with that. */
bool warprsa_keys_find_twin(warprsa_key *key, unsigned device, uint32_t *index);

/* Adds a pin to a key that is on the device, or removes one. */
void warprsa_keys_pin(warprsa_key *key, unsigned device);
void warprsa_keys_unpin(warprsa_key *key, unsigned device);

/* Takes released keys off a device: fills indices[] with what the calling
 * worker must unload, `max` at most, and returns how many. There is nothing to
 * unload of a key that other owners have there, too. */
unsigned warprsa_keys_take_released(warprsa_keys *keys, unsigned device,
                                    uint32_t *indices, unsigned max);

/* Takes keys off a device to make room for `wanted`; *index: what to unload. Of
 * the owner that has most keys there, who may be the owner of `wanted`, it
 * takes the unpinned key that was used longest ago. If others have that key
 * there, too, it goes on to the next one, until there is something to unload.
 * only_large: it counts and takes keys of large classes alone. False: no owner
 * with at least as many keys as that of `wanted` has an unpinned one. */
bool warprsa_keys_evict(warprsa_keys *keys, unsigned device,
                        warprsa_key *wanted, bool only_large, uint32_t *index);

/* Notes that a device has been closed, and with it every key on it. No request
 * waits for a key of it. */
void warprsa_keys_forget_device(warprsa_keys *keys, unsigned device);

#endif
