/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The keys that a device has yet to load: see key_loads.h.
 */
#include "batching/queue/key_loads.h"

#include <string.h>

#include "batching/base/clock.h"

enum {
    /* One owner's requests that wait for keys on one device take one part in so
     * many of all request slots at most. */
    REQUESTS_PART = 4,
};

void warprsa_key_loads_init(warprsa_key_loads *loads, unsigned device,
                            warprsa_slots *slots, warprsa_keys *keys)
{
    memset(loads, 0, sizeof(*loads));
    loads->device = device;
    loads->slots = slots;
    TAILQ_INIT(&loads->waiting);
    warprsa_turns_init(&loads->loaded, slots, &keys->reached);
}

static uint32_t requests_max(const warprsa_slots *slots)
{
    uint32_t part = slots->count / REQUESTS_PART;

    return part > 0 ? part : 1;
}

/* Whether the owner may have one more key loaded. If so, its allowance pays for
 * that. Its allowance is a point in time: each load moves it on by the time in
 * which another one becomes free. */
static bool allow_load(const warprsa_key *key, warprsa_key_share *share,
                       uint64_t now_ns)
{
    const uint64_t each_ns = WARPRSA_NS_PER_SEC / WARPRSA_LOADS_PER_SECOND;
    uint64_t from_ns =
        share->allowance_ns > now_ns ? share->allowance_ns : now_ns;

    if (key->owner->id == WARPRSA_OWNER_SELF)
        return true;
    if (from_ns - now_ns > (WARPRSA_LOADS_AT_ONCE - 1) * each_ns)
        return false;
    share->allowance_ns = from_ns + each_ns;
    return true;
}

/* Adds a key to those to be loaded, once the first request waits for it. */
static void wait_for_load(warprsa_key_loads *loads, warprsa_key *key,
                          warprsa_key_share *share)
{
    if (TAILQ_EMPTY(&share->waiting))
        TAILQ_INSERT_TAIL(&loads->waiting, share, waiting_link);
    TAILQ_INSERT_TAIL(&share->waiting, &key->on_device[loads->device], link);
    atomic_fetch_add(&loads->waiting_keys, 1);
}

bool warprsa_key_loads_add(warprsa_key_loads *loads, warprsa_key *key,
                           uint32_t slot, uint64_t now_ns)
{
    warprsa_key_residency *residency = &key->on_device[loads->device];
    warprsa_key_share *share = warprsa_key_share_of(key, loads->device);

    if (key->owner->id != WARPRSA_OWNER_SELF &&
        share->requests >= requests_max(loads->slots))
        return false;
    /* Else it waits already, or is being loaded. */
    if (!residency->is_wanted) {
        if (!allow_load(key, share, now_ns))
            return false;
        residency->is_wanted = true;
        wait_for_load(loads, key, share);
    }
    warprsa_slots_chain(loads->slots, &residency->waiting, slot);
    share->requests++;
    atomic_fetch_add(&loads->requests, 1);
    return true;
}

/* Takes the first key of the owner whose turn it is; the next turn is that of
 * the next owner. */
static warprsa_key *take_waiting(warprsa_key_loads *loads)
{
    warprsa_key_share *share = TAILQ_FIRST(&loads->waiting);
    warprsa_key_residency *residency;

    if (share == NULL)
        return NULL;
    residency = TAILQ_FIRST(&share->waiting);
    TAILQ_REMOVE(&share->waiting, residency, link);
    TAILQ_REMOVE(&loads->waiting, share, waiting_link);
    if (!TAILQ_EMPTY(&share->waiting))
        TAILQ_INSERT_TAIL(&loads->waiting, share, waiting_link);
    atomic_fetch_sub(&loads->waiting_keys, 1);
    return residency->key;
}

/* Moves the requests that wait for a key to the end of another chain. */
static void give_out(warprsa_key_loads *loads, warprsa_key *key,
                     warprsa_request_chain *chain)
{
    warprsa_key_residency *residency = &key->on_device[loads->device];
    uint32_t slot;

    while (warprsa_slots_unchain(loads->slots, &residency->waiting, &slot)) {
        warprsa_slots_chain(loads->slots, chain, slot);
        warprsa_key_share_of(key, loads->device)->requests--;
        atomic_fetch_sub(&loads->requests, 1);
    }
}

static bool all_abandoned(const warprsa_key_loads *loads,
                          const warprsa_request_chain *chain)
{
    const warprsa_slots *slots = loads->slots;
    uint32_t next = chain->first;

    while (next != 0 && warprsa_slots_is_abandoned(slots, next - 1))
        next = slots->request[next - 1].next_in_chain;
    return next == 0;
}

warprsa_key *warprsa_key_loads_next(warprsa_key_loads *loads, uint64_t now_ns,
                                    warprsa_request_chain *abandoned)
{
    warprsa_key *key;

    if (atomic_load(&loads->since_ns) != 0)
        return NULL;
    while ((key = take_waiting(loads)) != NULL) {
        warprsa_key_residency *residency = &key->on_device[loads->device];

        if (!all_abandoned(loads, &residency->waiting))
            break;
        residency->is_wanted = false;
        give_out(loads, key, abandoned);
    }
    if (key == NULL)
        return NULL;
    warprsa_key_reference(key);
    atomic_store(&loads->since_ns, now_ns);
    return key;
}

static void publish_oldest(warprsa_key_loads *loads, warprsa_size_class size)
{
    const warprsa_turn *turn =
        warprsa_turns_next(&loads->loaded, warprsa_class_alone(size));

    atomic_store(&loads->oldest[size],
                 turn != NULL ? turn->requests[size].first : 0);
}

uint32_t warprsa_key_loads_succeeded(warprsa_key_loads *loads, warprsa_key *key)
{
    warprsa_key_residency *residency = &key->on_device[loads->device];
    warprsa_key_share *share = warprsa_key_share_of(key, loads->device);
    uint32_t slot, requests = 0;

    while (warprsa_slots_unchain(loads->slots, &residency->waiting, &slot)) {
        warprsa_turns_add(&loads->loaded, &share->turn, key->size, slot);
        requests++;
    }
    publish_oldest(loads, key->size);
    share->requests -= requests;
    residency->is_wanted = false;
    atomic_store(&loads->since_ns, 0);
    return requests;
}

void warprsa_key_loads_failed(warprsa_key_loads *loads, warprsa_key *key,
                              warprsa_request_chain *chain)
{
    give_out(loads, key, chain);
    key->on_device[loads->device].is_wanted = false;
    atomic_store(&loads->since_ns, 0);
}

bool warprsa_key_loads_take(warprsa_key_loads *loads, warprsa_size_class size,
                            uint32_t *slot)
{
    warprsa_turn *turn =
        warprsa_turns_next(&loads->loaded, warprsa_class_alone(size));

    if (turn == NULL || !warprsa_turns_take(&loads->loaded, turn, size, slot))
        return false;
    publish_oldest(loads, size);
    atomic_fetch_sub(&loads->requests, 1);
    return true;
}

void warprsa_key_loads_take_waiting(warprsa_key_loads *loads,
                                    warprsa_request_chain *chain)
{
    warprsa_key *key;

    while ((key = take_waiting(loads)) != NULL) {
        key->on_device[loads->device].is_wanted = false;
        give_out(loads, key, chain);
    }
}
