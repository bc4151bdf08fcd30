/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who is to blame for results that have failed their check: the device, which
 * is taken out of use if it happens again and again, or the numbers of a key,
 * whose requests no device computes from then on.
 */
#ifndef WARPRSA_BATCHING_QUEUE_VERDICT_H
#define WARPRSA_BATCHING_QUEUE_VERDICT_H

#include "batching/queue/queue_device.h"

/* Looks at the results of a batch that has ended, before it is answered. The
 * worker is inside the device. */
void warprsa_judge_results(warprsa_batch *batch);

#endif
