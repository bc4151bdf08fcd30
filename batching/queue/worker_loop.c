/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What there is to do for a worker: see worker_loop.h.
 */
#include "batching/queue/worker_loop.h"

#include <sched.h>

#include "batching/base/clock.h"
#include "batching/queue/batch_selection.h"
#include "batching/queue/device_keys.h"
#include "batching/queue/queue_batch.h"
#include "batching/queue/scheduling.h"

enum {
    /* Keys loaded before the next batch, as long as nothing else is queued: 3
     * ms of them at most, so that requests that came together with many new
     * keys share batches. */
    LOADS_AT_ONCE = 16,
    YIELDS_MAX = 4, /* of the CPU before a batch that is not full */
};

static warprsa_cpu_reason why_no_key(warprsa_status status)
{
    if (status == WARPRSA_NO_MEMORY)
        return WARPRSA_CPU_KEY_CACHE_FULL;
    return status == WARPRSA_UNSUPPORTED_KEY ? WARPRSA_CPU_UNSUPPORTED_KEY
                                             : WARPRSA_CPU_ERROR;
}

static warprsa_class_set all_of(const warprsa_queue_device *device)
{
    return warprsa_classes_below(device->from->engine->classes);
}

/* Loads a key that requests wait for. False: there was none to load. */
static bool load_key(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->device;
    warprsa_request_chain refused = {0};
    warprsa_status status = WARPRSA_OK;
    bool loaded = warprsa_device_load_key(device, &status, &refused);

    if (status != WARPRSA_OK && !warprsa_device_is_blameless(status))
        warprsa_device_failed(device, status);
    warprsa_batch_give_back(device, &refused, why_no_key(status));
    /* For its requests, while this worker may go on to the next key. */
    if (loaded)
        warprsa_eventcount_notify(&device->activity->eventcount);
    return loaded;
}

static bool may_load(warprsa_worker *worker)
{
    return warprsa_device_has_loads(worker->device) &&
           warprsa_device_usable(worker->device);
}

void warprsa_work_refuse_stranded(warprsa_worker *worker)
{
    warprsa_request_chain refused = {0};
    warprsa_cpu_reason reason = WARPRSA_CPU_ERROR;
    bool overdue;

    warprsa_device_strand(worker->device, &overdue, &refused);
    if (overdue)
        reason = WARPRSA_CPU_DEADLINE;
    else if (atomic_load(&worker->device->queue->closing))
        reason = WARPRSA_CPU_NO_DEVICE;
    warprsa_batch_give_back(worker->device, &refused, reason);
}

/* Lets threads that wait for this CPU go first, as long as the batch would not
 * be full: they may be about to submit requests. A thread that has slept goes
 * before them otherwise, with the single request that woke it. Without such
 * threads it returns at once. */
static void let_callers_submit(const warprsa_worker *worker)
{
    warprsa_queue *queue = worker->device->queue;

    for (unsigned i = 0;
         i < YIELDS_MAX &&
         warprsa_backlog_has(&queue->backlog, all_of(worker->device)) &&
         warprsa_queue_would_be_fuller(queue, worker->device->number);
         i++)
        sched_yield();
}

/* Wipes the keys that nobody holds any more; false: the device has failed. */
static bool unload_released(warprsa_worker *worker)
{
    warprsa_status status = warprsa_device_unload_released(worker->device);

    if (status != WARPRSA_OK)
        warprsa_device_failed(worker->device, status);
    return status == WARPRSA_OK;
}

bool warprsa_work(warprsa_worker *worker)
{
    bool worked;

    let_callers_submit(worker);
    worked = unload_released(worker) && warprsa_batch_next(worker);
    for (unsigned i = 0;
         i < LOADS_AT_ONCE && may_load(worker) && load_key(worker) &&
         !warprsa_backlog_has(&worker->device->queue->backlog,
                              warprsa_take_classes(worker->device));
         i++)
        worked = true;
    warprsa_work_refuse_stranded(worker);
    return worked;
}

/* Whether an idle worker must not sleep. */
static bool anything_to_do(warprsa_worker *worker)
{
    warprsa_queue *queue = worker->device->queue;

    return atomic_load(&queue->closing) ||
           atomic_load(&queue->keys.unloads[worker->device->number]) != 0 ||
           warprsa_backlog_has(&queue->backlog,
                               warprsa_take_classes(worker->device)) ||
           warprsa_device_has_loads(worker->device) ||
           !warprsa_device_usable(worker->device);
}

void warprsa_work_sleep(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->device;
    warprsa_queue *queue = device->queue;
    const uint64_t until_ns =
        warprsa_clock_ns() + queue->config.deadline_ms * WARPRSA_NS_PER_MS;
    uint32_t word;

    atomic_fetch_add(&device->activity->eventcount.idle, 1);
    word = warprsa_eventcount_prepare_wait(&device->activity->eventcount);
    if (!anything_to_do(worker)) {
        warprsa_queue_pass_on(queue, device->number);
        warprsa_futex_wait(&device->activity->eventcount.word, word, until_ns);
        /* Nothing for as long as a deadline, and yet there are requests: the
         * worker that has them may hang in its driver. */
        if (atomic_load(&queue->depth) != 0 && warprsa_clock_ns() >= until_ns)
            warprsa_slots_notify_expired(&queue->slots);
    }
    atomic_fetch_sub(&device->activity->eventcount.idle, 1);
}
