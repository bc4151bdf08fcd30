/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The core of a queue: the state that its callers and its devices' threads
 * share, and its reference count.
 *
 * Order of the queue's files. Each includes only what stands before it:
 *
 *   base/, gpu/engine.h       primitives; the contract with the engines
 *   counters, probe, router   what happened; on the CPU or on a device
 *   answer_times              which device answers sooner
 *   background, starvation    batches by a thread of SCHED_IDLE; its pauses
 *   queue_types.h             the types that callers see
 *   slot.h, slots             the request slots
 *   turns                     those of several owners, in turn
 *   keys                      the private keys
 *   key_loads                 those that a device has yet to load
 *   queue_core                this file
 *   device                    one device: open, use, recover
 *   take                      the requests of its next batch
 *   failover                  from one host to another
 *   answer                    what callers are told
 *   batch                     from taking requests to answering them
 *   work                      what a thread of a device has to do
 *   worker                    the threads of a device
 *   queue                     opens and closes all that; the callers' side
 *   backend.h, backend_local  the queue behind a table of functions
 *
 * Order of locks. A thread that holds one takes only what stands below it, and
 * never two of the last line:
 *
 *   warprsa_queue_device.residency_lock
 *   warprsa_queue_device.lock
 *   warprsa_queue.lock, warprsa_queue.turns_lock, warprsa_keys.lock
 */
#ifndef WARPRSA_BATCHING_QUEUE_CORE_H
#define WARPRSA_BATCHING_QUEUE_CORE_H

#include "batching/answer_times.h"
#include "batching/base/eventcount.h"
#include "batching/base/ring.h"
#include "batching/keys.h"
#include "batching/queue_types.h"
#include "batching/slots.h"
#include "batching/starvation.h"

/* What submitters need to know of a device's workers. */
typedef struct warprsa_device_activity {
    warprsa_eventcount eventcount; /* its idle workers sleep on it */
    _Atomic uint32_t running;      /* requests taken and not answered */
    /* Of CPUs: the part of a batch's time in which its thread waited for a CPU,
     * of 65536; averaged over batches. */
    _Atomic uint32_t waits_for_cpu;
    /* Until then it takes nothing, as long as another device that is not paused
     * is ready; 0: it does. */
    _Atomic uint64_t paused_until_ns;
    warprsa_starvation starvation; /* of CPUs in the background */
    unsigned engine; /* its index in the configuration; set before the device is
                        counted in device_count */
} warprsa_device_activity;

struct warprsa_queue {
    warprsa_queue_config config;
    warprsa_slots slots;
    warprsa_ring queued[WARPRSA_CLASSES]; /* slots, by size class */
    _Alignas(64) _Atomic uint32_t depth;  /* requests not answered yet */
    _Alignas(64) _Atomic uint32_t state;  /* warprsa_queue_state, a futex */
    _Atomic bool closing;
    /* Whether the ready devices are CPUs alone. */
    _Atomic bool on_cpus;
    /* How many size classes some ready device takes, and how many some ready
     * device other than the CPUs. */
    _Atomic unsigned classes, others_classes;
    _Atomic unsigned device_count; /* devices that may come into use */
    _Atomic uint32_t references;   /* the opener's, each key's, each thread's */
    _Atomic uint32_t ready; /* bit per device: takes requests; changed under the
                               lock */
    uint32_t helping; /* the same of those in the background, which are not
                         `ready`; under the lock */
    warprsa_answer_times times; /* without a router, beside other hosts */
    warprsa_answer_times background_times; /* of CPUs in the background, and of
                                              those whom they help */
    warprsa_keys keys;
    warprsa_device_activity activity[WARPRSA_DEVICES_MAX];
    /* Requests taken from the rings while several owners had some. */
    pthread_mutex_t turns_lock;
    warprsa_turns turns;

    pthread_mutex_t lock; /* of what follows, and of starting threads */
    uint32_t opening;     /* bit per device: being opened for the first time */
    char description[WARPRSA_DEVICES_MAX][WARPRSA_COUNTERS_TEXT];
    char down_reason[WARPRSA_COUNTERS_TEXT]; /* why no device is ready */

    /* Set by warprsa_queue_open(). The core does not look into either. */
    struct warprsa_queue_device *devices;  /* WARPRSA_DEVICES_MAX of them */
    void (*destroy)(warprsa_queue *queue); /* with the last reference */
};

/* Makes the core of an allocated queue, all of its bytes zero, with one
 * reference. False: no memory; nothing is left to be freed. */
bool warprsa_queue_core_init(warprsa_queue *queue,
                             const warprsa_queue_config *config,
                             const warprsa_keys_callbacks *callbacks);
void warprsa_queue_core_free(warprsa_queue *queue);

/* In the child of a fork: gives back the core's memory, and uses only what
 * never changes after opening: where that memory is. */
