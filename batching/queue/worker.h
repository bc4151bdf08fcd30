/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the threads of the devices do. Each wipes keys, runs batches, loads
 * keys, and, if there is nothing to do, sleeps. The first of all finds out
 * which devices there are.
 */
#ifndef WARPRSA_BATCHING_QUEUE_WORKER_H
#define WARPRSA_BATCHING_QUEUE_WORKER_H

#include "batching/queue/queue_types.h"

/* Starts the threads of the first device, as warprsa_threads_start() does. They
 * start those of the others: none of these needs to succeed, and a device that
 * gets no thread at all is given up. */
bool warprsa_workers_start(warprsa_queue *queue);

/* warprsa_queue_add_devices(). */
void warprsa_workers_add_devices(warprsa_queue *queue);

#endif
