/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Opening the engine's device behind a device of a queue, with its tests, and
 * closing it. By the first stream's thread, without locks, while nobody is
 * inside.
 */
#ifndef WARPRSA_BATCHING_QUEUE_DEVICE_OPENING_H
#define WARPRSA_BATCHING_QUEUE_DEVICE_OPENING_H

#include "batching/queue/device_types.h"

/* Opens it, and tests the classes that were wrong when it was last in use. If
 * that fails, `why` says why in a few words. `lost` is called later, by a
 * thread of the engine's: another host may go while nobody asks it anything. */
warprsa_status warprsa_device_open(warprsa_queue_device *device,
                                   void (*lost)(void *device, const char *why),
                                   char why[WARPRSA_DEVICE_WHY]);

/* Closes it, and with it every key on it. False: these were not all wiped. */
bool warprsa_device_close(warprsa_queue_device *device);

#endif
