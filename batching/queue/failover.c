/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From one host to another: see failover.h.
 */
#include "batching/queue/failover.h"

#include "batching/base/clock.h"
#include "batching/queue/scheduling.h"

enum {
    /* So many devices may give a request back. Hosts that are all full would
     * else pass it round until its deadline. */
    FAILOVERS_MAX = 3,
    /* A host that gives requests back does it in no time, and would be first
     * to take them again. */
    PAUSE_MS = 20,
};

/* Only another host may give requests back. */
static bool is_possible(const warprsa_worker *worker, warprsa_size_class size)
{
    const warprsa_queue_device *device = worker->device;

    return device->from->engine->comes_and_goes &&
           !atomic_load(&device->queue->closing) &&
           warprsa_queue_has_another(device->queue, device->number, size);
}

bool warprsa_failover_request(warprsa_worker *worker, uint32_t slot,
                              warprsa_key *key)
{
    warprsa_queue *queue = worker->device->queue;
    warprsa_request *request = &queue->slots.request[slot];
    /* Both are the next owner's to read once the request is queued. */
    const warprsa_slot *s = &queue->slots.slot[slot];
    const warprsa_size_class size = key->size;

    if (!is_possible(worker, size) || request->failovers >= FAILOVERS_MAX ||
        warprsa_clock_ns() >=
            atomic_load_explicit(&s->submitted_ns, memory_order_relaxed) +
                queue->slots.deadline_ns)
        return false;
    request->failovers++;
    if (!warprsa_slots_requeue(&queue->slots, slot)) {
        warprsa_key_answered(key, 1);
        atomic_fetch_sub(&queue->depth, 1);
        return true;
    }
    warprsa_ring_put(&queue->queued[size], slot);
    warprsa_count(
        &queue->config.counters->device_of[worker->device->number].failovers,
        1);
    return true;
}

void warprsa_failover_notify(warprsa_worker *worker)
{
    warprsa_queue *queue = worker->device->queue;

    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        if (warprsa_queue_has(queue,
                              warprsa_class_alone((warprsa_size_class)c)))
            warprsa_queue_notify_idle(queue, (warprsa_size_class)c);
    /* The last device may have gone while requests were put there. */
    warprsa_queue_refuse_if_down(queue);
}

size_t warprsa_failover_items(warprsa_worker *worker, size_t count, bool all)
{
    size_t left = 0;

    if (count == 0 || !is_possible(worker, worker->items[0].key->size))
        return count;
    for (size_t i = 0; i < count; i++) {
        const warprsa_item item = worker->items[i];
        const warprsa_task task = worker->tasks[i];

        if ((all || task.status == WARPRSA_DEVICE_ERROR) &&
            warprsa_failover_request(worker, item.slot, item.key))
            continue;
        worker->items[left] = item;
        worker->tasks[left++] = task;
    }
    if (left == count)
        return count;
    atomic_store_explicit(&worker->device->activity->paused_until_ns,
                          warprsa_clock_ns() + PAUSE_MS * WARPRSA_NS_PER_MS,
                          memory_order_relaxed);
    warprsa_failover_notify(worker);
    return left;
}
