/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The way of a batch, which passes from one file to the next and is all that
 * they share: requests are taken (batch_selection) and their keys pinned
 * (device_keys), the device computes and that is recorded (batch_record), what
 * was not computed goes on to another device (failover), and the rest is
 * answered (completion). None of these files knows another one. Before the
 * answer the worker tells the device what its results say of it.
 */
#ifndef WARPRSA_BATCHING_QUEUE_QUEUE_BATCH_H
#define WARPRSA_BATCHING_QUEUE_QUEUE_BATCH_H

#include "batching/queue/device_types.h"
#include "batching/queue/fair_queue.h"

/* The classes whose requests a batch of the device may have now. */
warprsa_class_set warprsa_batch_classes(const warprsa_queue_device *device);

/*
 * The next batch of a stream, by its worker, from inside the device, in this
 * order: its requests are taken, which may leave none if the keys of all that
 * was queued have yet to be loaded (false: nothing was queued); one that has
 * some is computed; and its requests are answered, as that ended.
 */
bool warprsa_batch_next(warprsa_batch *batch);
warprsa_status warprsa_batch_compute(warprsa_batch *batch);
void warprsa_batch_settle(warprsa_batch *batch, warprsa_status status);

/* Gives the requests of a chain to another device, or refuses them. The
 * worker's batch may be in use meanwhile: it may have missed its deadline. */
void warprsa_batch_give_back(warprsa_queue_device *device,
                             warprsa_request_chain *chain,
                             warprsa_cpu_reason reason);

#endif
