/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A worker's batches, one after another: it takes requests, makes tasks of
 * them, has the device compute these, counts how long that took, and answers.
 */
#ifndef WARPRSA_BATCHING_QUEUE_QUEUE_BATCH_H
#define WARPRSA_BATCHING_QUEUE_QUEUE_BATCH_H

#include "batching/queue/queue_device.h"

/* Room for a worker's batches; false: no memory, and nothing is to be freed. */
bool warprsa_batch_init(warprsa_worker *worker);
void warprsa_batch_free(warprsa_worker *worker);

/* One batch, answered when this returns; none, if the keys of all that was
 * queued have yet to be loaded. From inside the device, by the worker. False:
 * nothing was queued. */
bool warprsa_batch_next(warprsa_worker *worker);

#endif
