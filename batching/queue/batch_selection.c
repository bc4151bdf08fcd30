/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which requests a worker's next batch has: see batch_selection.h.
 */
#include "batching/queue/batch_selection.h"
#include "batching/queue/scheduling.h"

enum {
    TAKE_STEP = 64, /* requests taken from a ring at once */
    /* Requests that an owner has in a row, before the next owner is looked
     * for. */
    TURN_STEP = 8,
};

/* If requests were set aside here, for which it has to look in any case, it
 * takes others beside them. */
warprsa_class_set warprsa_take_classes(const warprsa_worker *worker)
{
    const warprsa_queue_device *device = worker->device;

    if (atomic_load(&device->loads.requests) != 0)
        return warprsa_classes_below(device->from->engine->classes);
    return warprsa_queue_takes_now(device->queue, device->number);
}

/* The first request of a class that a worker of this device would take: of
 * those whose keys have been loaded for them, else of those in the ring. */
static bool first_of_class(const warprsa_queue_device *device, unsigned size,
                           uint32_t *slot)
{
    uint32_t loaded =
        atomic_load_explicit(&device->loads.oldest[size], memory_order_relaxed);

    *slot = loaded - 1;
    return loaded != 0 || warprsa_ring_peek(&device->queue->queued[size], slot);
}