void warprsa_queue_core_abandon(warprsa_queue *queue);

void warprsa_queue_reference(warprsa_queue *queue);

/* Destroys the queue with its last reference. */
void warprsa_queue_drop(warprsa_queue *queue);

/* Takes no more requests from now on, and lets callers and threads see it. */
void warprsa_queue_set_closing(warprsa_queue *queue);

/* The engines have found devices, those of these bits, which are now opened:
 * all of them have numbers below `count`. */
void warprsa_queue_devices_found(warprsa_queue *queue, uint32_t devices,
                                 unsigned count);

/* Notes that a device has become ready, with its description; or that it is
 * not, or no longer, and why. By a worker that holds the device's lock. */
void warprsa_queue_device_up(warprsa_queue *queue, unsigned device,
                             const char *description);
void warprsa_queue_device_down(warprsa_queue *queue, unsigned device,
                               const char *why);

/* If no device is left, or none that takes some of the classes: answers what is
 * queued for it with REFUSED. To be called without locks after a device may
 * have gone down. */
void warprsa_queue_refuse_if_down(warprsa_queue *queue);

/* A batch of CPUs has taken cpu_ns of CPU time and elapsed_ns by the clock. By
 * its worker; a race loses a measurement. */
void warprsa_queue_note_cpu_time(warprsa_queue *queue, unsigned device,
                                 uint64_t cpu_ns, uint64_t elapsed_ns);

/* Whether a batch of this device would gain by more requests: less is queued
 * than it can have, and one that is not full takes the CPU for as long as a
 * full one. Never of GPUs. */
bool warprsa_queue_would_be_fuller(warprsa_queue *queue, unsigned device);

/* A thread of CPUs in the background has found no CPU for its batch: the device
 * pauses. By its workers. */
void warprsa_queue_note_starved(warprsa_queue *queue, unsigned device);

/* Whether a device other than this one takes requests of this class. */
bool warprsa_queue_has_another(const warprsa_queue *queue, unsigned device,
                               warprsa_size_class size);

/* The classes of which a worker of this device may take requests now. Of the
 * classes that other devices take, too, the CPUs take none, for callers need
 * them; or, beside other hosts, those that they are expected to answer sooner.
 * In the background they take these while the others are saturated. While
 * threads of CPUs have to wait for one, a batch that would not be full waits
 * for the end of another one; and while a device is busy, one with fewer
 * requests than its engine's granularity. */
warprsa_class_set warprsa_queue_takes_now(warprsa_queue *queue,
                                          unsigned device);

/* A batch of this device has answered requests of this class at now_ns:
 * response_ns after they were submitted, batch_ns after it was started. */
void warprsa_queue_note_answer(warprsa_queue *queue, unsigned device,
                               warprsa_size_class size, uint64_t response_ns,
                               uint64_t batch_ns, uint64_t now_ns);

/* Whether a request of these classes is queued. */
bool warprsa_queue_has(warprsa_queue *queue, warprsa_class_set classes);

/* Whether requests are to be taken in turn by owner: several have some, or had
 * some until now. If not, warprsa_queue.turns is empty. Any thread. */
bool warprsa_queue_takes_turns(warprsa_queue *queue);

/* Moves what is in the rings to warprsa_queue.turns; with the turns_lock held.
 * True: there was something. Then other workers may have seen it nowhere for a
 * moment: without the lock, warprsa_queue_rearm_idle() and
 * warprsa_queue_refuse_if_down() are to be called. */
bool warprsa_queue_sort_turns(warprsa_queue *queue);

/* After queueing a request of this class: wakes an idle worker that may take
 * it: of the CPUs if they are expected to answer it sooner, else of the first
 * engine that has one, and there of the device with the least to do. */
void warprsa_queue_notify_idle(warprsa_queue *queue, warprsa_size_class size);

/* By a worker of this device that is about to sleep, and has armed the
 * eventcount: wakes others for what is queued. CPUs may have been woken for a
 * request that they would not answer sooner any more. */
void warprsa_queue_pass_on(warprsa_queue *queue, unsigned device);

/* Makes devices with idle workers ready to be notified again, and wakes one at
 * once if there is work: by a worker that goes to do something else. */
void warprsa_queue_rearm_idle(warprsa_queue *queue);

/* Wakes all idle workers. */
void warprsa_queue_wake_all(warprsa_queue *queue);

/* How many requests of a class a batch of this device may have, so that idle
 * devices of the same engine get their share. */
uint32_t warprsa_queue_share(warprsa_queue *queue, unsigned device,
                             warprsa_size_class size);

/* Sends a line to the tracer. */
__attribute__((format(printf, 3, 4))) void
warprsa_queue_trace(const warprsa_queue *queue, int level, const char *format,
                    ...);

#endif
