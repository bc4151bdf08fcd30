/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A worker's batches: see queue_batch.h.
 */
#include "batching/queue/queue_batch.h"

#include "batching/base/clock.h"
#include "batching/queue/batch_record.h"
#include "batching/queue/batch_selection.h"
#include "batching/queue/completion.h"
#include "batching/queue/device_keys.h"
#include "batching/queue/failover.h"
#include "batching/queue/key_loads.h"
#include "batching/queue/queue_core.h"
#include "batching/queue/scheduling.h"

/* Requests have been given back, for other devices. */
static void notify_others(warprsa_queue *queue)
{
    warprsa_queue_notify_of_all(queue);
    /* The last device may have gone while requests were put there. */
    warprsa_queue_refuse_if_down(queue);
}

void warprsa_batch_give_back(warprsa_queue_device *device,
                             warprsa_request_chain *chain,
                             warprsa_cpu_reason reason)
{
    const bool may_fail_over = reason != WARPRSA_CPU_UNSUPPORTED_KEY;
    warprsa_queue *queue = device->queue;
    bool any = false;
    uint32_t slot;

    while (warprsa_slots_unchain(&queue->slots, chain, &slot)) {
        warprsa_key *key = queue->slots.request[slot].key;

        if (may_fail_over && warprsa_failover_request(device, slot))
            any = true;
        else
            warprsa_refuse_request(
                device, (warprsa_batch_request){.slot = slot, .key = key},
                reason);
    }
    if (any)
        notify_others(queue);
}

/* If requests were set aside here, the worker has to look for these in any
 * case, and takes others beside them. */
warprsa_class_set warprsa_batch_classes(const warprsa_queue_device *device)
{
    if (atomic_load(&device->loads->requests) != 0)
        return warprsa_classes_below(device->from->engine->classes);
    return warprsa_queue_takes_now(device->queue, device->number);
}

/* Makes a task of request `from`, which becomes request `to`, with the device's
 * index of its key. */
static void make_task(warprsa_batch *batch, size_t from, size_t to,
                      uint32_t index)
{
    warprsa_batch_request request = batch->requests[from];
    warprsa_slot *s = &batch->device->queue->slots.slot[request.slot];

    batch->requests[from] = batch->requests[to];
    batch->requests[to] = request;
    batch->tasks[to] = (warprsa_task){
        .key = index, .input = s->number, .output = warprsa_slot_output(s)};
}

/* Makes tasks of the requests. The first `pinned` ones have their keys pinned
 * already. Requests whose keys are not on the device are set aside. Those that
 * cannot be set aside are refused once the device's keys are unlocked, since
 * that notifies their callers. */
static void prepare(warprsa_batch *batch)
{
    warprsa_queue_device *device = batch->device;
    const size_t taken = batch->count;
    size_t ready = 0, refused = 0;
    uint64_t now_ns = warprsa_clock_ns();
    uint32_t index;

    warprsa_device_lock_keys(device);
    for (; ready < batch->pinned; ready++)
        make_task(
            batch, ready, ready,
            warprsa_device_pinned_key(device, batch->requests[ready].key));
    for (size_t i = ready; i < taken; i++) {
        const warprsa_batch_request *request = &batch->requests[i];

        if (warprsa_device_pin_key(batch, request->key, &index)) {
            /* The request that stands there has been looked at: it is to be
             * refused, or was set aside. */
            make_task(batch, i, ready++, index);
        } else if (warprsa_device_set_aside(device, request, now_ns)) {
            batch->requests[i].key = NULL;
        } else {
            refused++;
        }
    }
    warprsa_device_unlock_keys(device);
    for (size_t i = ready; refused > 0; i++)
        if (batch->requests[i].key != NULL) {
            warprsa_refuse_request(device, batch->requests[i],
                                   WARPRSA_CPU_KEY_RATE);
            refused--;
        }
    batch->count = ready;
}

/* The first call for a large class waits for that class's known-answer test,
 * and perhaps for the driver to compile its kernels, which takes minutes. */
