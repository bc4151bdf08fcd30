/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a batch that has ended tells: the counters, the trace, and those who
 * choose devices by the times that requests take.
 */
#ifndef WARPRSA_BATCHING_QUEUE_BATCH_RECORD_H
#define WARPRSA_BATCHING_QUEUE_BATCH_RECORD_H

#include "batching/queue/device_types.h"

/* `good`: the device has computed it, and its tasks have results. Before its
 * requests are answered. */
void warprsa_batch_record(const warprsa_batch *batch, bool good);

#endif
