/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A batch of a device's stream: the value that passes from taking requests to
 * answering them, and its memory.
 */
#ifndef WARPRSA_BATCHING_QUEUE_BATCH_REQUESTS_H
#define WARPRSA_BATCHING_QUEUE_BATCH_REQUESTS_H

#include "batching/base/clock.h"
#include "batching/queue/device_states.h"
#include "batching/queue/queue_types.h"
#include "batching/queue/request.h"

/* A request of a batch. */
typedef struct warprsa_batch_request {
    uint32_t slot;
    warprsa_key *key;      /* one reference */
    warprsa_notify notify; /* whom to tell, once the request is answered */
} warprsa_batch_request;

typedef struct warprsa_batch {
    struct warprsa_queue_device *device;
    unsigned stream;
    unsigned room; /* requests that it may have */
    warprsa_size_class size;
    size_t count;  /* requests that it has */
    size_t pinned; /* the keys of the first ones are in use on the device */
    warprsa_batch_request *requests;
    warprsa_task *tasks; /* tasks[i] is requests[i], for the engine */
    /* The outputs where slots hold no more than the inputs: `room` of
     * MODULUS_BYTES_MAX; NULL until there is such a batch. SECRET. */
    uint8_t *outputs;
    /* When its requests were taken, and when it was started. */
    uint64_t taken_ns, start_ns;
    /* Since when its thread is in a call of the engine that may hang, for this
     * batch or between two of them; 0: it is in none. Or
     * WARPRSA_DEVICE_CALL_MAY_LAST. Read by any thread. */
    _Atomic uint64_t call_ns;
} warprsa_batch;

/* Around such a call. */
static inline void warprsa_batch_call_begins(warprsa_batch *batch)
{
    atomic_store_explicit(&batch->call_ns, warprsa_clock_ns(),
                          memory_order_relaxed);
}

/* The same, if it may take minutes. */
static inline void warprsa_batch_long_call_begins(warprsa_batch *batch)
{
    atomic_store_explicit(&batch->call_ns, WARPRSA_DEVICE_CALL_MAY_LAST,
                          memory_order_relaxed);
}

static inline void warprsa_batch_call_ends(warprsa_batch *batch)
{
    atomic_store_explicit(&batch->call_ns, 0, memory_order_relaxed);
}

/* False: no memory, and nothing is to be freed. */
bool warprsa_batch_init(warprsa_batch *batch,
                        struct warprsa_queue_device *device, unsigned stream,
                        unsigned room);
void warprsa_batch_free(warprsa_batch *batch);

/* Has outputs that their slots have no room for yet written to memory of the
 * batch's. False: there is none. */
bool warprsa_batch_place_outputs(warprsa_batch *batch,
                                 const warprsa_slots *slots);

#endif
