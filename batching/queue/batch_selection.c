/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which requests the next batch of a stream has: see batch_selection.h.
 */
#include "batching/queue/batch_selection.h"

#include "batching/queue/key_loads.h"
#include "batching/queue/key_residency.h"
#include "batching/queue/queue_core.h"

enum {
    TAKE_STEP = 64, /* requests taken from a ring at once */
    /* Requests that an owner has in a row, before the next owner is looked
     * for. */
    TURN_STEP = 8,
};

/* The first request of a class that a worker of this device would take: of
 * those whose keys have been loaded for them, else of those in the ring. */
static bool first_of_class(const warprsa_queue_device *device, unsigned size,
                           uint32_t *slot)
{
    uint32_t loaded = atomic_load_explicit(&device->loads->oldest[size],
                                           memory_order_relaxed);

    *slot = loaded - 1;
    return loaded != 0 ||
           warprsa_ring_peek(&device->queue->backlog.ring[size], slot);
}

/* The class whose oldest request has waited longest. False: there is none. */
static bool oldest_class(const warprsa_queue_device *device,
                         warprsa_class_set classes, warprsa_size_class *size)
{
    uint64_t oldest = UINT64_MAX;
    bool found = false;

    for (unsigned c = 0; c < WARPRSA_CLASSES; c++) {
        uint32_t slot;
        uint64_t submitted_ns;

        if ((classes >> c & 1) == 0 || !first_of_class(device, c, &slot))
            continue;
        submitted_ns =
            atomic_load_explicit(&device->queue->slots.slot[slot].submitted_ns,
                                 memory_order_relaxed);
        if (!found || submitted_ns < oldest) {
            oldest = submitted_ns;
            *size = (warprsa_size_class)c;
            found = true;
        }
    }
    return found;
}

/* Adds a request whose key has been loaded for it to those with pinned keys,
 * which come first. Not if its caller has given up. With the residency_lock
 * held. */
static void add_loaded(warprsa_batch *batch, uint32_t slot,
                       warprsa_request_chain *abandoned)
{
    warprsa_queue_device *device = batch->device;
    warprsa_queue *queue = device->queue;
    warprsa_key *key = queue->slots.request[slot].key;

    if (warprsa_slots_is_abandoned(&queue->slots, slot)) {
        warprsa_keys_unpin(key, device->number);
        warprsa_slots_chain(&queue->slots, abandoned, slot);
        return;
    }
    batch->requests[batch->count++] = batch->requests[batch->pinned];
    batch->requests[batch->pinned++] =
        (warprsa_batch_request){.slot = slot, .key = key};
}

/* The first requests: those whose keys have been loaded for them. */
static void take_loaded(warprsa_batch *batch, size_t most,
                        warprsa_request_chain *abandoned)
{
    warprsa_queue_device *device = batch->device;
    uint32_t slot;

    if (atomic_load(&device->loads->oldest[batch->size]) == 0)
        return;
    pthread_mutex_lock(&device->residency_lock);
    while (batch->count < most &&
           warprsa_key_loads_take(device->loads, batch->size, &slot))
        add_loaded(batch, slot, abandoned);
    pthread_mutex_unlock(&device->residency_lock);
}

/* Claims a request for the batch. One whose caller has given up is gone. */
static void claim(warprsa_batch *batch, uint32_t slot)
{
    warprsa_queue *queue = batch->device->queue;
    warprsa_key *key;

    if (warprsa_slots_claim(&queue->slots, slot, &key)) {
        batch->requests[batch->count++] =
            (warprsa_batch_request){.slot = slot, .key = key};
    } else {
        warprsa_key_answered(key, 1);
        atomic_fetch_sub(&queue->depth, 1);
    }
}

/* Takes requests in the order of their arrival, up to `most`. */
static void take_by_age(warprsa_batch *batch, size_t most,
                        warprsa_request_chain *abandoned)
{
    warprsa_queue *queue = batch->device->queue;
    uint32_t taken = 1;
    uint32_t slots[TAKE_STEP];

    take_loaded(batch, most, abandoned);
    while (taken > 0 && batch->count < most) {
        size_t step = most - batch->count;

        taken =
            warprsa_ring_take(&queue->backlog.ring[batch->size], slots,
                              step < TAKE_STEP ? (uint32_t)step : TAKE_STEP);
        for (uint32_t i = 0; i < taken; i++)
            warprsa_slots_prefetch(&queue->slots, slots[i]);
        for (uint32_t i = 0; i < taken; i++)
            claim(batch, slots[i]);
    }
}

