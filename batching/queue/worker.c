/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a device's thread does: see worker.h. It does what there is to do, again
 * and again until the queue closes.
 */
#include "batching/queue/worker.h"

#include <sched.h>
#include <stdio.h>

#include "batching/base/clock.h"
#include "batching/base/wipe_registers.h"
#include "batching/queue/device_discovery.h"
#include "batching/queue/device_keys.h"
#include "batching/queue/device_threads.h"
#include "batching/queue/queue_batch.h"
#include "batching/queue/queue_core.h"
#include "batching/queue/queue_device.h"
#include "batching/queue/scheduling.h"
#include "batching/queue/verdict.h"

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
    warprsa_queue_device *device = worker->batch.device;
    warprsa_request_chain refused = {0};
    warprsa_status status = WARPRSA_OK;
    bool loaded;

    warprsa_batch_call_begins(&worker->batch);
    loaded = warprsa_device_load_key(device, &status, &refused);
    warprsa_batch_call_ends(&worker->batch);
    if (status != WARPRSA_OK && !warprsa_device_is_blameless(status))
        warprsa_device_failed(device, status);
    warprsa_batch_give_back(device, &refused, why_no_key(status));
    /* Another worker can take the key's requests, while this one goes on to the
     * next key. */
    if (loaded)
        warprsa_eventcount_notify(&device->activity->eventcount);
    return loaded;
}

static bool may_load(warprsa_queue_device *device)
{
    return warprsa_device_has_loads(device) && warprsa_device_usable(device);
}

/* Refuses the requests that were set aside, if their keys will not be loaded
 * any more. */
static void refuse_stranded(warprsa_queue_device *device)
{
    warprsa_request_chain refused = {0};
    warprsa_cpu_reason reason = WARPRSA_CPU_ERROR;
    bool overdue;

    warprsa_device_strand(device, &overdue, &refused);
    if (overdue)
        reason = WARPRSA_CPU_DEADLINE;
    else if (atomic_load(&device->queue->board.closing))
        reason = WARPRSA_CPU_NO_DEVICE;
    warprsa_batch_give_back(device, &refused, reason);
}

/* Lets threads that wait for this CPU go first, as long as the batch would not
 * be full: they may be about to submit requests. A thread that has slept goes
 * before them otherwise, with the single request that woke it. Without such
 * threads it returns at once. */
static void let_callers_submit(const warprsa_queue_device *device)
{
    warprsa_queue *queue = device->queue;

    for (unsigned i = 0; i < YIELDS_MAX &&
                         warprsa_backlog_has(&queue->backlog, all_of(device)) &&
                         warprsa_queue_would_be_fuller(queue, device->number);
         i++)
        sched_yield();
}

/* Wipes the keys that nobody holds any more; false: the device has failed. */
static bool unload_released(warprsa_worker *worker)
{
    warprsa_status status = warprsa_device_unload_released(&worker->batch);

    if (status != WARPRSA_OK)
        warprsa_device_failed(worker->batch.device, status);
    return status == WARPRSA_OK;
}

/* Finds out who is to blame for results of a batch that failed their check. */
static void judge(const warprsa_batch *batch)
{
    warprsa_queue_device *device = batch->device;
    unsigned looked_at = 0;
    uint64_t begun_ns;
    size_t i = 0;

    while (i < batch->count && !warprsa_verdict_is_open(batch, i))
        i++;
    if (i == batch->count || !warprsa_verdict_begin(device))
        return;
    begun_ns = warprsa_thread_cpu_ns();
    for (; i < batch->count && looked_at < WARPRSA_HEALTH_WRONG_MAX; i++) {
        if (!warprsa_verdict_is_open(batch, i))
            continue;
        looked_at++;
        if (warprsa_verdict_is_device(batch, i) &&
            warprsa_device_wrong(device, batch->size))
            break;
    }
    warprsa_verdict_end(device, warprsa_thread_cpu_ns() - begun_ns);
}

