/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The threads of a device: see worker.h. Each does what there is to do, again
 * and again until the queue closes.
 */
#include "batching/queue/worker.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "batching/base/clock.h"
#include "batching/base/create_thread.h"
#include "batching/base/wipe_registers.h"
#include "batching/queue/batch_selection.h"
#include "batching/queue/device_discovery.h"
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
    warprsa_queue_device *device = worker->batch.device;
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
    return warprsa_device_has_loads(worker->batch.device) &&
           warprsa_device_usable(worker->batch.device);
}

/* Refuses the requests that were set aside, if their keys will not be loaded
 * any more. */
static void refuse_stranded(warprsa_worker *worker)
{
    warprsa_request_chain refused = {0};
    warprsa_cpu_reason reason = WARPRSA_CPU_ERROR;
    bool overdue;

    warprsa_device_strand(worker->batch.device, &overdue, &refused);
    if (overdue)
        reason = WARPRSA_CPU_DEADLINE;
    else if (atomic_load(&worker->batch.device->queue->board.closing))
        reason = WARPRSA_CPU_NO_DEVICE;
    warprsa_batch_give_back(worker->batch.device, &refused, reason);
}

/* Lets threads that wait for this CPU go first, as long as the batch would not
 * be full: they may be about to submit requests. A thread that has slept goes
 * before them otherwise, with the single request that woke it. Without such
 * threads it returns at once. */
static void let_callers_submit(const warprsa_worker *worker)
{
    warprsa_queue *queue = worker->batch.device->queue;

    for (unsigned i = 0;
         i < YIELDS_MAX &&
         warprsa_backlog_has(&queue->backlog, all_of(worker->batch.device)) &&
         warprsa_queue_would_be_fuller(queue, worker->batch.device->number);
         i++)
        sched_yield();
}

/* Wipes the keys that nobody holds any more; false: the device has failed. */
static bool unload_released(warprsa_worker *worker)
{
    warprsa_status status =
        warprsa_device_unload_released(worker->batch.device);

    if (status != WARPRSA_OK)
        warprsa_device_failed(worker->batch.device, status);
    return status == WARPRSA_OK;
}

/* Does what there is to do; false: there was nothing. From inside the device.
 * A batch waits for the load of one key at most, other than its own. */
static bool work(warprsa_worker *worker)
{
    bool worked;

    let_callers_submit(worker);
    worked = unload_released(worker) && warprsa_batch_next(worker);
    for (unsigned i = 0;
         i < LOADS_AT_ONCE && may_load(worker) && load_key(worker) &&
         !warprsa_backlog_has(&worker->batch.device->queue->backlog,
                              warprsa_take_classes(worker->batch.device));
         i++)
        worked = true;
    refuse_stranded(worker);
    return worked;
}

/* Whether an idle worker must not sleep. */
static bool anything_to_do(warprsa_worker *worker)
{
    warprsa_queue *queue = worker->batch.device->queue;

    return atomic_load(&queue->board.closing) ||
           atomic_load(&queue->keys.unloads[worker->batch.device->number]) !=
               0 ||
           warprsa_backlog_has(&queue->backlog,
                               warprsa_take_classes(worker->batch.device)) ||
           warprsa_device_has_loads(worker->batch.device) ||
           !warprsa_device_usable(worker->batch.device);
}

