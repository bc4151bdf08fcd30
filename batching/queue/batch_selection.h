/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which requests the next batch of a stream has. As long as one owner has
 * requests, they come in the order of their arrival; those of several owners in
 * turn, see fair_queue.h.
 */
#ifndef WARPRSA_BATCHING_QUEUE_BATCH_SELECTION_H
#define WARPRSA_BATCHING_QUEUE_BATCH_SELECTION_H

#include "batching/queue/backlog.h"
#include "batching/queue/device_types.h"

/* The classes of which a worker of the device may take requests now. */
warprsa_class_set warprsa_take_classes(const warprsa_queue_device *device);

/* Sorts what is in the rings by owner; with the turns_lock held. True: there
 * was something, which other workers may have seen nowhere for a moment. */
bool warprsa_sort_by_owner(warprsa_backlog *backlog);

/*
 * Takes the requests of the next batch, which are all of one class; the first
 * `pinned` of them have pinned keys. *abandoned gets those whose callers have
 * given up, with their references to keys. There can be none left, if that was
 * all there were. From inside the device, by the worker. False: nothing was
 * queued.
 */
bool warprsa_take_batch(warprsa_batch *batch, warprsa_request_chain *abandoned);

#endif
