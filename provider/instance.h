/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a provider context has in one process: the counters, and the backend of
 * its operations. A backend is a queue with threads and devices, or a
 * connection to the daemon. It is opened at the first private operation that
 * wants it, never at load; a forked child makes an instance of its own.
 */
#ifndef WARPRSA_PROVIDER_INSTANCE_H
#define WARPRSA_PROVIDER_INSTANCE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "batching/base/thread_shard.h"
#include "batching/queue/backend.h"
#include "batching/queue/counters.h"
#include "batching/queue/router.h"
#include "provider/context.h"
#include "provider/random.h"

/* The number of a shard's threads between enter and leave. Each shard has a
 * cache line, so that callers don't take it from each other. */
typedef struct warprsa_instance_callers {
    _Alignas(64) atomic_uint count;
} warprsa_instance_callers;

typedef struct warprsa_instance {
    unsigned generation; /* warprsa_fork_generation() of its process */
    warprsa_counters *counters;
    warprsa_random *random; /* of the workers; NULL: not opened, or none */
    warprsa_router router;  /* what it has measured */
    pthread_mutex_t lock;   /* one thread opens or closes */
    atomic_int state;       /* instance.c's */
    warprsa_instance_callers callers[WARPRSA_THREAD_SHARDS];
    warprsa_backend backend; /* while open */
    _Atomic(warprsa_cpu_reason) closed_reason;
    uint64_t opened_ns;
    bool hung; /* a worker was left behind in its driver, or a caller */
    /* The instance of the process that forked this process; kept because keys
     * and paused jobs point to it. */
    struct warprsa_instance *parent;
} warprsa_instance;

/* This process's instance, made if there is none yet; the context owns it.
 * NULL: no memory. Any thread. */
warprsa_instance *warprsa_instance_get(warprsa_context *context);

/* False in a forked child for an instance of its parent. Any thread. */
bool warprsa_instance_is_mine(const warprsa_instance *instance);

/* Whether the backend is open. Another thread may change that at any time. */
bool warprsa_instance_is_open(const warprsa_instance *instance);

/*
 * Returns the backend, opened if need be; it stays open until the caller calls
 * warprsa_instance_leave(). NULL: there is none, *reason says why, and the
 * caller must not call leave. Between enter and leave a caller may not block
 * for longer than some milliseconds, as closing waits for it. Any thread.
 */
const warprsa_backend *warprsa_instance_enter(warprsa_context *context,
                                              warprsa_instance *instance,
                                              warprsa_cpu_reason *reason);
void warprsa_instance_leave(warprsa_instance *instance);

/* Milliseconds of startup_ms that are left, counted from the time the backend
 * was opened. Any thread. */
unsigned warprsa_instance_startup_left(const warprsa_context *context,
                                       const warprsa_instance *instance);

/*
 * Closes the backend of this process for good and traces the counters once.
 * Requests in flight are answered first. Does nothing to an instance of a
 * parent process. Any thread.
 */
void warprsa_instance_close(warprsa_context *context);

/* Closes and frees all instances. No operation is under way, and all keys are
 * gone. False: a worker hangs in its driver and may still use the context,
 * which must not be freed then. One thread. */
bool warprsa_instance_free(warprsa_context *context);

#endif
