/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One device of a queue and the threads that work it, one per stream: when it
 * may be used, and how it comes back after it has failed.
 *
 *   ABSENT   not known yet whether there is one
 *   OPENING  the first stream's thread opens it
 *   READY    in use
 *   SUSPECT  a batch missed its deadline; out of use until the streams that
 *            did are idle again and the known-answer test has passed
 *   LOST     failed, or failed its test; closed and opened again once no
 *            thread is inside the engine
 *   GONE     there is none; its threads end
 */
#ifndef WARPRSA_DEVICE_H
#define WARPRSA_DEVICE_H

#include <pthread.h>
#include <stdbool.h>

#include "batching/base/eventcount.h"
#include "batching/keys.h"
#include "batching/queue.h"

typedef struct warprsa_queue_device warprsa_queue_device;

/* A request in a worker's hand. */
typedef struct warprsa_item {
    uint32_t slot;
    warprsa_key *key;
} warprsa_item;

/* A thread and what it needs for a batch. */
typedef struct warprsa_worker {
    warprsa_queue_device *device;
    unsigned stream;
    pthread_t thread;
    bool started; /* under the queue's lock */
    bool ended;   /* under the device's: only pthread_join() is left */
    /* Of the batch in hand, entry by entry; the keys of the first `pinned` are
     * in use on the device. */
    size_t pinned;
    warprsa_item *items;
    warprsa_task *tasks;
} warprsa_worker;

struct warprsa_queue_device {
    warprsa_queue *queue;
    unsigned number;  /* in devices[] */
    unsigned ordinal; /* the engine's */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* state, inside or the queue's closing */
    enum warprsa_device_state {
        WARPRSA_DEVICE_ABSENT,
        WARPRSA_DEVICE_OPENING,
        WARPRSA_DEVICE_READY,
        WARPRSA_DEVICE_SUSPECT,
        WARPRSA_DEVICE_LOST,
        WARPRSA_DEVICE_GONE,
    } state;
    warprsa_device *handle;
    unsigned inside;   /* threads inside the engine */
    uint32_t stuck;    /* bit per stream whose batch missed its deadline */
    unsigned threads;  /* that have not ended */
    unsigned failures; /* since a batch last succeeded */
    char text[WARPRSA_COUNTERS_TEXT];
    char last_why[WARPRSA_COUNTERS_TEXT]; /* it was not opened, as traced */
    /* One key is loaded at a time. Held while the driver works, so whoever
     * waits for it does so no longer than the deadline. */
    pthread_mutex_t load;
    /* Of where keys are; never while the driver works. Taken within `load`
     * and before `lock`. */
    pthread_mutex_t residency_lock;
    struct warprsa_key_residency_list unused;
    warprsa_eventcount eventcount; /* of its idle workers */
    _Atomic uint32_t running;      /* requests taken and not answered */
    warprsa_worker workers[WARPRSA_STREAMS_MAX];
};

/* Makes an entry ABSENT; false: no memory. */
bool warprsa_device_init(warprsa_queue_device *device, warprsa_queue *queue,
                         unsigned number);
void warprsa_device_destroy(warprsa_queue_device *device);

/* Asks the engine what there is and hands it out to the queue's entries, from
 * the first one on; returns how many. By the first worker of all. */
unsigned warprsa_devices_discover(warprsa_queue *queue);

/* Waits until the device is READY, bringing it there if that is this thread's
 * job, and goes inside. False: the thread has to end. */
bool warprsa_device_enter(warprsa_worker *worker);
void warprsa_device_leave(warprsa_worker *worker);

/* Whether it is READY: one that is not wants its threads' attention. */
bool warprsa_device_usable(warprsa_worker *worker);

/* From inside: the batch of this stream missed its deadline; the device has
 * failed. Counted once per loss, however many threads notice. */
void warprsa_device_overdue(warprsa_worker *worker);
void warprsa_device_failed(warprsa_worker *worker, warprsa_status status);

/* From inside: a batch came back. */
void warprsa_device_worked(warprsa_worker *worker);

/*
 * Around the preparation of a batch, which gets each key's index from
 * warprsa_device_pin_key(): loaded first if need be, in the place of the one used
 * longest ago if there is no other, and pinned. WARPRSA_NO_MEMORY: all others
 * are in use. WARPRSA_DEADLINE: another thread hangs in the driver with a key.
 * From inside.
 */
void warprsa_device_lock_keys(warprsa_worker *worker);
warprsa_status warprsa_device_pin_key(warprsa_worker *worker, warprsa_key *key,
                                      uint32_t *index);
void warprsa_device_unlock_keys(warprsa_worker *worker);

/* The batch has ended, its keys are no longer in use; before its requests give
 * their references back. Not for one that has missed its deadline. */
void warprsa_device_unpin_keys(warprsa_worker *worker);

/* Unloads the keys released since. From inside. */
void warprsa_device_unload_released(warprsa_worker *worker);

/* The end of a thread's work; the last of its device closes that. */
void warprsa_device_end(warprsa_worker *worker);

/* Tells whoever waits that a thread has ended; and waits for that, until_ns at
 * the latest. */
void warprsa_device_ended(warprsa_worker *worker);
bool warprsa_device_wait_ended(warprsa_worker *worker, uint64_t until_ns);

/* For the thread that closes the queue: sees that its threads look. */
void warprsa_device_wake(warprsa_queue_device *device);

#endif
