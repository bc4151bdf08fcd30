/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The queue from inside.
 */
#ifndef WARPRSA_QUEUE_PRIVATE_H
#define WARPRSA_QUEUE_PRIVATE_H

#include "batching/base/ring.h"
#include "batching/device.h"
#include "batching/keys.h"
#include "batching/queue.h"
#include "batching/slots.h"

struct warprsa_queue {
    warprsa_queue_config config;
    warprsa_slots slots;
    warprsa_ring queued[WARPRSA_CLASSES]; /* slots, by size class */
    _Alignas(64) _Atomic uint32_t depth;
    _Alignas(64) _Atomic uint32_t state; /* warprsa_queue_state, a futex */
    _Atomic bool closing;
    _Atomic unsigned device_count; /* devices that may come into use */
    _Atomic uint32_t references;   /* the opener's, each key's, each thread's */
    warprsa_keys keys;

    pthread_mutex_t lock; /* of what follows; no other is taken within it */
    uint32_t ready;       /* bit per entry of devices[] */
    uint32_t opening;     /* opening for the first time */
    char none[WARPRSA_COUNTERS_TEXT]; /* why no device is ready */

    warprsa_queue_device devices[WARPRSA_DEVICES_MAX];
};

void warprsa_queue_reference(warprsa_queue *queue);

/* Frees the queue with its last reference. */
void warprsa_queue_drop(warprsa_queue *queue);

/* Notes that a device has become ready; or that it is not, or no longer, and
 * why. By a worker that holds the device's lock. */
void warprsa_queue_device_up(warprsa_queue *queue, unsigned device);
void warprsa_queue_device_down(warprsa_queue *queue, unsigned device,
                               const char *why);

/* If no device is left: answers all that is queued with REFUSED. To be called
 * without locks after the queue may have gone down. */
void warprsa_queue_refuse_if_down(warprsa_queue *queue);

/* Whether any request is queued. */
bool warprsa_queue_empty(warprsa_queue *queue);

/* Arms the eventcounts of devices with idle workers, and rings them at once if
 * there is work: by a worker that goes to do something else. */
void warprsa_queue_rearm_idle(warprsa_queue *queue);

/* Wakes all idle workers. */
void warprsa_queue_wake_all(warprsa_queue *queue);

/* How many requests a batch of this device may have, so that others with
 * nothing to do get their share. */
uint32_t warprsa_queue_share(warprsa_queue *queue,
                             const warprsa_queue_device *device);

/* Sends a line to the tracer. */
__attribute__((format(printf, 3, 4))) void
warprsa_queue_trace(const warprsa_queue *queue, int level, const char *format,
                    ...);

#endif
