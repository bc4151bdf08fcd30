/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One thread that makes operations: its orders and its results.
 */
#ifndef WARPRSA_LOAD_WORKER_H
#define WARPRSA_LOAD_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "bench/load/arrivals.h"
#include "bench/load/histogram.h"
#include "bench/load/operation.h"

/* The times of one measurement, the same for all threads, by the clock of
 * batching/base/clock.h. */
typedef struct load_window {
    pthread_barrier_t barrier; /* threads are ready; times are set */
    uint64_t begin_ns;         /* of the warm-up */
    uint64_t start_ns, end_ns; /* of what is measured */
    uint64_t give_up_ns;       /* operations under way then are lost */
} load_window;

typedef struct load_worker {
    pthread_t thread;
    const load_options *options;
    load_window *window;
    unsigned index, threads;
    unsigned jobs;    /* under way at once; 1 if blocking */
    double rate;      /* of all threads together; 0: closed loop */
    load_maker maker; /* its owner inits and clears it */
    load_arrivals arrivals;
    /* Read by others while the thread runs. */
    _Atomic uint64_t completed, failed;
    _Atomic uint64_t verify_ns; /* CPU time, in the window */
    /* After it has ended. */
    uint64_t started, verified, wrong, lost, unstarted;
    unsigned until_verified;
    bool broken;            /* could not work at all: the reason was printed */
    load_histogram latency; /* of operations due in the window, in ns */
} load_worker;

/* Waits until all threads are ready, then sets up the arrivals. */
void load_worker_begin(load_worker *worker);

/* Whether an operation is due at now_ns, and if so from when its latency
 * counts. False from the end of the window on. */
bool load_worker_due(load_worker *worker, uint64_t now_ns, uint64_t *due_ns);

/* Records an operation that has ended: counts it, and verifies some. */
void load_worker_finish(load_worker *worker, const load_operation *operation,
                        uint64_t due_ns);

/* To be called at the end: operations that were due before the end of the
 * window and have not started are counted with the time they have waited. */
void load_worker_end(load_worker *worker);

/* The functions of the two kinds of threads. `arg` is the load_worker. */
void *load_async_thread(void *arg);
void *load_blocking_thread(void *arg);

#endif
