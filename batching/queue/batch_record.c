/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is counted of a batch: see batch_record.h.
 */
#include "batching/queue/batch_record.h"

#include "batching/base/clock.h"
#include "batching/queue/queue_core.h"
#include "batching/queue/router.h"

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

static void count_results(const warprsa_batch *batch)
{
    warprsa_counters *c = batch->device->queue->config.counters;
    uint64_t failed = 0, good = 0;

    for (size_t i = 0; i < batch->count; i++) {
        failed += batch->tasks[i].status == WARPRSA_CHECK_FAILED;
        good += batch->tasks[i].status == WARPRSA_OK;
    }
    warprsa_count(&batch->device->counters->gpu, good);
    if (failed == 0)
        return;
    warprsa_count(&c->checks_failed, failed);
    warprsa_count(&batch->device->counters->checks_failed, failed);
}

/* What devices are chosen by. */
static void note_times(const warprsa_batch *batch, uint64_t response_ns,
                       uint64_t compute_ns, uint64_t end_ns)
{
    const bool on_cpus = batch->device->from->on_cpus;
    warprsa_queue *queue = batch->device->queue;

    if (queue->uses_answer_times)
        warprsa_answer_times_note(&queue->times, on_cpus, batch->size,
                                  on_cpus ? compute_ns : response_ns, end_ns);
    if (queue->config.router != NULL && answers_alone(batch))
        warprsa_router_device_response(
            queue->config.router, batch->size,
            atomic_load_explicit(&queue->depth, memory_order_relaxed),
            response_ns);
}

void warprsa_batch_record(const warprsa_batch *batch, bool good)
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
    if (!good)
        return;
    count_results(batch);
    note_times(batch, response_ns, compute_ns, end_ns);
}