/* The class whose oldest request has waited longest. False: there is none. */
static bool oldest_class(const warprsa_worker *worker, warprsa_size_class *size)
{
    const warprsa_queue_device *device = worker->device;
    const warprsa_class_set classes = warprsa_take_classes(worker);
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

/* Makes a request whose key has been loaded for it an item, of those with
 * pinned keys, which come first; `count` is how many items there were. False:
 * its caller has given up. With the residency_lock held. */
static bool add_loaded(warprsa_worker *worker, uint32_t slot, size_t count,
                       warprsa_request_chain *abandoned)
{
    warprsa_queue_device *device = worker->device;
    warprsa_queue *queue = device->queue;
    warprsa_key *key = queue->slots.request[slot].key;

    if (warprsa_slots_is_abandoned(&queue->slots, slot)) {
        warprsa_keys_unpin(key, device->number);
        warprsa_slots_chain(&queue->slots, abandoned, slot);
        return false;
    }
    worker->items[count] = worker->items[worker->pinned];
    worker->items[worker->pinned++] = (warprsa_item){.slot = slot, .key = key};
    return true;
}

/* The first items: requests whose keys have been loaded for them. */
static void take_loaded(warprsa_worker *worker, warprsa_size_class size,
                        size_t most, warprsa_request_chain *abandoned)
{
    warprsa_queue_device *device = worker->device;
    uint32_t slot;

    if (atomic_load(&device->loads.oldest[size]) == 0)
        return;
    pthread_mutex_lock(&device->residency_lock);
    while (worker->pinned < most &&
           warprsa_key_loads_take(&device->loads, size, &slot))
        (void)add_loaded(worker, slot, worker->pinned, abandoned);
    pthread_mutex_unlock(&device->residency_lock);
}

/* Claims a request for the batch, which has `count` already, and returns how
 * many it has now. One whose caller has given up is gone. */
static size_t claim(warprsa_worker *worker, uint32_t slot, size_t count)
{
    warprsa_queue *queue = worker->device->queue;
    warprsa_key *key;

    if (warprsa_slots_claim(&queue->slots, slot, &key)) {
        worker->items[count++] = (warprsa_item){.slot = slot, .key = key};
    } else {
        warprsa_key_answered(key, 1);
        atomic_fetch_sub(&queue->depth, 1);
    }
    return count;
}

/* Takes requests in the order of their arrival, up to `most`; returns how many
 * the batch has. */
static size_t take_by_age(warprsa_worker *worker, warprsa_size_class size,
                          size_t most, warprsa_request_chain *abandoned)
{
    warprsa_queue *queue = worker->device->queue;
    uint32_t taken = 1;
    uint32_t slots[TAKE_STEP];
    size_t count;

    take_loaded(worker, size, most, abandoned);
    count = worker->pinned;
    while (taken > 0 && count < most) {
        size_t step = most - count;

        taken =
            warprsa_ring_take(&queue->queued[size], slots,
                              step < TAKE_STEP ? (uint32_t)step : TAKE_STEP);
        for (uint32_t i = 0; i < taken; i++)
            warprsa_slots_prefetch(&queue->slots, slots[i]);
        for (uint32_t i = 0; i < taken; i++)
            count = claim(worker, slots[i], count);
    }
    return count;
}

/* Of two turns, either of which can be NULL, the one that comes first. */
static warprsa_turn *first_turn(warprsa_turn *a, warprsa_turn *b)
{
    if (a == NULL || b == NULL)
        return a != NULL ? a : b;
    return atomic_load(b->used) < atomic_load(a->used) ? b : a;
}

/* The turn that is next: among requests whose keys have been loaded for them,
 * then *from is set to those, or among those that are queued. */
static warprsa_turn *next_turn(const warprsa_worker *worker,
                               warprsa_class_set classes, warprsa_turns **from)
{
    warprsa_turns *loaded = &worker->device->loads.loaded;
    warprsa_turns *queued = &worker->device->queue->turns;
    warprsa_turn *a = warprsa_turns_next(loaded, classes);
    warprsa_turn *b = warprsa_turns_next(queued, classes);
    warprsa_turn *first = first_turn(a, b);

    *from = first == a ? loaded : queued;
    return first;
}

/* Takes requests of a class in turn, up to `most`: items, the queued ones of
 * which have yet to be claimed. Returns how many there are. With both locks
 * held. */
static size_t gather(warprsa_worker *worker, warprsa_size_class size,
                     size_t most, warprsa_request_chain *abandoned)
{
    const warprsa_class_set only = warprsa_class_alone(size);
    warprsa_queue_device *device = worker->device;
    warprsa_turns *from;
    warprsa_turn *turn;
    size_t count = 0;
    uint32_t slot;

    while (count < most && (turn = next_turn(worker, only, &from)) != NULL) {
        if (from == &device->loads.loaded) {
            if (warprsa_key_loads_take(&device->loads, size, &slot) &&
                add_loaded(worker, slot, count, abandoned))
                count++;
            continue;
        }
        for (unsigned i = 0; i < TURN_STEP && count < most &&
                             warprsa_turns_take(from, turn, size, &slot);
             i++)
            worker->items[count++] = (warprsa_item){.slot = slot};
    }
    return count;
}

/* The batch of the owner whose turn it is, with others' requests of the same
 * class; returns how many there are. False: nothing was queued. */
static bool take_in_turn(warprsa_worker *worker, warprsa_size_class *size,
                         size_t *count, warprsa_request_chain *abandoned)
{
    warprsa_queue_device *device = worker->device;
    warprsa_queue *queue = device->queue;
    const warprsa_class_set classes = warprsa_take_classes(worker);
    warprsa_turns *from;
    warprsa_turn *turn;
    size_t gathered = 0;
    bool sorted;

    pthread_mutex_lock(&device->residency_lock);
    pthread_mutex_lock(&queue->turns_lock);
    sorted = warprsa_queue_sort_turns(queue);
    turn = next_turn(worker, classes, &from);
    if (turn != NULL) {
        *size = warprsa_turn_class(from, turn, classes);
        gathered = gather(worker, *size,
                          warprsa_queue_share(queue, device->number, *size),
                          abandoned);
    }
    pthread_mutex_unlock(&queue->turns_lock);
    pthread_mutex_unlock(&device->residency_lock);
    if (sorted) {
        warprsa_queue_rearm_idle(queue);
        warprsa_queue_refuse_if_down(queue);
    }
    for (size_t i = worker->pinned; i < gathered; i++)
        warprsa_slots_prefetch(&queue->slots, worker->items[i].slot);
    *count = worker->pinned;
    for (size_t i = worker->pinned; i < gathered; i++)
        *count = claim(worker, worker->items[i].slot, *count);
    return turn != NULL;
}

bool warprsa_take_batch(warprsa_worker *worker, warprsa_size_class *size,
                        size_t *count, warprsa_request_chain *abandoned)
{
    warprsa_queue *queue = worker->device->queue;

    worker->pinned = 0;
    *count = 0;
    if (warprsa_queue_takes_turns(queue))
        return take_in_turn(worker, size, count, abandoned);
    if (!oldest_class(worker, size))
        return false;
    *count = take_by_age(
        worker, *size,
        warprsa_queue_share(queue, worker->device->number, *size), abandoned);
    return true;
}
