/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Batches computed in the background: by a thread of SCHED_IDLE (sched(7)),
 * which runs while a CPU would be idle. For engines on the CPUs, whose start()
 * computes.
 *
 * A thread without privileges does not get back from SCHED_IDLE, and while all
 * CPUs are busy it gets some 0.3 % of one. So it computes and does nothing
 * else: it holds no lock that another thread could want, and reads and writes
 * no request. The worker that it computes for has the normal priority, can wait
 * for as long as it likes, and have another device answer instead.
 */
#ifndef WARPRSA_BATCHING_QUEUE_BACKGROUND_H
#define WARPRSA_BATCHING_QUEUE_BACKGROUND_H

#include "gpu/engine.h"

enum {
    /* Of the longest number that is not of a large class. */
    WARPRSA_BACKGROUND_BYTES = WARPRSA_MODULUS_BYTES_MAX / 2,
};

/* A thread and the batch that it computes: one at a time. */
typedef struct warprsa_background warprsa_background;

/* Whether this process may have threads of SCHED_IDLE. A child process tries
 * it: a seccomp filter may kill whoever does. To be called while the process
 * has one thread. */
bool warprsa_background_is_allowed(void);

/* Starts a thread for batches of up to batch_max tasks; `name`, of up to 15
 * bytes, is the thread's. NULL: the thread could not be started or not made one
 * of SCHED_IDLE, or there is no memory; *error is the error number. Any
 * thread. */
warprsa_background *warprsa_background_start(size_t batch_max, const char *name,
                                             int *error);

/* Waits for the batch under way, ends the thread and frees all; NULL is
 * allowed. */
void warprsa_background_stop(warprsa_background *background);

/*
 * Begins to compute a batch, as warprsa_engine.start() would, of a class that
 * is not large; none is under way. `tasks` belong to the caller, until
 * warprsa_background_wait() has returned. Their inputs and outputs have room
 * for WARPRSA_BACKGROUND_BYTES each. The device must stay open and the tasks'
 * keys loaded as long as the batch is under way. One thread at a time, for this
 * and for what follows.
 */
void warprsa_background_begin(warprsa_background *background,
                              const warprsa_engine *engine,
                              warprsa_device *device, unsigned stream,
                              warprsa_size_class size, warprsa_task *tasks,
                              size_t count);

/* Waits up to timeout_ms for the end of the batch. False: it is still under
 * way, and the tasks, which are as they were, have been forgotten. True: none
 * is, and *status is what start() or else wait() of the engine has returned; if
 * that is WARPRSA_OK and the tasks were not forgotten, they are answered. */
bool warprsa_background_wait(warprsa_background *background,
                             unsigned timeout_ms, warprsa_status *status);

#endif
