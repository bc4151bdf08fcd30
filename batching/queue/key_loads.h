/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The keys that a device has yet to load, and the requests that wait for them.
 * Preparing a key takes up to 0.2 ms of CPU, so no batch waits for one: its
 * requests are set aside, one worker of the device at a time loads one key at a
 * time, and the requests join the next batch.
 *
 * Keys are loaded in turn by owner. Each owner but WARPRSA_OWNER_SELF is
 * allowed WARPRSA_LOADS_PER_SECOND, and WARPRSA_LOADS_AT_ONCE after a pause.
 * Requests beyond that are refused.
 *
 * All functions are called by the device's workers, under its residency_lock,
 * unless something else is said.
 */
#ifndef WARPRSA_BATCHING_QUEUE_KEY_LOADS_H
#define WARPRSA_BATCHING_QUEUE_KEY_LOADS_H

#include "batching/queue/queue_keys.h"
#include "batching/queue/request_pool.h"

enum {
    /* Limits of one owner on one device. 1,000 keys of RSA-4096 are prepared in
     * 0.2 s of one CPU; a server with as many certificates as one client of the
     * daemon may have begins without a refusal. */
    WARPRSA_LOADS_PER_SECOND = 1000,
    WARPRSA_LOADS_AT_ONCE = 4096,
};

typedef struct warprsa_key_loads {
    unsigned device; /* its number in the queue */
    warprsa_slots *slots;
    struct warprsa_key_share_list waiting; /* owners in turn, of waiting keys */
    /* When the load under way has begun; 0: none. Any thread may read this and
     * what follows. */
    _Atomic uint64_t since_ns;
    _Atomic uint32_t waiting_keys;
    _Atomic uint32_t requests; /* set aside */
    /* The first request of each size class whose key has been loaded, plus 1;
     * 0: none. A hint. */
    _Atomic uint32_t oldest[WARPRSA_CLASSES];
    warprsa_turns loaded; /* requests whose keys have been loaded */
} warprsa_key_loads;

/* No thread may be using it. */
void warprsa_key_loads_init(warprsa_key_loads *loads, unsigned device,
                            warprsa_slots *slots, warprsa_keys *keys);

/* Sets a request aside whose key is not on the device. False: its owner has no
 * load left, or too many requests here already. */
bool warprsa_key_loads_add(warprsa_key_loads *loads, warprsa_key *key,
                           uint32_t slot, uint64_t now_ns);

/* The key to be loaded next, with a reference that the caller drops; NULL:
 * none, or another worker is loading one. One of the next two functions must
 * follow. A key is passed over if the callers of all its requests have given
 * up: *abandoned gets these requests, to be refused. */
warprsa_key *warprsa_key_loads_next(warprsa_key_loads *loads, uint64_t now_ns,
                                    warprsa_request_chain *abandoned);

/* The load has ended well: the key's requests are ready for a batch. Returns
 * how many these are: each of them pins the key (key_residency.h). */
uint32_t warprsa_key_loads_succeeded(warprsa_key_loads *loads,
                                     warprsa_key *key);

/* The load has failed: gives out the key's requests, to be refused. */
void warprsa_key_loads_failed(warprsa_key_loads *loads, warprsa_key *key,
                              warprsa_request_chain *chain);

/* Takes a request of this size class whose key has been loaded, and is pinned
 * by the request. False: there is none. */
bool warprsa_key_loads_take(warprsa_key_loads *loads, warprsa_size_class size,
                            uint32_t *slot);

/* Gives out the requests whose keys have yet to be loaded, to be refused. */
void warprsa_key_loads_take_waiting(warprsa_key_loads *loads,
                                    warprsa_request_chain *chain);

#endif
