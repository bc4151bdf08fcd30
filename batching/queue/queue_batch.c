/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A worker's batches: see queue_batch.h.
 */
#include "batching/queue/queue_batch.h"

#include "batching/base/clock.h"
#include "batching/queue/batch_selection.h"
#include "batching/queue/completion.h"
#include "batching/queue/device_keys.h"
#include "batching/queue/failover.h"
#include "batching/queue/queue_device.h"
#include "batching/queue/router.h"
#include "batching/queue/scheduling.h"
#include "batching/queue/verdict.h"

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
        warprsa_failover_notify(queue);
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

/* Makes tasks of the requests, of which the first `pinned` have their keys
 * pinned. Those whose keys are not on the device are set aside. Those that
 * cannot be are refused, but only after the device's keys are unlocked: callers
 * are notified then. */
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
            /* What stands there has been seen already: it is either to be
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

static unsigned histogram_bin(size_t count)
{
    unsigned bin = 0;

    while ((size_t)1 << bin < count && bin < WARPRSA_HISTOGRAM_BINS - 1)
        bin++;
    return bin;
}

/* Adds a batch's times to the process's. */
static void add_times(warprsa_times times, const uint32_t *bins)
{
    for (unsigned i = 0; i < WARPRSA_TIME_BINS; i++)
        if (bins[i] != 0)
            warprsa_count(&times[i], bins[i]);
}

/* Counts how long the requests of a batch waited until it took them. Returns
 * the mean of that. */
static uint64_t count_waits(const warprsa_batch *batch)
{
    const warprsa_queue *queue = batch->device->queue;
    warprsa_counters *c = queue->config.counters;
    uint32_t bins[WARPRSA_TIME_BINS] = {0};
    uint64_t sum_ns = 0;

    for (size_t i = 0; i < batch->count; i++) {
        uint64_t submitted_ns = atomic_load_explicit(
            &queue->slots.slot[batch->requests[i].slot].submitted_ns,
            memory_order_relaxed);
        uint64_t wait_ns =
            batch->taken_ns > submitted_ns ? batch->taken_ns - submitted_ns : 0;

        sum_ns += wait_ns;
        bins[warprsa_time_bin(wait_ns)]++;
    }
    warprsa_count(&c->wait_ns, sum_ns);
    add_times(c->wait_times, bins);
    return sum_ns / batch->count;
}

/* Counts a batch that has ended. */
static void count_batch(const warprsa_batch *batch, uint64_t end_ns)
{
    warprsa_counters *c = batch->device->queue->config.counters;
    warprsa_device_counters *own = batch->device->counters;
    const size_t count = batch->count;
    uint64_t max = atomic_load_explicit(&c->batch_max, memory_order_relaxed);
    uint64_t batch_ns = end_ns - batch->taken_ns;
    uint64_t compute_ns = end_ns - batch->start_ns;

    warprsa_count(&c->batches, 1);
    warprsa_count(&own->batches, 1);
    warprsa_count(&c->batch_operations, count);
    warprsa_count(&c->batch_sizes[histogram_bin(count)], 1);
    warprsa_count(&c->batch_ns, batch_ns * count);
    warprsa_count(&c->batch_times[warprsa_time_bin(batch_ns)], count);
    warprsa_count(&c->compute_ns, compute_ns);
    warprsa_count(&c->compute_times[warprsa_time_bin(compute_ns)], 1);
    warprsa_count(&own->compute_ns, compute_ns);
    warprsa_count(&own->compute_times[warprsa_time_bin(compute_ns)], 1);
    while (max < count && !atomic_compare_exchange_weak_explicit(
                              &c->batch_max, &max, count, memory_order_relaxed,
                              memory_order_relaxed))
        ;
}

/* Batches of the CPUs do not measure other devices. */
static bool answers_alone(const warprsa_batch *batch)
{
    return !batch->device->from->on_cpus ||
           (unsigned)batch->size >=
               atomic_load(&batch->device->queue->board.others_classes);
}

/* Counts and traces a batch that has ended, and tells the router how long its
 * requests took. */
static void record(const warprsa_batch *batch, bool good)
{
    const warprsa_queue_device *device = batch->device;
    warprsa_queue *queue = device->queue;
    uint64_t end_ns = warprsa_clock_ns();
    uint64_t wait_ns = count_waits(batch);
    uint64_t response_ns = wait_ns + end_ns - batch->taken_ns;
    uint64_t compute_ns = end_ns - batch->start_ns;

    count_batch(batch, end_ns);
    warprsa_queue_trace(queue, 2,
                        "batch device=%u stream=%u class=%u count=%zu "
                        "wait_us=%llu compute_us=%llu",
                        device->number, batch->stream,
                        warprsa_class_bits(batch->size), batch->count,
                        (unsigned long long)(wait_ns / 1000),
                        (unsigned long long)(compute_ns / 1000));
    if (good)
        warprsa_queue_note_answer(queue, device->number, batch->size,
                                  response_ns, compute_ns, end_ns);
    if (good && queue->config.router != NULL && answers_alone(batch))
        warprsa_router_device_response(
            queue->config.router, batch->size,
            atomic_load_explicit(&queue->depth, memory_order_relaxed),
            response_ns);
}

