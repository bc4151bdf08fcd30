/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which requests the next batch of a stream has. Requests of one owner come in
 * the order of their arrival, and those of several owners in turn, see
 * fair_queue.h.
 */
#ifndef WARPRSA_BATCHING_QUEUE_BATCH_SELECTION_H
#define WARPRSA_BATCHING_QUEUE_BATCH_SELECTION_H

#include "batching/queue/backlog.h"
#include "batching/queue/device_types.h"

/* How many requests of a class the next batch of a device may have: asked once
 * the class has been chosen. */
typedef uint32_t (*warprsa_batch_limit)(warprsa_queue *queue, unsigned device,
                                        warprsa_size_class size);

/* What comes of taking requests, beside the batch; zeros to begin with. */
typedef struct warprsa_taken {
    /* Requests whose callers have given up, with their references to keys. */
    warprsa_request_chain abandoned;
    /* Requests were sorted by owner, which other workers may have seen nowhere
     * for a moment. */
    bool sorted;
} warprsa_taken;

/* Sorts what is in the rings by owner; with the turns_lock held. False: there
 * was nothing. */
bool warprsa_sort_by_owner(warprsa_backlog *backlog);

/*
 * Takes the requests of the next batch, which are all of one of these classes;
 * the first `pinned` of them have pinned keys. If all had been given up, the
 * batch is empty. From inside the device, by the worker. False: nothing was
 * queued.
 */
bool warprsa_take_batch(warprsa_batch *batch, warprsa_class_set classes,
                        warprsa_batch_limit limit, warprsa_taken *taken);

#endif
