/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The threads of the devices.
 */
#ifndef WARPRSA_WORKER_H
#define WARPRSA_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "batching/device.h"

/* Starts the threads of a device. False when any can't be had: those that
 * were started go on. Not once the queue is closing. */
bool warprsa_workers_start(warprsa_queue_device *device);

/* Joins them, each until_ns at the latest; one that hangs in its driver is
 * left alone, to end by itself if ever. False: that was so. */
bool warprsa_workers_join(warprsa_queue_device *device, uint64_t until_ns);

#endif
