/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How a device's thread answers requests that it has taken, computed or
 * refused: drops their references to keys and tells their callers. Afterwards
 * they are no longer the thread's.
 */
#ifndef WARPRSA_BATCHING_QUEUE_COMPLETION_H
#define WARPRSA_BATCHING_QUEUE_COMPLETION_H

#include "batching/queue/device_types.h"

/* Answers a batch that was computed, each request as its task went. */
void warprsa_answer_batch(warprsa_batch *batch);

/* Refuses the requests of a batch. */
void warprsa_refuse_batch(warprsa_batch *batch, warprsa_cpu_reason reason);

/* Refuses one request. */
void warprsa_refuse_request(warprsa_queue_device *device,
                            warprsa_batch_request request,
                            warprsa_cpu_reason reason);

#endif
