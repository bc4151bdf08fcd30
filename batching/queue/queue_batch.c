/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A worker's batches: see queue_batch.h.
 */
#include "batching/queue/queue_batch.h"

#include <stdlib.h>
#include <string.h>

#include "batching/base/clock.h"
#include "batching/base/secret_memory.h"
#include "batching/queue/batch_selection.h"
#include "batching/queue/completion.h"
#include "batching/queue/device_keys.h"
#include "batching/queue/failover.h"
#include "batching/queue/scheduling.h"

static size_t outputs_bytes(const warprsa_worker *worker)
{
    return (size_t)worker->device->from->batch_max * WARPRSA_MODULUS_BYTES_MAX;
}

bool warprsa_batch_init(warprsa_worker *worker)
{
    unsigned batch_max = worker->device->from->batch_max;

    worker->items = calloc(batch_max, sizeof(*worker->items));
    worker->tasks = calloc(batch_max, sizeof(*worker->tasks));
    if (worker->items != NULL && worker->tasks != NULL)
        return true;
    warprsa_batch_free(worker);
    return false;
}

void warprsa_batch_free(warprsa_worker *worker)
{
    free(worker->items);
    free(worker->tasks);
    if (worker->outputs == NULL)
        return;
    /* A batch that failed as a whole may have left some of its results. */
    explicit_bzero(worker->outputs, outputs_bytes(worker));
    warprsa_secret_unmap(worker->outputs, outputs_bytes(worker));
}

/* Makes a task of item `from`, which becomes item `to`, with the device's index
 * of its key. */
static void make_task(warprsa_worker *worker, size_t from, size_t to,
                      uint32_t index)
{
    warprsa_item it = worker->items[from];
    warprsa_slot *s = &worker->device->queue->slots.slot[it.slot];

    worker->items[from] = worker->items[to];
    worker->items[to] = it;
    worker->tasks[to] = (warprsa_task){
        .key = index, .input = s->number, .output = warprsa_slot_output(s)};
}

/* Makes tasks of the items, of which the first `pinned` have their keys
 * pinned. Those whose keys are not on the device are set aside. Those that
 * cannot be are refused, but only after the device's keys are unlocked: callers
 * are notified then. Returns how many tasks there are. */
static size_t prepare_batch(warprsa_worker *worker, size_t count)
{
    size_t ready = 0, refused = 0;
    uint64_t now_ns = warprsa_clock_ns();
    uint32_t index;

    warprsa_device_lock_keys(worker);
    for (; ready < worker->pinned; ready++)
        make_task(worker, ready, ready,
                  warprsa_device_pinned_key(worker, worker->items[ready].key));
    for (size_t i = ready; i < count; i++) {
        const warprsa_item *it = &worker->items[i];

        if (warprsa_device_pin_key(worker, it->key, &index)) {
            /* What stands there has been seen already: it is either to be
             * refused, or was set aside. */
            make_task(worker, i, ready++, index);
        } else if (warprsa_device_set_aside(worker, it, now_ns)) {
            worker->items[i].key = NULL;
        } else {
            refused++;
        }
    }
    warprsa_device_unlock_keys(worker);
    for (size_t i = ready; refused > 0; i++)
        if (worker->items[i].key != NULL) {
            warprsa_answer_refused(worker, worker->items[i],
                                   WARPRSA_CPU_KEY_RATE);
            refused--;
        }
    return ready;
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

/* Counts how long the requests of a batch waited until it took them at
 * taken_ns. Returns the mean of that. */
static uint64_t count_waits(const warprsa_worker *worker, size_t count,
                            uint64_t taken_ns)
{
    const warprsa_queue *queue = worker->device->queue;
    warprsa_counters *c = queue->config.counters;
    uint32_t bins[WARPRSA_TIME_BINS] = {0};
    uint64_t sum_ns = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t submitted_ns = atomic_load_explicit(
            &queue->slots.slot[worker->items[i].slot].submitted_ns,
            memory_order_relaxed);
        uint64_t wait_ns =
            taken_ns > submitted_ns ? taken_ns - submitted_ns : 0;

        sum_ns += wait_ns;
        bins[warprsa_time_bin(wait_ns)]++;
    }
    warprsa_count(&c->wait_ns, sum_ns);
    add_times(c->wait_times, bins);
    return sum_ns / count;
}

/* Counts a batch that has ended: when it took its requests, was launched, and
 * had ended. */