static warprsa_status call_start(warprsa_batch *batch)
{
    const warprsa_queue_device *device = batch->device;
    warprsa_status status;

    if (batch->size < WARPRSA_CLASS_LARGE)
        warprsa_batch_call_begins(batch);
    else
        warprsa_batch_long_call_begins(batch);
    status = device->from->engine->start(
        device->handle, batch->stream, batch->size, batch->tasks, batch->count);
    warprsa_batch_call_ends(batch);
    return status;
}

static warprsa_status call_wait(warprsa_batch *batch)
{
    const warprsa_queue_device *device = batch->device;
    warprsa_status status;

    warprsa_batch_call_begins(batch);
    status = device->from->engine->wait(device->handle, batch->stream,
                                        device->queue->config.deadline_ms);
    warprsa_batch_call_ends(batch);
    return status;
}

/* Starts the batch. CPUs compute the whole batch here, and the queue learns how
 * long they waited for a CPU. */
static warprsa_status start(warprsa_batch *batch)
{
    const warprsa_queue_device *device = batch->device;
    uint64_t start_ns, cpu_ns;
    warprsa_status status;

    if (!device->from->on_cpus)
        return call_start(batch);
    start_ns = warprsa_clock_ns();
    cpu_ns = warprsa_thread_cpu_ns();
    status = call_start(batch);
    warprsa_queue_note_cpu_time(device->queue, device->number,
                                warprsa_thread_cpu_ns() - cpu_ns,
                                warprsa_clock_ns() - start_ns);
    return status;
}

/* So many more requests of a class are with the device; less than 0: fewer. The
 * counter is added to, since of two sums the older could be stored last. */
static void count_running(const warprsa_queue_device *device,
                          warprsa_size_class size, int64_t more)
{
    atomic_fetch_add(&device->activity->running_of[size], (uint32_t)more);
    atomic_fetch_add(&device->activity->running, (uint32_t)more);
    warprsa_count(&device->counters->running, (uint64_t)more);
}

bool warprsa_batch_next(warprsa_batch *batch)
{
    warprsa_queue_device *device = batch->device;
    warprsa_taken taken = {0};
    const bool any = warprsa_take_batch(batch, warprsa_batch_classes(device),
                                        warprsa_queue_share, &taken);

    if (taken.sorted) {
        warprsa_queue_rearm_idle(device->queue);
        warprsa_queue_refuse_if_down(device->queue);
    }
    if (!any)
        return false;
    warprsa_batch_give_back(device, &taken.abandoned, WARPRSA_CPU_DEADLINE);
    batch->taken_ns = warprsa_clock_ns();
    prepare(batch);
    count_running(device, batch->size, (int64_t)batch->count);
    /* There may be more requests, or keys to be loaded meanwhile. */
    warprsa_queue_rearm_idle(device->queue);
    if (batch->count > 0 && warprsa_device_has_loads(device))
        warprsa_eventcount_notify(&device->activity->eventcount);
    return true;
}

warprsa_status warprsa_batch_compute(warprsa_batch *batch)
{
    const warprsa_queue_device *device = batch->device;
    warprsa_queue *queue = device->queue;
    warprsa_status status = WARPRSA_NO_MEMORY;

    batch->start_ns = warprsa_clock_ns();
    if (warprsa_batch_place_outputs(batch, &queue->slots))
        status = start(batch);
    if (status == WARPRSA_OK) {
        status = call_wait(batch);
        warprsa_batch_record(batch, status == WARPRSA_OK);
    }
    count_running(device, batch->size, -(int64_t)batch->count);
    return status;
}

void warprsa_batch_settle(warprsa_batch *batch, warprsa_status status)
{
    if (status == WARPRSA_OK || warprsa_device_is_blameless(status))
        warprsa_device_unpin_keys(batch);
    if (status != WARPRSA_DEADLINE &&
        warprsa_failover_batch(batch, status != WARPRSA_OK))
        notify_others(batch->device->queue);
    if (status == WARPRSA_OK)
        warprsa_answer_batch(batch);
    else
        warprsa_refuse_batch(batch, status == WARPRSA_DEADLINE
                                        ? WARPRSA_CPU_DEADLINE
                                        : WARPRSA_CPU_ERROR);
}
