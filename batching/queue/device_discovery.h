/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which devices there are: the entries of a queue are given to what its engines
 * have.
 */
#ifndef WARPRSA_BATCHING_QUEUE_DEVICE_DISCOVERY_H
#define WARPRSA_BATCHING_QUEUE_DEVICE_DISCOVERY_H

#include "batching/queue/device_types.h"

typedef struct warprsa_found {
    unsigned count;   /* the queue's entries */
    uint32_t devices; /* bit per entry: it has been given a device */
    char why[WARPRSA_DEVICE_WHY]; /* why entry 0 has not */
} warprsa_found;

/* Asks the engines how many devices there are and gives them to the queue's
 * entries; by the first worker of all. Entry 0 is the first engine's, whether
 * that has a device or not, since the threads of this entry have been started
 * already. */
void warprsa_devices_discover(warprsa_queue *queue, warprsa_found *found);

/* Gives the queue's next entries to the devices that engines whose devices come
 * and go have more than before. Once the devices have been discovered. */
void warprsa_devices_add(warprsa_queue *queue, warprsa_found *found);

#endif
