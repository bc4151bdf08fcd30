/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The threads of a device, one for each stream: starting them and waiting for
 * their end. Each wipes keys, runs batches, loads keys, and, if there is
 * nothing to do, sleeps.
 */
#ifndef WARPRSA_BATCHING_QUEUE_WORKER_H
#define WARPRSA_BATCHING_QUEUE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "batching/queue/queue_device.h"

/* Starts the threads of a device, one per stream. False: the queue is closing,
 * or not all could be started. Those that were go on, but for the first
 * device: then the queue closes, and its threads end without having touched
 * the device. */
bool warprsa_workers_start(warprsa_queue_device *device);

/* The same for the queue's devices of these numbers, first..devices - 1: none
 * of them needs to succeed. One that gets no thread at all is given up. */
void warprsa_workers_start_from(warprsa_queue *queue, unsigned first,
                                unsigned devices);

/* Joins them, until_ns (a time of warprsa_clock_ns()) at the latest. False: a
 * thread still hangs in its driver. It is left behind, and ends by itself
 * should the driver ever return. */
bool warprsa_workers_join(warprsa_queue_device *device, uint64_t until_ns);

#endif
