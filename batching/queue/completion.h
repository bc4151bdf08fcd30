/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How a device's thread answers requests: computed or refused, with their
 * references to keys dropped, their callers told, and counted. All by the
 * worker itself; a request must be the worker's, and no longer is.
 */
#ifndef WARPRSA_BATCHING_QUEUE_COMPLETION_H
#define WARPRSA_BATCHING_QUEUE_COMPLETION_H

#include "batching/queue/queue_device.h"

/* Answers the first `count` items, a batch that was computed, each as its task
 * went. Those that another device may have better luck with go there. */
void warprsa_answer_batch(warprsa_worker *worker, size_t count);

/* Refuses the first `count` items. */
void warprsa_answer_refused_items(warprsa_worker *worker, size_t count,
                                  warprsa_cpu_reason reason);

/* Refuses one request. */
void warprsa_answer_refused(warprsa_worker *worker, warprsa_item item,
                            warprsa_cpu_reason reason);

/* Gives the requests of a chain to another device, or refuses them. The
 * worker's items may be in use meanwhile, by a batch that missed its
 * deadline. */
void warprsa_answer_chain(warprsa_worker *worker, warprsa_request_chain *chain,
                          warprsa_cpu_reason reason);

#endif
