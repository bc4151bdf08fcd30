/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The way of a batch, which passes from one file to the next and is all that
 * they share: requests are taken (batch_selection) and their keys pinned
 * (device_keys), the device computes, the results are judged (verdict), what
 * was not computed goes on to another device (failover), and the rest is
 * answered (completion). None of these files knows another one.
 */
#ifndef WARPRSA_BATCHING_QUEUE_QUEUE_BATCH_H
#define WARPRSA_BATCHING_QUEUE_QUEUE_BATCH_H

#include "batching/queue/queue_device.h"

/* One batch, answered when this returns; none, if the keys of all that was
 * queued have yet to be loaded. From inside the device, by the worker. False:
 * nothing was queued. */
bool warprsa_batch_next(warprsa_worker *worker);

/* Gives the requests of a chain to another device, or refuses them. The
 * worker's batch may be in use meanwhile: it may have missed its deadline. */
void warprsa_batch_give_back(warprsa_queue_device *device,
                             warprsa_request_chain *chain,
                             warprsa_cpu_reason reason);

#endif
