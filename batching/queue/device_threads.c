/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Starting and joining a device's threads: see device_threads.h.
 */
#include "batching/queue/device_threads.h"

#include <stdlib.h>

#include "batching/base/clock.h"
#include "batching/base/create_thread.h"
#include "batching/queue/queue_core.h"

bool warprsa_threads_any(warprsa_queue_device *device)
{
    bool any;

    pthread_mutex_lock(&device->lock);
    any = device->threads != 0;
    pthread_mutex_unlock(&device->lock);
    return any;
}

/* With the device's and the board's lock held. */
static bool start_thread(warprsa_queue_device *device, unsigned stream,
                         void *(*main)(void *))
{
    warprsa_worker *worker = &device->workers[stream];
    warprsa_queue *queue = device->queue;

    if (!warprsa_batch_init(&worker->batch, device, stream,
                            device->from->batch_max))
        return false;
    warprsa_queue_reference(queue);
    device->threads++;
    worker->started = warprsa_create_thread(&worker->thread, main, worker) == 0;
    if (worker->started)
        return true;
    device->threads--;
    warprsa_queue_drop(queue);
    warprsa_batch_free(&worker->batch);
    return false;
}

/* With the device's and the board's lock held. */
static bool start_all(warprsa_queue_device *device, void *(*main)(void *))
{
    unsigned streams = device->from->streams;
    bool all = true;

    device->workers = calloc(streams, sizeof(*device->workers));
    if (device->workers == NULL)
        return false;
    device->workers_count = streams;
    for (unsigned s = 0; s < streams && all; s++)
        all = !atomic_load(&device->queue->board.closing) &&
              start_thread(device, s, main);
    return all;
}

bool warprsa_threads_start(warprsa_queue_device *device, void *(*main)(void *))
{
    warprsa_queue *queue = device->queue;
    bool all;

    pthread_mutex_lock(&device->lock);
    pthread_mutex_lock(&queue->board.lock);
    all = start_all(device, main);
    if (!all && device->number == 0)
        atomic_store(&queue->board.closing, true);
    pthread_mutex_unlock(&queue->board.lock);
    pthread_mutex_unlock(&device->lock);
    return all;
}

void warprsa_thread_end(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->batch.device;
    warprsa_queue *queue = device->queue;

    warprsa_batch_free(&worker->batch);
    pthread_mutex_lock(&device->lock);
    worker->ended = true;
    pthread_cond_broadcast(&device->changed);
    pthread_mutex_unlock(&device->lock);
    warprsa_queue_drop(queue);
}

/* Waits for the end of a thread. False: it had not ended by until_ns. */
static bool wait_ended(warprsa_worker *worker, uint64_t until_ns)
{
    warprsa_queue_device *device = worker->batch.device;
    struct timespec until = warprsa_timespec(until_ns);
    bool ended;

    pthread_mutex_lock(&device->lock);
    while (!worker->ended &&
           pthread_cond_timedwait(&device->changed, &device->lock, &until) == 0)
        ;
    ended = worker->ended;
    pthread_mutex_unlock(&device->lock);
    return ended;
}

/* The next worker that was started, from stream *stream on; *stream becomes the
 * one behind it. NULL: there is none. Threads are started under the same lock.
 */
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

bool warprsa_threads_join(warprsa_queue_device *device, uint64_t until_ns)
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