/* The earlier one of two turns, each of which can be NULL. */
static warprsa_turn *first_turn(warprsa_turn *a, warprsa_turn *b)
{
    if (a == NULL || b == NULL)
        return a != NULL ? a : b;
    return atomic_load(b->used) < atomic_load(a->used) ? b : a;
}

/* The turn that is next, among requests whose keys have been loaded for them or
 * among queued requests: *from says among which. */
static warprsa_turn *next_turn(warprsa_queue_device *device,
                               warprsa_class_set classes, warprsa_turns **from)
{
    warprsa_turns *loaded = &device->loads->loaded;
    warprsa_turns *queued = &device->queue->backlog.turns;
    warprsa_turn *a = warprsa_turns_next(loaded, classes);
    warprsa_turn *b = warprsa_turns_next(queued, classes);
    warprsa_turn *first = first_turn(a, b);

    *from = first == a ? loaded : queued;
    return first;
}

/* Takes requests of the batch's class in turn, up to `most`. The queued ones
 * have yet to be claimed. With both locks held. */
static void gather(warprsa_batch *batch, size_t most,
                   warprsa_request_chain *abandoned)
{
    const warprsa_class_set only = warprsa_class_alone(batch->size);
    warprsa_queue_device *device = batch->device;
    warprsa_turns *from;
    warprsa_turn *turn;
    uint32_t slot;

    while (batch->count < most &&
           (turn = next_turn(device, only, &from)) != NULL) {
        if (from == &device->loads->loaded) {
            if (warprsa_key_loads_take(device->loads, batch->size, &slot))
                add_loaded(batch, slot, abandoned);
            continue;
        }
        for (unsigned i = 0; i < TURN_STEP && batch->count < most &&
                             warprsa_turns_take(from, turn, batch->size, &slot);
             i++)
            batch->requests[batch->count++] =
                (warprsa_batch_request){.slot = slot};
    }
}

/* Claims what was gathered behind the requests with pinned keys. */
static void claim_gathered(warprsa_batch *batch)
{
    const size_t gathered = batch->count;

    for (size_t i = batch->pinned; i < gathered; i++)
        warprsa_slots_prefetch(&batch->device->queue->slots,
                               batch->requests[i].slot);
    batch->count = batch->pinned;
    for (size_t i = batch->pinned; i < gathered; i++)
        claim(batch, batch->requests[i].slot);
}

bool warprsa_sort_by_owner(warprsa_backlog *backlog)
{
    const warprsa_slots *pool = backlog->turns.slots;
    uint32_t slots[TAKE_STEP], taken;
    bool any = false;

    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        do {
            taken = warprsa_ring_take(&backlog->ring[c], slots, TAKE_STEP);
            any |= taken > 0;
            for (uint32_t i = 0; i < taken; i++)
                warprsa_slots_prefetch(pool, slots[i]);
            for (uint32_t i = 0; i < taken; i++)
                warprsa_turns_add(&backlog->turns,
                                  &pool->request[slots[i]].key->owner->queued,
                                  (warprsa_size_class)c, slots[i]);
        } while (taken == TAKE_STEP);
    return any;
}

/* The batch of the owner whose turn it is, with others' requests of the same
 * class. False: nothing was queued. */
static bool take_in_turn(warprsa_batch *batch, warprsa_class_set classes,
                         warprsa_batch_limit limit, warprsa_taken *taken)
{
    warprsa_queue_device *device = batch->device;
    warprsa_queue *queue = device->queue;
    warprsa_turns *from;
    warprsa_turn *turn;

    pthread_mutex_lock(&device->residency_lock);
    pthread_mutex_lock(&queue->backlog.turns_lock);
    taken->sorted = warprsa_sort_by_owner(&queue->backlog);
    turn = next_turn(device, classes, &from);
    if (turn != NULL) {
        batch->size = warprsa_turn_class(from, turn, classes);
        gather(batch, limit(queue, device->number, batch->size),
               &taken->abandoned);
    }
    pthread_mutex_unlock(&queue->backlog.turns_lock);
    pthread_mutex_unlock(&device->residency_lock);
    claim_gathered(batch);
    return turn != NULL;
}

bool warprsa_take_batch(warprsa_batch *batch, warprsa_class_set classes,
                        warprsa_batch_limit limit, warprsa_taken *taken)
{
    const warprsa_queue_device *device = batch->device;
    warprsa_queue *queue = device->queue;

    batch->pinned = 0;
    batch->count = 0;
    if (warprsa_queue_takes_turns(queue))
        return take_in_turn(batch, classes, limit, taken);
    if (!oldest_class(device, classes, &batch->size))
        return false;
    take_by_age(batch, limit(queue, device->number, batch->size),
                &taken->abandoned);
    return true;
}
