/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The backlog: the requests that are QUEUED and have yet to be taken for a
 * batch, by size class. Submitters put them into rings, and workers take them
 * from there in the order of their arrival. While several owners have requests,
 * workers sort them out of the rings, and take them in turn (fair_queue.h).
 *
 * Any thread, unless something else is said. Which requests there are is a
 * hint: other threads put and take some at any time.
 */
#ifndef WARPRSA_BATCHING_QUEUE_BACKLOG_H
#define WARPRSA_BATCHING_QUEUE_BACKLOG_H

#include <pthread.h>

#include "batching/base/ring.h"
#include "batching/queue/fair_queue.h"

typedef struct warprsa_backlog {
    warprsa_ring ring[WARPRSA_CLASSES]; /* slots, by size class */
    /* Requests sorted out of the rings; under the lock, except for their
     * counts. */
    pthread_mutex_t turns_lock;
    warprsa_turns turns;
} warprsa_backlog;

/* Makes an empty one with room for all slots. `reached` is as in fair_queue.h.
 * False: no memory; nothing is left to be freed. */
bool warprsa_backlog_init(warprsa_backlog *backlog, warprsa_slots *slots,
                          unsigned count, _Atomic uint64_t *reached);
void warprsa_backlog_free(warprsa_backlog *backlog);

/* In the child of a fork: gives the memory back, and takes no lock. */
void warprsa_backlog_abandon(warprsa_backlog *backlog);

/* The memory of the rings, in bytes. */
size_t warprsa_backlog_bytes(const warprsa_backlog *backlog);

/* Adds a request that is QUEUED. */
static inline void warprsa_backlog_put(warprsa_backlog *backlog,
                                       warprsa_size_class size, uint32_t slot)
{
    warprsa_ring_put(&backlog->ring[size], slot);
}

/* How many requests there are of a class, and of all classes. */
static inline uint32_t warprsa_backlog_of(const warprsa_backlog *backlog,
                                          unsigned size)
{
    return warprsa_ring_count(&backlog->ring[size]) +
           atomic_load(&backlog->turns.count[size]);
}
uint32_t warprsa_backlog_count(const warprsa_backlog *backlog);

/* Whether there is a request of these classes. */
bool warprsa_backlog_has(const warprsa_backlog *backlog,
                         warprsa_class_set classes);

/* Whether some have been sorted out of the rings. */
bool warprsa_backlog_is_sorted(const warprsa_backlog *backlog);

/* Takes any request of a class. False: there is none. */
bool warprsa_backlog_take_any(warprsa_backlog *backlog, warprsa_size_class size,
                              uint32_t *slot);

#endif
