/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who is to blame for results that have failed their check: the device, which
 * is taken out of use if it happens again and again, or the numbers of a key,
 * whose requests no device computes from then on. By the worker of a batch that
 * has ended and is not answered yet, from inside the device.
 */
#ifndef WARPRSA_BATCHING_QUEUE_VERDICT_H
#define WARPRSA_BATCHING_QUEUE_VERDICT_H

#include "batching/queue/device_types.h"

/* Whether a result is wrong, and it is still to be found out who is to blame.
 */
bool warprsa_verdict_is_open(const warprsa_batch *batch, size_t i);

/* Around finding that out for some results of a batch, which takes used_ns of a
 * CPU's time. False: it may not be done now; see device_health.h. While another
 * thread judges, this one waits: callers who are answered would ask a device
 * again that is about to go out of use. */
bool warprsa_verdict_begin(warprsa_queue_device *device);
void warprsa_verdict_end(warprsa_queue_device *device, uint64_t used_ns);

/* Finds it out. True: the device is to blame. If the key is, it is marked as
 * wrong. */
bool warprsa_verdict_is_device(const warprsa_batch *batch, size_t i);

#endif