/* What a batch that has ended, or missed its deadline, says of the device. */
static void tell_device(warprsa_worker *worker, warprsa_status status)
{
    warprsa_queue_device *device = worker->batch.device;

    if (status == WARPRSA_OK) {
        warprsa_device_worked(device);
        judge(&worker->batch);
    } else if (status == WARPRSA_DEADLINE) {
        warprsa_device_overdue(worker);
    } else if (!warprsa_device_is_blameless(status)) {
        warprsa_device_failed(device, status);
    }
}

/* The next batch, from taking it to its answers; false: nothing was queued. A
 * device that failed is taken out of use before them, so that the next request
 * of a caller that was refused does not go there, unless another of its threads
 * takes it at that moment, which has already checked the state. */
static bool run_batch(warprsa_worker *worker)
{
    warprsa_batch *batch = &worker->batch;
    warprsa_status status;

    if (!warprsa_batch_next(batch))
        return false;
    if (batch->count > 0) {
        status = warprsa_batch_compute(batch);
        tell_device(worker, status);
        warprsa_batch_settle(batch, status);
    }
    return true;
}

/* Does what there is to do; false: there was nothing. From inside the device. A
 * batch waits for the load of one key at most that is not its own. */
static bool work(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->batch.device;
    bool worked;

    let_callers_submit(device);
    worked = unload_released(worker) && run_batch(worker);
    for (unsigned i = 0;
         i < LOADS_AT_ONCE && may_load(device) && load_key(worker) &&
         !warprsa_backlog_has(&device->queue->backlog,
                              warprsa_batch_classes(device));
         i++)
        worked = true;
    refuse_stranded(device);
    return worked;
}

/* Whether an idle worker must not sleep. */
static bool anything_to_do(warprsa_queue_device *device)
{
    warprsa_queue *queue = device->queue;

    return atomic_load(&queue->board.closing) ||
           atomic_load(&queue->keys.unloads[device->number]) != 0 ||
           warprsa_backlog_has(&queue->backlog,
                               warprsa_batch_classes(device)) ||
           warprsa_device_has_loads(device) || !warprsa_device_usable(device);
}

/* When an idle worker looks by itself: after a deadline, or at the end of its
 * device's pause, which nobody announces. */
static uint64_t next_look(const warprsa_queue_device *device)
{
    const uint64_t now_ns = warprsa_clock_ns();
    const uint64_t paused_until_ns = atomic_load_explicit(
        &device->activity->paused_until_ns, memory_order_relaxed);
    const uint64_t until_ns =
        now_ns + device->queue->config.deadline_ms * WARPRSA_NS_PER_MS;

    return paused_until_ns > now_ns && paused_until_ns < until_ns
               ? paused_until_ns
               : until_ns;
}

/* Sleeps until there may be something to do; not from inside the device. */
static void sleep_until_notified(warprsa_queue_device *device)
{
    warprsa_queue *queue = device->queue;
    const uint64_t until_ns = next_look(device);
    uint32_t word;

    atomic_fetch_add(&device->activity->eventcount.idle, 1);
    word = warprsa_eventcount_prepare_wait(&device->activity->eventcount);
    if (!anything_to_do(device)) {
        warprsa_queue_pass_on(queue, device->number);
        warprsa_futex_wait(&device->activity->eventcount.word, word, until_ns);
        /* No notification for a whole deadline, and yet there are requests: the
         * worker that has them may hang in its driver. */
        if (atomic_load(&queue->depth) != 0 && warprsa_clock_ns() >= until_ns)
            warprsa_slots_notify_expired(&queue->slots);
    }
    atomic_fetch_sub(&device->activity->eventcount.idle, 1);
}

/* For the first worker: waits until the others of its device have been
 * started. False: they could not be. A driver takes seconds to open a device,
 * which must not be in vain in a process that may start no more threads. */
static bool others_started(warprsa_queue *queue)
{
    pthread_mutex_lock(&queue->board.lock);
    pthread_mutex_unlock(&queue->board.lock);
    return !atomic_load(&queue->board.closing);
}

