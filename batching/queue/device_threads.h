/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The threads of a device, one for each stream: starting them and waiting for
 * their end. What they do is their starter's function; worker.h has it.
 */
#ifndef WARPRSA_BATCHING_QUEUE_DEVICE_THREADS_H
#define WARPRSA_BATCHING_QUEUE_DEVICE_THREADS_H

#include "batching/queue/device_types.h"

/* Starts the threads of a device: main() gets the warprsa_worker of one stream.
 * False: the queue is closing, or not all could be started. Those that were go
 * on, but for the first device: then the queue closes, and its threads end
 * without having touched the device. */
bool warprsa_threads_start(warprsa_queue_device *device, void *(*main)(void *));

/* Whether some of them have not ended. */
bool warprsa_threads_any(warprsa_queue_device *device);

/* What a thread calls last, but for returning: only pthread_join() is left. */
void warprsa_thread_end(warprsa_worker *worker);

/* Joins them, until_ns (a time of warprsa_clock_ns()) at the latest. False: a
 * thread still hangs in its driver. It is left behind, and ends by itself
 * should the driver ever return. */
bool warprsa_threads_join(warprsa_queue_device *device, uint64_t until_ns);

#endif
