/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a device of a queue consists of, and its threads, one worker for each
 * stream.
 */
#ifndef WARPRSA_BATCHING_QUEUE_DEVICE_TYPES_H
#define WARPRSA_BATCHING_QUEUE_DEVICE_TYPES_H

#include <pthread.h>
#include <stdbool.h>

#include "batching/queue/batch_requests.h"
#include "batching/queue/counters.h"
#include "batching/queue/device_health.h"
#include "batching/queue/device_states.h"

typedef struct warprsa_queue_device warprsa_queue_device;

enum {
    WARPRSA_DEVICE_WHY = 256, /* room for a reason, in a few words */
};

/* A thread, and the batch that it is working on. */
typedef struct warprsa_worker {
    pthread_t thread;
    bool started; /* under the board's lock */
    bool ended;   /* under the device's lock: only pthread_join() is left */
    /* Its batch missed its deadline, or it hung in a call of the engine, and
     * its stream has yet to be idle; under the same lock. */
    bool stuck;
    warprsa_batch batch; /* its device and stream are the thread's */
} warprsa_worker;

struct warprsa_queue_device {
    warprsa_queue *queue;
    struct warprsa_device_activity *activity; /* the queue's, of this device */
    warprsa_device_counters *counters; /* what is counted of this device */
    const warprsa_queue_engine *from;  /* configuration of its engine */
    unsigned number;                   /* in the queue */
    unsigned ordinal;                  /* the engine's */
    pthread_mutex_t lock;   /* protects what follows, up to last_why */
    pthread_cond_t changed; /* state, inside, ended or the queue's closing */
    warprsa_device_state state;
    warprsa_device_history history;
    warprsa_device *handle;
    unsigned inside;  /* threads inside the engine */
    unsigned stuck;   /* workers that are */
    unsigned threads; /* that have not ended */
    warprsa_device_health health;
    /* Why it was lost while it was last opened; empty: it was not. */
    char left_why[WARPRSA_DEVICE_WHY];
    /* Why it could not be opened, as last traced. */
    char last_why[WARPRSA_COUNTERS_TEXT];
    /* Protects key residency and pending loads; never held while the driver
     * works. */
    pthread_mutex_t residency_lock;
    struct warprsa_key_loads *loads; /* the keys that it has yet to load */
    /* One per stream, none until they are started; set under the board's lock
     * and `lock`, read under one of them. */
    warprsa_worker *workers;
    unsigned workers_count;
};

#endif