/* Waits up to the deadline for the batch that missed it, so that the device can
 * be closed. */
static void wait_for_stuck_batch(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->batch.device;
    warprsa_status status =
        device->from->engine->wait(device->handle, worker->batch.stream,
                                   device->queue->config.deadline_ms);

    if (status == WARPRSA_DEADLINE)
        return;
    if (status == WARPRSA_OK)
        warprsa_device_unpin_keys(&worker->batch);
    pthread_mutex_lock(&device->lock);
    worker->stuck = false;
    device->stuck--;
    pthread_mutex_unlock(&device->lock);
}

/* The end of a thread's work; the last thread closes the device. */
static void end(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->batch.device;
    bool stuck, last;

    pthread_mutex_lock(&device->lock);
    stuck = worker->stuck;
    pthread_mutex_unlock(&device->lock);
    if (stuck)
        wait_for_stuck_batch(worker);
    pthread_mutex_lock(&device->lock);
    last = --device->threads == 0;
    stuck = device->stuck != 0;
    pthread_mutex_unlock(&device->lock);
    if (!last)
        return;
    if (!stuck)
        warprsa_device_shut(device);
    else /* The engine's close() would wait for the batch, maybe for ever. */
        warprsa_queue_trace(device->queue, 1,
                            "device %u: left open, a batch never ended",
                            device->number);
}

static void *worker_main(void *arg);

/* Starts the threads of devices that were found. */
static void use_found(warprsa_queue *queue, const warprsa_found *found)
{
    for (unsigned i = 0; i < found->count; i++) {
        warprsa_queue_device *device = &queue->devices[i];

        if ((found->devices >> i & 1) == 0)
            continue;
        warprsa_device_note_found(device);
        /* The first one has its threads already. */
        if (i == 0 || warprsa_threads_start(device, worker_main))
            continue;
        warprsa_queue_trace(queue, 1,
                            "device %u: not all of its threads started", i);
        if (!warprsa_threads_any(device))
            warprsa_device_give_up(device, "no thread could be started");
    }
}

static void discover(warprsa_queue *queue)
{
    warprsa_found found;

    warprsa_devices_discover(queue, &found);
    if ((found.devices & 1) == 0)
        warprsa_device_give_up(&queue->devices[0], found.why);
    use_found(queue, &found);
}

/* From the device's entrance to the next time. */
static void work_inside(warprsa_worker *worker)
{
    const bool worked = work(worker);

    warprsa_wipe_registers(); /* before it may sleep */
    warprsa_device_leave(worker);
    if (!worked)
        sleep_until_notified(worker->batch.device);
}

static void *worker_main(void *arg)
{
    warprsa_worker *worker = arg;
    warprsa_queue_device *device = worker->batch.device;
    warprsa_entry entry;
    char name[16];

    snprintf(name, sizeof(name), "warprsa/%u.%u", device->number % 100,
             worker->batch.stream % 1000);
    (void)pthread_setname_np(pthread_self(), name);
    if (device->number == 0 && worker->batch.stream == 0 &&
        others_started(device->queue))
        discover(device->queue);
    while ((entry = warprsa_device_enter(worker)) != WARPRSA_ENTRY_END) {
        if (entry == WARPRSA_ENTRY_STRANDED)
            refuse_stranded(device);
        else
            work_inside(worker);
    }
    /* Whichever worker ends last refuses what is left: a load under way is
     * one worker's, which ends later. */
    refuse_stranded(device);
    end(worker);
    warprsa_thread_end(worker);
    return NULL;
}

bool warprsa_workers_start(warprsa_queue *queue)
{
    return warprsa_threads_start(&queue->devices[0], worker_main);
}

void warprsa_workers_add_devices(warprsa_queue *queue)
{
    warprsa_found found;

    warprsa_devices_add(queue, &found);
    use_found(queue, &found);
}
