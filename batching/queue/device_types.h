/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a device of a queue consists of, its threads, one worker for each
 * stream, and their batches.
 */
#ifndef WARPRSA_BATCHING_QUEUE_DEVICE_TYPES_H
#define WARPRSA_BATCHING_QUEUE_DEVICE_TYPES_H

#include <pthread.h>
#include <stdbool.h>

#include "batching/queue/device_health.h"
#include "batching/queue/device_states.h"
#include "batching/queue/key_loads.h"
#include "batching/queue/queue_core.h"

typedef struct warprsa_queue_device warprsa_queue_device;

enum {
    WARPRSA_DEVICE_WHY = 256, /* room for a reason, in a few words */
};

/* A request of a worker's batch. */
typedef struct warprsa_item {
    uint32_t slot;
    warprsa_key *key;      /* one reference */
    warprsa_notify notify; /* whom to tell, once the request is answered */
} warprsa_item;

/* A batch of a device's stream: what passes from taking requests to answering
 * them. items[i] and tasks[i] are the same request. */
typedef struct warprsa_batch {
    warprsa_queue_device *device;
    unsigned stream;
    warprsa_size_class size;
    size_t count;  /* requests */
    size_t pinned; /* the keys of the first ones are in use on the device */
    warprsa_item *items;
    warprsa_task *tasks;
    /* The outputs where slots hold no more than the inputs: batch_max of
     * MODULUS_BYTES_MAX; NULL until there is such a batch. SECRET. */
    uint8_t *outputs;
    /* When its requests were taken, and when it was started. */
    uint64_t taken_ns, start_ns;
} warprsa_batch;

/* A thread, and the batch that it is working on. */
typedef struct warprsa_worker {
    warprsa_queue_device *device;
    unsigned stream;
    pthread_t thread;
    bool started; /* under the board's lock */
    bool ended;   /* under the device's lock: only pthread_join() is left */
    bool stuck;   /* its batch missed its deadline; under the same lock */
    warprsa_batch batch;
} warprsa_worker;

struct warprsa_queue_device {
    warprsa_queue *queue;
    warprsa_device_activity *activity; /* the queue's, of this device */
    const warprsa_queue_engine *from;  /* the queue's engine it is of */
    unsigned number;                   /* in the queue */
    unsigned ordinal;                  /* the engine's */
    pthread_mutex_t lock;              /* of what follows, up to last_why */
    pthread_cond_t changed; /* state, inside, ended or the queue's closing */
    warprsa_device_state state;
    warprsa_device_history history;
    warprsa_device *handle;
    unsigned inside;  /* threads inside the engine */
    unsigned stuck;   /* streams whose batch missed its deadline */
    unsigned threads; /* that have not ended */
    warprsa_device_health health;
    /* Why it could not be opened, as last traced. */
    char last_why[WARPRSA_COUNTERS_TEXT];
    /* Of where keys are, and of what is to be loaded; never held while the
     * driver works. */
    pthread_mutex_t residency_lock;
    warprsa_key_loads loads;
    /* One per stream; under the board's lock, none until they are started. */
    warprsa_worker *workers;
    unsigned workers_count;
};

/* What is counted of it; any thread. */
static inline warprsa_device_counters *
warprsa_device_counters_of(const warprsa_queue_device *device)
{
    return &device->queue->config.counters->device_of[device->number];
}

#endif
