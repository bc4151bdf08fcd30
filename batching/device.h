/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One device of a queue and the threads that work it, one per stream: when it
 * may be used, and how it comes back after it has failed.
 *
 *   ABSENT   not known yet whether there is one
 *   OPENING  the first stream's thread opens it
 *   READY    in use
 *   SUSPECT  a batch missed its deadline; out of use until the streams of such
 *            batches are idle again and the known-answer test has passed
 *   LOST     failed, or failed its test; closed and opened again once no
 *            thread is inside the engine
 *   GONE     there is none; its threads end
 */
#ifndef WARPRSA_BATCHING_DEVICE_H
#define WARPRSA_BATCHING_DEVICE_H

#include <pthread.h>
#include <stdbool.h>

#include "batching/key_loads.h"
#include "batching/queue_core.h"

typedef struct warprsa_queue_device warprsa_queue_device;

/* A request of a worker's batch. */
typedef struct warprsa_item {
    uint32_t slot;
    warprsa_key *key;      /* one reference */
    warprsa_notify notify; /* whom to tell, once the request is answered */
} warprsa_item;

/* A thread and what it needs for a batch. */
typedef struct warprsa_worker {
    warprsa_queue_device *device;
    unsigned stream;
    pthread_t thread;
    bool started; /* under the queue's lock */
    bool ended;   /* under the device's lock: only pthread_join() is left */
    bool stuck;   /* its batch missed its deadline; under the same lock */
    /* The batch being worked on: items[i] and tasks[i] are the same request.
     * The keys of the first `pinned` are in use on the device. */
    size_t pinned;
    warprsa_item *items;
    warprsa_task *tasks;
    /* The outputs of a batch whose slots hold no more than the inputs:
     * batch_max of MODULUS_BYTES_MAX; NULL until there is one. SECRET. */
    uint8_t *outputs;
} warprsa_worker;

struct warprsa_queue_device {
    warprsa_queue *queue;
    warprsa_device_activity *activity; /* the queue's, of this device */
    const warprsa_queue_engine *from;  /* the queue's engine it is of */
    unsigned number;                   /* in the queue */
    unsigned ordinal;                  /* the engine's */
    pthread_mutex_t lock;              /* of what follows, up to last_why */
    pthread_cond_t changed; /* state, inside, ended or the queue's closing */
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
    unsigned stuck;    /* streams whose batch missed its deadline */
    unsigned threads;  /* that have not ended */
    unsigned failures; /* since a batch last succeeded */
    bool was_in_use;
    bool reopening_failed; /* the last time, after it was in use */
    uint64_t out_ns;       /* when it was last taken out of use */
    uint64_t opening_ns;   /* since when it is being opened; 0: it is not */
    /* Why it could not be opened, as last traced. */
    char last_why[WARPRSA_COUNTERS_TEXT];
    /* Of where keys are, and of what is to be loaded; never held while the
     * driver works. */
    pthread_mutex_t residency_lock;
    warprsa_key_loads loads;
    /* One per stream; under the queue's lock, none until they are started. */
    warprsa_worker *workers;
    unsigned workers_count;
};

/* Makes an entry ABSENT; false: no memory. */
bool warprsa_device_init(warprsa_queue_device *device, warprsa_queue *queue,
                         unsigned number);
void warprsa_device_destroy(warprsa_queue_device *device);

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

/* None of its threads could be started. */
void warprsa_device_give_up(warprsa_queue_device *device, const char *why);

/*
 * Waits until the device is READY, opening or testing it if that is this
 * thread's job, and goes inside: from here to warprsa_device_leave() the
 * device is not closed. False: the thread has to end.
 */
bool warprsa_device_enter(warprsa_worker *worker);
void warprsa_device_leave(warprsa_worker *worker);

/* Whether it is READY. If not, its threads must call warprsa_device_enter() to
 * bring it back. */
bool warprsa_device_usable(warprsa_worker *worker);

/* From inside: the batch of this stream missed its deadline; the device has
 * failed. Counted once per loss, however many threads notice. */
void warprsa_device_overdue(warprsa_worker *worker);
void warprsa_device_failed(warprsa_worker *worker, warprsa_status status);

/* Whether it was in use, and this process can't bring it back: see
 * warprsa_queue_has_lost_device(). Any thread. */
bool warprsa_device_is_lost(warprsa_queue_device *device);

/* From inside: a batch came back. */
void warprsa_device_worked(warprsa_worker *worker);

/*
 * Around the preparation of a batch, from inside. In between,
 * warprsa_device_pin_key() gives the device's index of a key that stays there
 * until warprsa_device_unpin_keys(); false: it is not there.
 * warprsa_device_pinned_key() gives that of a key that is pinned.
 * warprsa_device_set_aside() has an item wait until its key is there; false:
 * its owner has too many such already.
 */
void warprsa_device_lock_keys(warprsa_worker *worker);
bool warprsa_device_pin_key(warprsa_worker *worker, warprsa_key *key,
                            uint32_t *index);
uint32_t warprsa_device_pinned_key(const warprsa_worker *worker,
                                   const warprsa_key *key);
bool warprsa_device_set_aside(warprsa_worker *worker, const warprsa_item *item,
                              uint64_t now_ns);
void warprsa_device_unlock_keys(warprsa_worker *worker);

/* The batch has ended, its keys are no longer in use. Must come before its
 * requests drop their references to the keys. Not for a batch that has missed
 * its deadline, which may still read them. */
void warprsa_device_unpin_keys(warprsa_worker *worker);

/*
 * Loads one of the keys that requests were set aside for, evicting others if
 * there is no room. From inside. Returns false if there was none to load, or
 * another worker is at it. Else, if it failed, *status says why, and *refused
 * gets the requests that waited for it. WARPRSA_NO_MEMORY: no room, and no key
 * that may be evicted. In any case *refused also gets requests that their
 * callers have given up; a key that only such wait for is not loaded.
 */
bool warprsa_device_load_key(warprsa_worker *worker, warprsa_status *status,
                             warprsa_request_chain *refused);

/* Whether there is a key to be loaded, or a request for whose key this was
 * done, that no worker has begun with. */
bool warprsa_device_has_loads(const warprsa_queue_device *device);

/* After each batch and load, and when a thread ends: if a key has been loading
 * for longer than the deadline, the device has failed, and *overdue is set. If
 * it is not READY, or the queue is closing, *refused gets the requests that
 * were set aside; not those of a key being loaded. */
void warprsa_device_strand(warprsa_worker *worker, bool *overdue,
                           warprsa_request_chain *refused);

/* Unloads the keys that lost their last reference. From inside. False: one
 * could not be wiped, and the device has failed. */
bool warprsa_device_unload_released(warprsa_worker *worker);

/* The end of a thread's work; the last thread closes the device. */
void warprsa_device_end(warprsa_worker *worker);

/* The thread has ended; waiting for that, until_ns at the latest (false). */
void warprsa_device_ended(warprsa_worker *worker);
bool warprsa_device_wait_ended(warprsa_worker *worker, uint64_t until_ns);

/* For the thread that closes the queue: makes the device's threads look at the
 * queue's state. */
void warprsa_device_wake(warprsa_queue_device *device);

#endif
