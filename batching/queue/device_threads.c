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

enum {
    /* A stream that could not be added is tried again after so long. */
    ANOTHER_AFTER_NS = 1000000000,
};

bool warprsa_threads_any(warprsa_queue_device *device)
{
    bool any;

    pthread_mutex_lock(&device->lock);
    any = device->threads != 0;
    pthread_mutex_unlock(&device->lock);
    return any;
}

/* The requests that a batch of a stream may have. */
static unsigned room_of(const warprsa_queue_device *device, unsigned stream)
{
    return stream < warprsa_first_streams(device->from)
               ? device->from->batch_max
               : warprsa_added_batch_max(device->from->batch_max);
}

/* With the device's and the board's lock held. */
static bool start_thread(warprsa_queue_device *device, unsigned stream,
                         void *(*main)(void *))
{
    warprsa_worker *worker = &device->workers[stream];
    warprsa_queue *queue = device->queue;

    if (!warprsa_batch_init(&worker->batch, device, stream,
                            room_of(device, stream)))
        return false;
    worker->ended = false;
    worker->opening = 0;
    worker->has_no_memory = false;
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
static bool start_first(warprsa_queue_device *device, void *(*main)(void *))
{
    const unsigned streams = device->from->streams;
    const unsigned first = warprsa_first_streams(device->from);
    bool all = true;

    device->workers = calloc(streams, sizeof(*device->workers));
    if (device->workers == NULL)
        return false;
    device->workers_count = streams;
    atomic_store(&device->another_ns, first < streams ? 0 : UINT64_MAX);
    for (unsigned s = 0; s < first && all; s++)
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
    all = start_first(device, main);
    if (!all && device->number == 0)
        atomic_store(&queue->board.closing, true);
    pthread_mutex_unlock(&queue->board.lock);
    pthread_mutex_unlock(&device->lock);
    return all;
}

/* With the device's and the board's lock held: a stream without a thread, of
 * which none is left. */
static bool find_free(warprsa_queue_device *device, unsigned *stream)
{
    for (unsigned s = 0; s < device->workers_count; s++) {
        warprsa_worker *worker = &device->workers[s];

        if (worker->started && !worker->ended)
            continue;
        if (worker->started)
            pthread_join(worker->thread, NULL); /* it only has to return */
        worker->started = false;
        *stream = s;
        return true;
    }
    return false;
}

void warprsa_threads_no_more(warprsa_queue_device *device, const char *why)
{
    unsigned others;

    atomic_store(&device->another_ns, warprsa_clock_ns() + ANOTHER_AFTER_NS);
    if (atomic_exchange(&device->told_fewer, true))
        return;
    pthread_mutex_lock(&device->lock);
    others = device->threads;
    pthread_mutex_unlock(&device->lock);
    warprsa_queue_trace(device->queue, 1,
                        "device %u: %s for more than %u of %u batches at once; "
                        "tried again while all are under way",
                        device->number, why, others, device->from->streams);
}

void warprsa_threads_start_another(warprsa_queue_device *device,
                                   void *(*main)(void *))
{
    warprsa_queue *queue = device->queue;
    bool started = true;
    unsigned stream;

    if (warprsa_clock_ns() < atomic_load(&device->another_ns))
        return;
    pthread_mutex_lock(&device->lock);
    pthread_mutex_lock(&queue->board.lock);
    if (atomic_load(&queue->board.closing) || !find_free(device, &stream))
        atomic_store(&device->another_ns, UINT64_MAX);
    else
        started = start_thread(device, stream, main);
    pthread_mutex_unlock(&queue->board.lock);
    pthread_mutex_unlock(&device->lock);
    if (!started)
        warprsa_threads_no_more(device, "no thread");
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
