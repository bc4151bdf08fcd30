/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which devices there are: the entries of a queue are given to what its engines
 * have.
 */
#ifndef WARPRSA_BATCHING_QUEUE_DEVICE_DISCOVERY_H
#define WARPRSA_BATCHING_QUEUE_DEVICE_DISCOVERY_H

#include "batching/queue/queue_device.h"

/*
 * Asks the engines how many devices there are and gives them to the queue's
 * entries; by the first worker of all. Entry 0 is the first engine's, whether
 * that has a device or not, since the threads of this entry have been started
 * already. Returns how many entries there are; those with a device are OPENING.
 */
unsigned warprsa_devices_discover(warprsa_queue *queue);

/* Gives the queue's next entries to the devices that engines whose devices come
 * and go have more than before. Returns how many entries there are now; those
 * that are new are OPENING. Once the devices have been discovered. */
unsigned warprsa_devices_add(warprsa_queue *queue);

#endif
