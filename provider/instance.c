/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The life of an instance: made, opened by the first caller that needs its
 * backend, closed, and given up in a forked child.
 */
#include "provider/instance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/err.h>

#include "batching/base/cancellation.h"
#include "batching/base/clock.h"
#include "batching/base/usable_cpus.h"
#include "batching/daemon/client/client.h"
#include "batching/queue/queue.h"
#include "provider/backend_local.h"

enum {
    NOT_OPENED,
    OPEN,
    REFUSED, /* opening has failed; closed_reason says why */
    CLOSED,
};

enum {
    CALLERS_NAPS = 10000, /* of a millisecond: far longer than they may stay */
};

/* Frees an instance that was never opened, or is closed. */
static void instance_delete(warprsa_instance *instance)
{
    warprsa_random_free(instance->random);
    warprsa_counters_free(instance->counters);
    pthread_mutex_destroy(&instance->lock);
    free(instance);
}

static warprsa_instance *instance_new(const warprsa_context *context)
{
    warprsa_instance *instance =
        aligned_alloc(_Alignof(warprsa_instance), sizeof(*instance));

    if (instance == NULL)
        return NULL;
    memset(instance, 0, sizeof(*instance));
    instance->counters = warprsa_counters_new();
    if (instance->counters == NULL ||
        pthread_mutex_init(&instance->lock, NULL) != 0) {
        warprsa_counters_free(instance->counters);
        free(instance);
        return NULL;
    }
    warprsa_counters_set_device(instance->counters,
                                context->config.route == WARPRSA_ROUTE_CPU
                                    ? "route = cpu"
                                : context->config.route == WARPRSA_ROUTE_AUTO
                                    ? "none yet: route = auto leaves few "
                                      "operations at a time to OpenSSL, and "
                                      "has opened no device so far"
                                    : "none yet: no device opened so far");
    instance->generation = warprsa_fork_generation();
    warprsa_router_init(&instance->router, &warprsa_router_system_clocks,
                        warprsa_usable_cpus());
    return instance;
}

bool warprsa_instance_is_mine(const warprsa_instance *instance)
{
    return instance->generation == warprsa_fork_generation();
}

bool warprsa_instance_is_open(const warprsa_instance *instance)
{
    return atomic_load_explicit(&instance->state, memory_order_relaxed) == OPEN;
}

/* In a forked child: gives up its copy of the parent's backend and counters. */
static void abandon(warprsa_instance *instance)
{
    if (atomic_load(&instance->state) == OPEN)
        instance->backend.ops->abandon(instance->backend.impl);
    warprsa_random_free(instance->random);
    warprsa_counters_free(instance->counters);
    instance->backend = (warprsa_backend){0};
    instance->random = NULL;
    instance->counters = NULL;
    atomic_store(&instance->state, CLOSED);
}

/* Makes the first instance of this process. `old`: NULL or the parent's
 * instance. */
static warprsa_instance *make_instance(warprsa_context *context,
                                       warprsa_instance *old)
{
    warprsa_instance *mine = instance_new(context);

    if (mine == NULL)
        return NULL;
    mine->parent = old;
    if (atomic_compare_exchange_strong(&context->instance, &old, mine)) {
        if (mine->parent != NULL)
            abandon(mine->parent);
        return mine;
    }
    instance_delete(mine); /* another thread has set one in between */
    return old;
}

warprsa_instance *warprsa_instance_get(warprsa_context *context)
{
    warprsa_instance *old =
        atomic_load_explicit(&context->instance, memory_order_acquire);
    int cancellation;

    if (old != NULL && warprsa_instance_is_mine(old))
        return old;
    cancellation = warprsa_cancellation_off();
    old = make_instance(context, old);
    warprsa_cancellation_restore(cancellation);
    return old;
}

/* NULL: the trace is off, so no line is formatted. */
static warprsa_trace_fn tracer(const warprsa_context *context)
{
    return context->trace.fd >= 0 ? warprsa_trace_line : NULL;
}

/* Opens a queue in this process. NULL: it failed, and `reason` and `why` say
 * why. */
static void *open_queue(warprsa_context *context, warprsa_instance *instance,
                        warprsa_router *router, warprsa_cpu_reason *reason,
                        char *why, size_t why_size)
{
    const warprsa_config *config = &context->config;
    const warprsa_engines_wanted engines = {
        .engine = (warprsa_engine_choice)config->engine,
        .devices = config->devices,
        .streams = config->streams,
        .batch_max = config->batch_max,
        .cpu_threads = config->cpu_threads,
    };
    warprsa_queue_config wanted = {
        .slots = config->slots,
        .keys_max = config->keys_max,
        .deadline_ms = config->deadline_ms,
        .calibration_file = config->calibration_file,
        .direct_table_reads = config->table_reads == WARPRSA_TABLE_READS_DIRECT,
        .random = warprsa_random_bytes,
        .trace = tracer(context),
        .trace_arg = &context->trace,
        .device_opened = warprsa_exit_first,
        .counters = instance->counters,
        .router = router,
    };

    ERR_set_mark();
    instance->random = warprsa_random_new(context->libctx);
    ERR_pop_to_mark();
    if (instance->random == NULL) {
        snprintf(why, why_size, "no random numbers");
        return NULL;
    }
    wanted.random_arg = instance->random;
    if (warprsa_engines_choose(&engines, &wanted, why, why_size))
        return warprsa_queue_open(&wanted, reason, why, why_size);
    *reason = WARPRSA_CPU_NO_DEVICE;
    return NULL;
}

