/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The board: what callers and other threads may know of a queue's devices,
 * without a lock. Whether some are ready, which size classes these take, and
 * whether they are the CPUs. A worker writes it when its device comes into use
 * or goes out of use, and the counters show it. What follows from the devices
 * is a function of facts, warprsa_board_sum_up().
 */
#ifndef WARPRSA_BATCHING_QUEUE_DEVICE_BOARD_H
#define WARPRSA_BATCHING_QUEUE_DEVICE_BOARD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "batching/queue/counters.h"
#include "batching/queue/queue_types.h"
#include "batching/queue/router_rules.h"

/* Bit i stands for device i. */
typedef struct warprsa_board_facts {
    uint32_t ready;   /* take requests */
    uint32_t opening; /* are being opened for the first time */
    uint32_t on_cpus; /* are CPUs of this machine */
    unsigned classes[WARPRSA_DEVICES_MAX]; /* that each of them takes */
    bool closing;                          /* the queue is */
} warprsa_board_facts;

typedef struct warprsa_board_summary {
    warprsa_queue_state state;
    /* How many size classes the ready devices take, and how many those that are
     * not the CPUs. */
    unsigned classes, others_classes;
    warprsa_router_cpus cpus; /* among the ready devices */
} warprsa_board_summary;

warprsa_board_summary warprsa_board_sum_up(const warprsa_board_facts *facts);

/* Gets each summary, one after the other, just before callers see it. With the
 * board's lock held: must take no lock. */
typedef void (*warprsa_board_listener)(void *arg,
                                       const warprsa_board_summary *summary);

typedef struct warprsa_device_board {
    _Alignas(64) _Atomic uint32_t state; /* warprsa_queue_state, a futex */
    _Atomic bool closing;
    _Atomic bool on_cpus; /* the ready devices are CPUs alone */
    /* As in the summary; `classes` of the devices that were ready last. */
    _Atomic unsigned classes, others_classes;
    _Atomic unsigned device_count; /* devices that may come into use */
    _Atomic uint32_t ready; /* bit per device: takes requests; changed under the
                               lock */
    warprsa_counters *counters;
    warprsa_board_listener listener;
    void *listener_arg;

    pthread_mutex_t lock; /* of what follows, and of starting threads */
    warprsa_board_facts facts;
    char description[WARPRSA_DEVICES_MAX][WARPRSA_COUNTERS_TEXT];
    char down_reason[WARPRSA_COUNTERS_TEXT]; /* why no device is ready */
} warprsa_device_board;

/* Makes a board out of zeros. Its first device is being opened. False: no
 * memory. What it points to outlives it. */
bool warprsa_board_init(warprsa_device_board *board, warprsa_counters *counters,
                        warprsa_board_listener listener, void *listener_arg);
void warprsa_board_free(warprsa_device_board *board);

/* The queue takes no more requests. */
void warprsa_board_set_closing(warprsa_device_board *board);

/* The engines have found the devices of these bits, which are now opened. Their
 * numbers are below `count`. */
void warprsa_board_found(warprsa_device_board *board, uint32_t devices,
                         unsigned count);

/* A device of this engine is ready, and how it is described; or it is not
 * ready, and why. By a worker that holds the device's lock. */
void warprsa_board_up(warprsa_device_board *board, unsigned device,
                      const warprsa_queue_engine *from,
                      const char *description);
void warprsa_board_down(warprsa_device_board *board, unsigned device,
                        const char *why);

#endif