/* Counts the results of a batch that was computed, and finds out who is to
 * blame for those that failed their check. */
static void check_results(warprsa_batch *batch)
{
    warprsa_counters *c = batch->device->queue->config.counters;
    warprsa_device_counters *own = batch->device->counters;
    uint64_t failed = 0, good = 0;

    for (size_t i = 0; i < batch->count; i++) {
        failed += batch->tasks[i].status == WARPRSA_CHECK_FAILED;
        good += batch->tasks[i].status == WARPRSA_OK;
    }
    warprsa_count(&own->gpu, good);
    if (failed == 0)
        return;
    warprsa_count(&c->checks_failed, failed);
    warprsa_count(&own->checks_failed, failed);
    warprsa_judge_results(batch);
}

/* Answers the requests of a batch that has ended or missed its deadline, or has
 * another device do so. A device that failed is taken out of use first, so that
 * the next request of a caller that was refused does not go there, unless
 * another of its threads takes it at that moment, which has already checked the
 * state. */
static void finish(warprsa_worker *worker, warprsa_status status)
{
    warprsa_batch *batch = &worker->batch;

    if (status == WARPRSA_OK || warprsa_device_is_blameless(status))
        warprsa_device_unpin_keys(batch);
    if (status == WARPRSA_OK) {
        warprsa_device_worked(batch->device);
        warprsa_failover_batch(batch, false);
        check_results(batch);
        warprsa_answer_batch(batch);
    } else if (status == WARPRSA_DEADLINE) {
        warprsa_device_overdue(worker);
        warprsa_refuse_batch(batch, WARPRSA_CPU_DEADLINE);
    } else {
        if (!warprsa_device_is_blameless(status))
            warprsa_device_failed(batch->device, status);
        warprsa_failover_batch(batch, true);
        warprsa_refuse_batch(batch, WARPRSA_CPU_ERROR);
    }
}

static warprsa_status call_start(const warprsa_batch *batch)
{
    const warprsa_queue_device *device = batch->device;

    return device->from->engine->start(device->handle, batch->stream,
                                       batch->size, batch->tasks, batch->count);
}

/* Starts the batch. CPUs compute it therein: then the queue learns how long
 * they waited for a CPU. */
static warprsa_status start(const warprsa_batch *batch)
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

/* So many more requests are with the device; 0 - n: n fewer. */
static void count_running(const warprsa_queue_device *device, uint32_t more)
{
    atomic_store_explicit(&device->counters->running,
                          atomic_fetch_add(&device->activity->running, more) +
                              more,
                          memory_order_relaxed);
}

/* Starts the batch, waits for it and answers it. */
static void run(warprsa_worker *worker)
{
    warprsa_batch *batch = &worker->batch;
    const warprsa_queue_device *device = batch->device;
    const uint32_t count = (uint32_t)batch->count;
    warprsa_status status = WARPRSA_NO_MEMORY;

    batch->start_ns = warprsa_clock_ns();
    if (warprsa_batch_place_outputs(batch, &device->queue->slots))
        status = start(batch);
    if (status == WARPRSA_OK) {
        status = device->from->engine->wait(device->handle, batch->stream,
                                            device->queue->config.deadline_ms);
        record(batch, status == WARPRSA_OK);
    }
    count_running(device, 0 - count);
    finish(worker, status);
}

bool warprsa_batch_next(warprsa_worker *worker)
{
    warprsa_batch *batch = &worker->batch;
    warprsa_queue_device *device = batch->device;
    warprsa_request_chain abandoned = {0};

    if (!warprsa_take_batch(batch, &abandoned))
        return false;
    warprsa_batch_give_back(device, &abandoned, WARPRSA_CPU_DEADLINE);
    batch->taken_ns = warprsa_clock_ns();
    prepare(batch);
    count_running(device, (uint32_t)batch->count);
    /* There may be more requests, or keys to be loaded meanwhile. */
    warprsa_queue_rearm_idle(device->queue);
    if (batch->count > 0 && warprsa_device_has_loads(device))
        warprsa_eventcount_notify(&device->activity->eventcount);
    if (batch->count > 0)
        run(worker);
    return true;
}