/* Opens the client of the daemon. NULL: no memory. */
static void *open_client(warprsa_context *context,
                         const warprsa_instance *instance,
                         warprsa_router *router)
{
    const warprsa_client_config wanted = {
        .control_connection = &context->control_connection,
        .slots = context->config.slots,
        .deadline_ms = context->config.deadline_ms,
        .trace = tracer(context),
        .trace_arg = &context->trace,
        .counters = instance->counters,
        .router = router,
    };

    return warprsa_client_open(&wanted);
}

/* Opens the backend, with instance->lock held. */
static void open_backend(warprsa_context *context, warprsa_instance *instance)
{
    const warprsa_config *config = &context->config;
    bool daemon = config->mode == WARPRSA_MODE_DAEMON;
    warprsa_router *router =
        config->route == WARPRSA_ROUTE_AUTO ? &instance->router : NULL;
    warprsa_cpu_reason reason = WARPRSA_CPU_ERROR;
    char why[200] = "no memory";

    instance->opened_ns = warprsa_clock_ns();
    instance->backend.ops =
        daemon ? &warprsa_backend_daemon : &warprsa_backend_local;
    instance->backend.impl = daemon ? open_client(context, instance, router)
                                    : open_queue(context, instance, router,
                                                 &reason, why, sizeof(why));
    if (instance->backend.impl == NULL) {
        instance->closed_reason = reason;
        warprsa_counters_set_device(instance->counters, why);
        warprsa_trace_printf(&context->trace, 1,
                             "operations run on the CPU: %s", why);
    }
    atomic_store_explicit(&instance->state,
                          instance->backend.impl == NULL ? REFUSED : OPEN,
                          memory_order_release);
    warprsa_router_devices_opened(&instance->router);
}

const warprsa_backend *warprsa_instance_enter(warprsa_context *context,
                                              warprsa_instance *instance,
                                              warprsa_cpu_reason *reason)
{
    if (atomic_load_explicit(&instance->state, memory_order_acquire) ==
        NOT_OPENED) {
        pthread_mutex_lock(&instance->lock);
        if (atomic_load(&instance->state) == NOT_OPENED)
            open_backend(context, instance);
        pthread_mutex_unlock(&instance->lock);
    }
    /* Either this thread reads CLOSED or close() reads its count: each of them
     * writes before it reads, and all four accesses are in one total order. */
    atomic_fetch_add(&instance->callers[warprsa_thread_shard()].count, 1);
    if (atomic_load(&instance->state) == OPEN)
        return &instance->backend;
    *reason = instance->closed_reason;
    warprsa_instance_leave(instance);
    return NULL;
}

void warprsa_instance_leave(warprsa_instance *instance)
{
    atomic_fetch_sub_explicit(&instance->callers[warprsa_thread_shard()].count,
                              1, memory_order_release);
}

unsigned warprsa_instance_startup_left(const warprsa_context *context,
                                       const warprsa_instance *instance)
{
    uint64_t spent_ms = (warprsa_clock_ns() - instance->opened_ns) / 1000000;

    return spent_ms >= context->config.startup_ms
               ? 0
               : context->config.startup_ms - (unsigned)spent_ms;
}

static void trace_counters(warprsa_context *context,
                           const warprsa_instance *instance)
{
    static const char head[] = "counters: ";
    const size_t size = sizeof(head) + WARPRSA_COUNTERS_LINE;
    size_t length = sizeof(head) - 1;
    char *line = malloc(size); /* too much for a small stack */

    if (line == NULL)
        return;
    memcpy(line, head, length);
    warprsa_counters_format(instance->counters, line + length, size - length);
    warprsa_trace_line(&context->trace, 1, line);
    free(line);
}

/* Waits until no thread is between enter and leave. False: a thread is still
 * there after many naps in which it could have run. It will never leave: a
 * signal handler has taken it away by longjmp(), or the thread has ended
 * there. */
static bool callers_have_left(const warprsa_instance *instance)
{
    static const struct timespec nap = {0, WARPRSA_NS_PER_MS};
    unsigned naps = 0;

    for (unsigned i = 0; i < WARPRSA_THREAD_SHARDS; i++)
        while (atomic_load(&instance->callers[i].count) != 0) {
            if (++naps > CALLERS_NAPS)
                return false;
            nanosleep(&nap, NULL);
        }
    return true;
}

void warprsa_instance_close(warprsa_context *context)
{
    warprsa_instance *instance = atomic_load(&context->instance);
    int state = CLOSED;

    if (instance == NULL || !warprsa_instance_is_mine(instance))
        return;
    pthread_mutex_lock(&instance->lock);
    state = atomic_load(&instance->state);
    if (state != REFUSED)
        instance->closed_reason = WARPRSA_CPU_ERROR;
    atomic_store(&instance->state, CLOSED);
    if (state == OPEN)
        instance->hung = !callers_have_left(instance) ||
                         !instance->backend.ops->close(instance->backend.impl);
    if (state != CLOSED)
        trace_counters(context, instance);
    pthread_mutex_unlock(&instance->lock);
}

bool warprsa_instance_free(warprsa_context *context)
{
    warprsa_instance *instance = NULL;

    warprsa_instance_close(context);
    instance = atomic_load(&context->instance);
    if (instance != NULL && instance->hung)
        return false;
    atomic_store(&context->instance, NULL);
    while (instance != NULL) {
        warprsa_instance *parent = instance->parent;

        if (warprsa_instance_is_mine(instance)) {
            instance_delete(instance);
        } else {
            if (instance->counters != NULL)
                abandon(instance);
            free(instance); /* the lock may be held by a parent's thread */
        }
        instance = parent;
    }
    return true;
}
