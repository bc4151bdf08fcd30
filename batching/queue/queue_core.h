/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The core of a queue: the state that its callers and its devices' threads
 * share, and its reference count.
 *
 * Order of locks. A thread that holds one takes only what stands below it, and
 * never two of the last line:
 *
 *   warprsa_queue_device.residency_lock
 *   warprsa_queue_device.lock
 *   warprsa_device_board.lock, warprsa_backlog.turns_lock, warprsa_keys.lock
 */
#ifndef WARPRSA_BATCHING_QUEUE_QUEUE_CORE_H
#define WARPRSA_BATCHING_QUEUE_QUEUE_CORE_H

#include "batching/base/eventcount.h"
#include "batching/base/log_budget.h"
#include "batching/queue/backlog.h"
#include "batching/queue/completion_times.h"
#include "batching/queue/device_board.h"
#include "batching/queue/queue_keys.h"
#include "batching/queue/queue_types.h"
#include "batching/queue/request_pool.h"

/* What submitters need to know of a device's workers. */
typedef struct warprsa_device_activity {
    warprsa_eventcount eventcount; /* its idle workers sleep on it */
    _Atomic uint32_t running;      /* requests taken and not answered */
    _Atomic uint32_t running_of[WARPRSA_CLASSES]; /* the same, by class */
    /* CPU devices only: the fraction of a batch's time in which its thread
     * waited for a CPU, in 1/65536; averaged over batches. */
    _Atomic uint32_t waits_for_cpu;
    /* Until this time the device takes nothing while another one is ready that
     * does not pause; 0: it does not pause. */
    _Atomic uint64_t paused_until_ns;
    unsigned engine; /* its index in the configuration; set before the device is
                        counted in device_count */
} warprsa_device_activity;

struct warprsa_queue {
    warprsa_queue_config config;
    warprsa_slots slots;
    warprsa_backlog backlog;
    _Alignas(64) _Atomic uint32_t depth; /* requests not answered yet */
    _Atomic uint64_t looked_ns; /* when a tick last looked at the devices */
    warprsa_device_board board;
    _Atomic bool unlocked;       /* some keys can be swapped out; traced once */
    _Atomic uint32_t references; /* the opener's, each key's, each thread's */
    /* Without a router, beside other hosts, the CPUs and other devices are
     * chosen among by their answer times. */
    bool uses_answer_times; /* set when the queue is made */
    warprsa_answer_times times;
    warprsa_keys keys;
    warprsa_device_activity activity[WARPRSA_DEVICES_MAX];
    warprsa_log_budgets log; /* lines of the trace about an owner's keys */

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

/* In the child of a fork: gives the core's memory back. Reads only where that
 * memory is, which never changes after opening. */
void warprsa_queue_core_abandon(warprsa_queue *queue);

void warprsa_queue_reference(warprsa_queue *queue);

/* Destroys the queue with its last reference. */
void warprsa_queue_drop(warprsa_queue *queue);

/* Answers queued requests with REFUSED: all of them if no device is left, else
 * those of classes that no device takes. To be called without locks after a
 * device may have gone down. */
void warprsa_queue_refuse_if_down(warprsa_queue *queue);

/* Whether requests are to be taken in turn by owner: several owners have
 * requests, or had some until now. If false, no request is sorted. Any thread.
 */
static inline bool warprsa_queue_takes_turns(const warprsa_queue *queue)
{
    return warprsa_keys_are_shared(&queue->keys) ||
           warprsa_backlog_is_sorted(&queue->backlog);
}

/* The configuration of a device's engine. */
static inline const warprsa_queue_engine *
warprsa_queue_engine_of(const warprsa_queue *queue, unsigned device)
{
    return &queue->config.engines[queue->activity[device].engine];
}

/* Sends a line to the tracer. */
__attribute__((format(printf, 3, 4))) void
warprsa_queue_trace(const warprsa_queue *queue, int level, const char *format,
                    ...);

/* Sends a line that an owner of keys has caused, unless the owner has used up
 * its lines of this second (base/log_budget.h). */
void warprsa_queue_trace_about(warprsa_queue *queue, uint64_t owner, int level,
                               const char *line);

#endif