static void count_batch(const warprsa_worker *worker, size_t count,
                        uint64_t taken_ns, uint64_t start_ns, uint64_t end_ns)
{
    warprsa_counters *c = worker->device->queue->config.counters;
    warprsa_device_counters *own = &c->device_of[worker->device->number];
    uint64_t max = atomic_load_explicit(&c->batch_max, memory_order_relaxed);
    uint64_t batch_ns = end_ns - taken_ns, compute_ns = end_ns - start_ns;

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

/* What the CPUs take beside other devices says nothing of those. */
static bool answers_alone(const warprsa_worker *worker, warprsa_size_class size)
{
    return !worker->device->from->on_cpus ||
           (unsigned)size >=
               atomic_load(&worker->device->queue->others_classes);
}

/* Counts and traces a batch that has ended, and tells the router how long its
 * requests took. */
static void record_batch(warprsa_worker *worker, warprsa_size_class size,
                         size_t count, uint64_t taken_ns, uint64_t start_ns,
                         bool good)
{
    warprsa_queue *queue = worker->device->queue;
    uint64_t end_ns = warprsa_clock_ns();
    uint64_t wait_ns = count_waits(worker, count, taken_ns);

    count_batch(worker, count, taken_ns, start_ns, end_ns);
    warprsa_queue_trace(queue, 2,
                        "batch device=%u stream=%u class=%u count=%zu "
                        "wait_us=%llu compute_us=%llu",
                        worker->device->number, worker->stream,
                        warprsa_class_bits(size), count,
                        (unsigned long long)(wait_ns / 1000),
                        (unsigned long long)((end_ns - start_ns) / 1000));
    if (good)
        warprsa_queue_note_answer(queue, worker->device->number, size,
                                  wait_ns + end_ns - taken_ns,
                                  end_ns - start_ns, end_ns);
    if (good && queue->config.router != NULL && answers_alone(worker, size))
        warprsa_router_device_response(
            queue->config.router, size,
            atomic_load_explicit(&queue->depth, memory_order_relaxed),
            wait_ns + end_ns - taken_ns);
}

/* Answers the requests of a batch that has ended or missed its deadline, or has
 * another device do so. A device that failed is taken out of use first, so that
 * the next request of a caller that was refused does not go there, unless
 * another of its threads, which is past looking, takes it at that moment. */
static void finish_batch(warprsa_worker *worker, size_t count,
                         warprsa_status status)
{
    if (status == WARPRSA_OK || warprsa_device_is_blameless(status))
        warprsa_device_unpin_keys(worker);
    if (status == WARPRSA_OK) {
        warprsa_device_worked(worker);
        warprsa_answer_batch(worker, count);
    } else if (status == WARPRSA_DEADLINE) {
        warprsa_device_overdue(worker);
        warprsa_answer_refused_items(worker, count, WARPRSA_CPU_DEADLINE);
    } else {
        if (!warprsa_device_is_blameless(status))
            warprsa_device_failed(worker, status);
        warprsa_answer_refused_items(
            worker, warprsa_failover_items(worker, count, true),
            WARPRSA_CPU_ERROR);
    }
}

/* Starts the batch. CPUs compute it therein: then the queue learns how long
 * they waited for a CPU. */
static warprsa_status start_batch(warprsa_worker *worker,
                                  warprsa_size_class size, size_t count)
{
    warprsa_queue_device *device = worker->device;
    warprsa_queue *queue = device->queue;
    uint64_t start_ns, cpu_ns;
    warprsa_status status;

    if (!device->from->on_cpus)
        return device->from->engine->start(device->handle, worker->stream, size,
                                           worker->tasks, count);
    start_ns = warprsa_clock_ns();
    cpu_ns = warprsa_thread_cpu_ns();
    status = device->from->engine->start(device->handle, worker->stream, size,
                                         worker->tasks, count);
    warprsa_queue_note_cpu_time(queue, device->number,
                                warprsa_thread_cpu_ns() - cpu_ns,
                                warprsa_clock_ns() - start_ns);
    return status;
}

/* So many more requests are with the device; 0 - n: n fewer. */
static void count_running(warprsa_queue_device *device, uint32_t more)
{
    warprsa_counters *counters = device->queue->config.counters;

    atomic_store_explicit(&counters->device_of[device->number].running,
                          atomic_fetch_add(&device->activity->running, more) +
                              more,
                          memory_order_relaxed);
}

/* Has outputs that their slots have no room for yet written to memory of the
 * worker's. False: there is none. */
static bool place_outputs(warprsa_worker *worker, warprsa_size_class size,
                          size_t count)
{
    const warprsa_slots *slots = &worker->device->queue->slots;

    if (size < WARPRSA_CLASS_LARGE)
        return true;
    if (worker->outputs == NULL)
        worker->outputs = warprsa_secret_map(outputs_bytes(worker));
    for (size_t i = 0; i < count && worker->outputs != NULL; i++)
        if (warprsa_slot_is_shared(&slots->slot[worker->items[i].slot]))
            worker->tasks[i].output =
                worker->outputs + i * WARPRSA_MODULUS_BYTES_MAX;
    return worker->outputs != NULL;
}

/* Starts the batch, waits for it and answers it. taken_ns: when it took its
 * requests. */
static void run_batch(warprsa_worker *worker, warprsa_size_class size,
                      size_t count, uint64_t taken_ns)
{
    warprsa_queue_device *device = worker->device;
    uint64_t start_ns = warprsa_clock_ns();
    warprsa_status status = WARPRSA_NO_MEMORY;

    if (place_outputs(worker, size, count))
        status = start_batch(worker, size, count);
    if (status == WARPRSA_OK) {
        status = device->from->engine->wait(device->handle, worker->stream,
                                            device->queue->config.deadline_ms);
        record_batch(worker, size, count, taken_ns, start_ns,
                     status == WARPRSA_OK);
    }
    count_running(device, 0 - (uint32_t)count);
    finish_batch(worker, count, status);
}

bool warprsa_batch_next(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->device;
    warprsa_queue *queue = device->queue;
    warprsa_request_chain abandoned = {0};
    warprsa_size_class size;
    size_t taken, count;
    uint64_t taken_ns;

    if (!warprsa_take_batch(worker, &size, &taken, &abandoned))
        return false;
    warprsa_answer_chain(worker, &abandoned, WARPRSA_CPU_DEADLINE);
    taken_ns = warprsa_clock_ns();
    count = prepare_batch(worker, taken);
    count_running(device, (uint32_t)count);
    /* There may be more requests, or keys to be loaded meanwhile. */
    warprsa_queue_rearm_idle(queue);
    if (count > 0 && warprsa_device_has_loads(device))
        warprsa_eventcount_notify(&device->activity->eventcount);
    if (count > 0)
        run_batch(worker, size, count, taken_ns);
    return true;
}
