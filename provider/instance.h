/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a provider context has per process: the counters and the home of its
 * operations, a queue with threads and devices or a line to the daemon. Made at
 * the first private operation, never at load, and anew in a forked child.
 */
#ifndef WARPRSA_PROVIDER_INSTANCE_H
#define WARPRSA_PROVIDER_INSTANCE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "batching/backend.h"
#include "batching/base/thread_shard.h"
#include "batching/counters.h"
#include "batching/router.h"

struct warprsa_context;

typedef struct warprsa_instance {
    unsigned generation; /* of the fork it belongs to */
    warprsa_counters *counters;
    warprsa_router route; /* what it has learned */
    pthread_mutex_t lock; /* one thread opens or closes */
    atomic_int state;     /* instance.c's */
    struct warprsa_user_quota {
        _Alignas(64) atomic_uint count;
    } users[WARPRSA_THREAD_SHARDS]; /* threads between enter and leave */
    warprsa_backend backend;        /* when open */
    warprsa_cpu_reason why_closed;
    uint64_t opened_ns;
    bool hung; /* a worker was left behind in its driver */
    struct warprsa_instance *parent; /* of the forking instance, kept because
                                       keys and paused jobs point to it */
} warprsa_instance;

/* This process's, made if there is none yet; it stays the context's. NULL: no
 * memory. Any thread. */
warprsa_instance *warprsa_instance_get(struct warprsa_context *context);

/* False in a forked child for the process of its parent. */
bool warprsa_instance_is_mine(const warprsa_instance *instance);

/* Whether somebody has opened the home and nobody closed it; may change any
 * time. */
bool warprsa_instance_is_open(const warprsa_instance *instance);

/*
 * The backend, opened if need be; it stays until warprsa_instance_leave(). NULL
 * with the reason why there is none; nothing is to be left then. Between the
 * two nothing may block longer than some milliseconds: closing waits for it.
 * Any thread.
 */
const warprsa_backend *warprsa_instance_enter(struct warprsa_context *context,
                                              warprsa_instance *instance,
                                              warprsa_cpu_reason *reason);
void warprsa_instance_leave(warprsa_instance *instance);

/* Milliseconds of startup_ms that are left since the home was opened. */
unsigned warprsa_instance_startup_left(const struct warprsa_context *context,
                                       const warprsa_instance *instance);

/*
 * Closes the home of this process for good (requests in flight are answered)
 * and traces the counters, once. What belongs to a parent process is
 * forgotten. Any thread.
 */
void warprsa_instance_close(struct warprsa_context *context);

/* Closes and frees; no operation is under way and all keys are gone. False: a
 * worker hangs in its driver and may come back to the context. */
bool warprsa_instance_free(struct warprsa_context *context);

#endif
