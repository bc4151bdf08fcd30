/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The threads of a device: see worker.h. Each does what there is to do, again
 * and again until the queue closes.
 */
#include "batching/queue/worker.h"

#include <stdio.h>
#include <stdlib.h>

#include "batching/base/create_thread.h"
#include "batching/base/wipe_registers.h"
#include "batching/queue/device_discovery.h"
#include "batching/queue/device_keys.h"
#include "batching/queue/device_opening.h"
#include "batching/queue/queue_batch.h"
#include "batching/queue/worker_loop.h"

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
    pthread_mutex_lock(&queue->lock);
    pthread_mutex_unlock(&queue->lock);
    return !atomic_load(&queue->closing);
}

/* Waits up to the deadline for the batch that missed it, so that the device can
 * be closed. */
static void wait_for_stuck_batch(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->device;
    warprsa_status status = device->from->engine->wait(
        device->handle, worker->stream, device->queue->config.deadline_ms);

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
    warprsa_queue_device *device = worker->device;
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
        warprsa_device_close(device);
    else /* The engine's close() would wait for the batch, maybe for ever. */
        warprsa_queue_trace(device->queue, 1,
                            "device %u: left open, a batch never ended",
                            device->number);
}

/* Only pthread_join() is left. */
static void note_ended(warprsa_worker *worker)
{
    pthread_mutex_lock(&worker->device->lock);
    worker->ended = true;
    pthread_cond_broadcast(&worker->device->changed);
    pthread_mutex_unlock(&worker->device->lock);
}

static void *worker_main(void *arg)
{
    warprsa_worker *worker = arg;
    warprsa_queue *queue = worker->device->queue;
    char name[16];

    snprintf(name, sizeof(name), "warprsa/%u.%u", worker->device->number % 100,
             worker->stream % 1000);
    (void)pthread_setname_np(pthread_self(), name);
    if (worker->device->number == 0 && worker->stream == 0 &&
        others_started(queue))
        warprsa_workers_start_from(queue, 1, warprsa_devices_discover(queue));
    while (warprsa_device_enter(worker)) {
        bool worked = warprsa_work(worker);

        warprsa_wipe_registers(); /* before it may sleep */
        warprsa_device_leave(worker);
        if (!worked)
            warprsa_work_sleep(worker);
    }
    /* Whichever worker ends last refuses what is left: a load under way is
     * one worker's, which ends later. */
    warprsa_work_refuse_stranded(worker);
    end(worker);
    warprsa_batch_free(&worker->batch);
    note_ended(worker);
    warprsa_queue_drop(queue);
    return NULL;
}

/* With the queue's and the device's lock held. */
static bool start_worker(warprsa_worker *worker)
{
    warprsa_queue *queue = worker->device->queue;

    if (!warprsa_batch_init(&worker->batch, worker->device, worker->stream))
        return false;
    warprsa_queue_reference(queue);
    worker->device->threads++;
    worker->started =
        warprsa_create_thread(&worker->thread, worker_main, worker) == 0;
    if (worker->started)
        return true;
    worker->device->threads--;
    warprsa_queue_drop(queue);
    warprsa_batch_free(&worker->batch);
    return false;
}

/* With the queue's and the device's lock held. */
static bool start_all(warprsa_queue_device *device)
{
    unsigned streams = device->from->streams;
    bool all = true;

    device->workers = calloc(streams, sizeof(*device->workers));
    if (device->workers == NULL)
        return false;
    device->workers_count = streams;
    for (unsigned s = 0; s < streams && all; s++) {
        device->workers[s].device = device;
        device->workers[s].stream = s;
        all = !atomic_load(&device->queue->closing) &&
              start_worker(&device->workers[s]);
    }
    return all;
}

bool warprsa_workers_start(warprsa_queue_device *device)
{
    warprsa_queue *queue = device->queue;
    bool all;

    pthread_mutex_lock(&device->lock);
    pthread_mutex_lock(&queue->lock);
    all = start_all(device);
    if (!all && device->number == 0)
        atomic_store(&queue->closing, true);
    pthread_mutex_unlock(&queue->lock);
    pthread_mutex_unlock(&device->lock);
    return all;
}

/* Waits for that, until_ns at the latest (false). */
static bool wait_ended(warprsa_worker *worker, uint64_t until_ns)
{
    struct timespec until = warprsa_timespec(until_ns);
    bool ended;

    pthread_mutex_lock(&worker->device->lock);
    while (!worker->ended &&
           pthread_cond_timedwait(&worker->device->changed,
                                  &worker->device->lock, &until) == 0)
        ;
    ended = worker->ended;
    pthread_mutex_unlock(&worker->device->lock);
    return ended;
}

/* The next worker from `*stream` on that was started, and sets *stream to the
 * stream behind its; NULL: there is none. Threads are started under the same
 * lock. */
static warprsa_worker *next_started(warprsa_queue_device *device,
                                    unsigned *stream)
{
    warprsa_worker *worker = NULL;

    pthread_mutex_lock(&device->queue->lock);
    for (; *stream < device->workers_count && worker == NULL; (*stream)++)
        if (device->workers[*stream].started)
            worker = &device->workers[*stream];
    pthread_mutex_unlock(&device->queue->lock);
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
