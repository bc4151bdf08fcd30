/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which requests a worker's next batch has. As long as one owner has requests,
 * they come in the order of their arrival; those of several owners in turn, see
 * fair_queue.h.
 */
#ifndef WARPRSA_BATCHING_QUEUE_BATCH_SELECTION_H
#define WARPRSA_BATCHING_QUEUE_BATCH_SELECTION_H

#include "batching/queue/queue_device.h"

/* The classes of which the worker may take requests now. */
warprsa_class_set warprsa_take_classes(const warprsa_worker *worker);

/*
 * Takes the requests of the worker's next batch, which are all of one class
 * (*size): its items, *count of them, the first `pinned` of which have pinned
 * keys. *abandoned gets those whose callers have given up, with their
 * references to keys. *count can be 0, if that was all there were. From inside
 * the device, by the worker. False: nothing was queued.
 */
bool warprsa_take_batch(warprsa_worker *worker, warprsa_size_class *size,
                        size_t *count, warprsa_request_chain *abandoned);

#endif
