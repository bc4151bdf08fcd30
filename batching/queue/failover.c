/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From one host to another: see failover.h.
 */
#include "batching/queue/failover.h"

#include "batching/base/clock.h"
#include "batching/queue/queue_core.h"

enum {
    /* So many devices may give a request back. Otherwise hosts that are all
     * full would pass it round until its deadline. */
    FAILOVERS_MAX = 3,
    /* A host that gives requests back does it in no time, and would be first
     * to take them again. */
    PAUSE_MS = 20,
};

/* Whether a device that is ready takes requests of this class. CPUs leave them
 * to the devices beside them, also to one that is full: the caller computes
 * sooner than a full host that gets them again and again. */
static bool takes(const warprsa_queue *queue, unsigned device,
                  warprsa_size_class size)
{
    const warprsa_queue_engine *from = warprsa_queue_engine_of(queue, device);

    return (unsigned)size < from->engine->classes &&
           (!from->on_cpus ||
            (unsigned)size >= atomic_load(&queue->board.others_classes));
}

/* Whether a device other than this one takes requests of this class. */
static bool has_another(const warprsa_queue *queue, unsigned device,
                        warprsa_size_class size)
{
    const uint32_t ready = atomic_load(&queue->board.ready);

    for (unsigned i = 0; i < WARPRSA_DEVICES_MAX; i++)
        if (i != device && ((ready >> i) & 1) != 0 && takes(queue, i, size))
            return true;
    return false;
}

/* Only another host may give requests back. */
static bool is_possible(const warprsa_queue_device *device,
                        warprsa_size_class size)
{
    return device->from->engine->comes_and_goes &&
           !atomic_load(&device->queue->board.closing) &&
           has_another(device->queue, device->number, size);
}

bool warprsa_failover_request(warprsa_queue_device *device, uint32_t slot)
{
    warprsa_queue *queue = device->queue;
    warprsa_request *request = &queue->slots.request[slot];
    /* Read here, since both belong to the next owner once the request is
     * queued. */
    const warprsa_slot *s = &queue->slots.slot[slot];
    warprsa_key *key = request->key;
    const warprsa_size_class size = key->size;

    if (!is_possible(device, size) || request->failovers >= FAILOVERS_MAX ||
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
    warprsa_backlog_put(&queue->backlog, size, slot);
    warprsa_count(&device->counters->failovers, 1);
    return true;
}

bool warprsa_failover_batch(warprsa_batch *batch, bool all)
{
    warprsa_queue_device *device = batch->device;
    size_t left = 0;

    if (batch->count == 0 || !is_possible(device, batch->size))
        return false;
    for (size_t i = 0; i < batch->count; i++) {
        const warprsa_batch_request request = batch->requests[i];
        const warprsa_task task = batch->tasks[i];

        if ((all || task.status == WARPRSA_DEVICE_ERROR) &&
            warprsa_failover_request(device, request.slot))
            continue;
        batch->requests[left] = request;
        batch->tasks[left++] = task;
    }
    if (left == batch->count)
        return false;
    batch->count = left;
    atomic_store_explicit(&device->activity->paused_until_ns,
                          warprsa_clock_ns() + PAUSE_MS * WARPRSA_NS_PER_MS,
                          memory_order_relaxed);
    return true;
}