/* Sleeps until there may be something to do; not from inside the device. */
static void sleep_until_notified(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->batch.device;
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

static bool has_threads(warprsa_queue_device *device)
{
    bool any;

    pthread_mutex_lock(&device->lock);
    any = device->threads != 0;
    pthread_mutex_unlock(&device->lock);
    return any;
}

void warprsa_workers_start_from(warprsa_queue *queue, unsigned first,
                                unsigned devices)
{
    for (unsigned i = first; i < devices; i++) {
        warprsa_queue_device *device = &queue->devices[i];

        if (warprsa_workers_start(device))
            continue;
        warprsa_queue_trace(queue, 1,
                            "device %u: not all of its threads started", i);
        if (!has_threads(device))
            warprsa_device_give_up(device, "no thread could be started");
    }
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

/* Only pthread_join() is left. */
static void note_ended(warprsa_worker *worker)
{
    pthread_mutex_lock(&worker->batch.device->lock);
    worker->ended = true;
    pthread_cond_broadcast(&worker->batch.device->changed);
    pthread_mutex_unlock(&worker->batch.device->lock);
}

static void *worker_main(void *arg)
{
    warprsa_worker *worker = arg;
    warprsa_queue *queue = worker->batch.device->queue;
    char name[16];

    snprintf(name, sizeof(name), "warprsa/%u.%u",
             worker->batch.device->number % 100, worker->batch.stream % 1000);
    (void)pthread_setname_np(pthread_self(), name);
    if (worker->batch.device->number == 0 && worker->batch.stream == 0 &&
        others_started(queue))
        warprsa_workers_start_from(queue, 1, warprsa_devices_discover(queue));
    while (warprsa_device_enter(worker)) {
        bool worked = work(worker);

        warprsa_wipe_registers(); /* before it may sleep */
        warprsa_device_leave(worker);
        if (!worked)
            sleep_until_notified(worker);
    }
    /* Whichever worker ends last refuses what is left: a load under way is
     * one worker's, which ends later. */
    refuse_stranded(worker);
    end(worker);
    warprsa_batch_free(&worker->batch);
    note_ended(worker);
    warprsa_queue_drop(queue);
    return NULL;
}

/* With the device's and the board's lock held. */
static bool start_worker(warprsa_queue_device *device, unsigned stream)
{
    warprsa_worker *worker = &device->workers[stream];
    warprsa_queue *queue = device->queue;

    if (!warprsa_batch_init(&worker->batch, device, stream,
                            device->from->batch_max))
        return false;
    warprsa_queue_reference(queue);
    device->threads++;
    worker->started =
        warprsa_create_thread(&worker->thread, worker_main, worker) == 0;
    if (worker->started)
        return true;
    device->threads--;
    warprsa_queue_drop(queue);
    warprsa_batch_free(&worker->batch);
    return false;
}

/* With the device's and the board's lock held. */
static bool start_all(warprsa_queue_device *device)
{
    unsigned streams = device->from->streams;
    bool all = true;

    device->workers = calloc(streams, sizeof(*device->workers));
    if (device->workers == NULL)
        return false;
    device->workers_count = streams;
    for (unsigned s = 0; s < streams && all; s++)
        all = !atomic_load(&device->queue->board.closing) &&
              start_worker(device, s);
    return all;
}

bool warprsa_workers_start(warprsa_queue_device *device)
{
    warprsa_queue *queue = device->queue;
    bool all;

    pthread_mutex_lock(&device->lock);
    pthread_mutex_lock(&queue->board.lock);
    all = start_all(device);
    if (!all && device->number == 0)
        atomic_store(&queue->board.closing, true);
    pthread_mutex_unlock(&queue->board.lock);
    pthread_mutex_unlock(&device->lock);
    return all;
}

/* Waits for that, until_ns at the latest (false). */
static bool wait_ended(warprsa_worker *worker, uint64_t until_ns)
{
    struct timespec until = warprsa_timespec(until_ns);
    bool ended;

    pthread_mutex_lock(&worker->batch.device->lock);
    while (!worker->ended &&
           pthread_cond_timedwait(&worker->batch.device->changed,
                                  &worker->batch.device->lock, &until) == 0)
        ;
    ended = worker->ended;
    pthread_mutex_unlock(&worker->batch.device->lock);
    return ended;
}

/* The next worker from `*stream` on that was started, and sets *stream to the
 * stream behind its; NULL: there is none. Threads are started under the same
 * lock. */
static warprsa_worker *next_started(warprsa_queue_device *device,
                                    unsigned *stream)
{
    warprsa_worker *worker = NULL;

    pthread_mutex_lock(&device->queue->board.lock);
    for (; *stream < device->workers_count && worker == NULL; (*stream)++)
        if (device->workers[*stream].started)
            worker = &device->workers[*stream];
    pthread_mutex_unlock(&device->queue->board.lock);
    return worker;
}

bool warprsa_workers_join(warprsa_queue_device *device, uint64_t until_ns)
{
    warprsa_worker *worker;
    unsigned stream = 0;
    bool ended = true;

    while ((worker = next_started(device, &stream)) != NULL) {
        if (wait_ended(worker, until_ns)) {
            pthread_join(worker->thread, NULL);
        } else {
            warprsa_queue_trace(device->queue, 1,
                                "device %u: a thread hangs, left alone",
                                device->number);
            pthread_detach(worker->thread);
            ended = false;
        }
    }
    return ended;
}
