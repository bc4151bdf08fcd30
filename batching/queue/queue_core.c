/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The core of a queue: see queue_core.h.
 */
#include "batching/queue/queue_core.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "batching/base/clock.h"
#include "batching/queue/router.h"

enum {
    TRACE_LINE = 512,
};

/* Both number the same devices. */
_Static_assert((int)WARPRSA_COUNTERS_DEVICES == (int)WARPRSA_DEVICES_MAX,
               "each device of a queue has its counters");

void warprsa_queue_trace(const warprsa_queue *queue, int level,
                         const char *format, ...)
{
    char line[TRACE_LINE];
    va_list args;

    if (queue->config.trace == NULL)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    queue->config.trace(queue->config.trace_arg, level, line);
}

/* As the log of the daemon names its users. */
static void name_owner(uint64_t owner, char *text, size_t size)
{
    if (owner == WARPRSA_OWNER_SELF)
        snprintf(text, size, "this process");
    else if (owner == WARPRSA_LOG_OTHER_USERS)
        snprintf(text, size, "other users");
    else if (owner == WARPRSA_LOG_OTHER_IDENTITIES)
        snprintf(text, size, "other identities");
    else if (owner <= UINT32_MAX)
        snprintf(text, size, "user %llu", (unsigned long long)owner);
    else
        snprintf(text, size, "identity %llu", (unsigned long long)owner);
}

void warprsa_queue_trace_left_out(warprsa_queue *queue)
{
    const uint64_t now_ns = warprsa_clock_ns();
    uint64_t owner, lines;
    char name[32];

    while (warprsa_log_budgets_left_out(&queue->log, now_ns, &owner, &lines)) {
        name_owner(owner, name, sizeof(name));
        warprsa_queue_trace(queue, 1,
                            "%llu lines about keys of %s were left out",
                            (unsigned long long)lines, name);
    }
}

void warprsa_queue_trace_about(warprsa_queue *queue, uint64_t owner, int level,
                               const char *line)
{
    char name[32];

    warprsa_queue_trace_left_out(queue);
    if (!warprsa_log_budgets_take(&queue->log, owner, warprsa_clock_ns()))
        return;
    name_owner(owner, name, sizeof(name));
    warprsa_queue_trace(queue, level, "%s: %s", name, line);
}

static bool init_locks(warprsa_queue *queue)
{
    if (pthread_mutex_init(&queue->lock, NULL) != 0)
        return false;
    if (warprsa_log_budgets_init(&queue->log, WARPRSA_LOG_LINES_A_SECOND))
        return true;
    pthread_mutex_destroy(&queue->lock);
    return false;
}

static void free_locks(warprsa_queue *queue)
{
    warprsa_log_budgets_free(&queue->log);
    pthread_mutex_destroy(&queue->lock);
}

bool warprsa_queue_core_init(warprsa_queue *queue,
                             const warprsa_queue_config *config,
                             const warprsa_keys_callbacks *callbacks)
{
    queue->config = *config;
    atomic_store(&queue->references, 1);
    atomic_store(&queue->state, WARPRSA_QUEUE_STARTING);
    queue->opening = 1;
    if (!warprsa_backlog_init(&queue->backlog, &queue->slots, config->slots,
                              &queue->keys.reached))
        return false;
    if (init_locks(queue)) {
        if (warprsa_keys_init(&queue->keys, config->keys_max, callbacks)) {
            if (warprsa_slots_init(&queue->slots, config->slots,
                                   config->deadline_ms))
                return true;
            warprsa_keys_free(&queue->keys);
        }
        free_locks(queue);
    }
    warprsa_backlog_free(&queue->backlog);
    return false;
}

void warprsa_queue_core_free(warprsa_queue *queue)
{
    warprsa_slots_free(&queue->slots);
    warprsa_keys_free(&queue->keys);
    free_locks(queue);
    warprsa_backlog_free(&queue->backlog);
}

void warprsa_queue_core_abandon(warprsa_queue *queue)
{
    warprsa_slots_free(&queue->slots);
    warprsa_backlog_abandon(&queue->backlog);
    warprsa_keys_abandon(&queue->keys);
}

void warprsa_queue_reference(warprsa_queue *queue)
{
    atomic_fetch_add_explicit(&queue->references, 1, memory_order_relaxed);
}

void warprsa_queue_drop(warprsa_queue *queue)
{
    if (atomic_fetch_sub_explicit(&queue->references, 1,
                                  memory_order_acq_rel) == 1)
        queue->destroy(queue);
}

/* With the lock held. */
static void count_ready(const warprsa_queue *queue)
{
    warprsa_counters *counters = queue->config.counters;
    const uint32_t ready = atomic_load(&queue->ready);

    atomic_store_explicit(&counters->devices,
                          (uint64_t)__builtin_popcount(ready),
                          memory_order_relaxed);
    for (unsigned i = 0; i < WARPRSA_COUNTERS_DEVICES; i++)
        atomic_store_explicit(&counters->device_of[i].ready, (ready >> i) & 1,
                              memory_order_relaxed);
}

/* With the lock held. */
static void publish_kinds(warprsa_queue *queue)
{
    const uint32_t ready = atomic_load(&queue->ready);
    uint32_t cpus = 0;
    unsigned of_cpus = 0, of_others = 0;

    for (unsigned i = 0; i < WARPRSA_DEVICES_MAX; i++) {
        const warprsa_queue_engine *from =
            &queue->config.engines[queue->activity[i].engine];
        unsigned *classes = from->on_cpus ? &of_cpus : &of_others;

        if ((ready >> i & 1) == 0)
            continue;
        if (from->on_cpus)
            cpus |= UINT32_C(1) << i;
        if (from->engine->classes > *classes)
            *classes = from->engine->classes;
    }
    atomic_store(&queue->others_classes, of_others);
    atomic_store(&queue->classes, of_cpus > of_others ? of_cpus : of_others);
    atomic_store(&queue->on_cpus, cpus != 0 && ready == cpus);
    if (queue->config.router != NULL)
        warprsa_router_set_cpus(queue->config.router,
                                cpus == 0       ? WARPRSA_CPUS_NONE
                                : cpus == ready ? WARPRSA_CPUS_ALONE
                                                : WARPRSA_CPUS_BESIDE);
}

/* With the lock held: what callers see, from the state of the devices. */
static void publish_state(warprsa_queue *queue)
{
    warprsa_counters *counters = queue->config.counters;
    const uint32_t ready = atomic_load(&queue->ready);
    uint32_t state = WARPRSA_QUEUE_DOWN;
    char text[sizeof(queue->down_reason) + sizeof("none: ")];

    if (atomic_load(&queue->closing)) {
        state = WARPRSA_QUEUE_DOWN;
    } else if (ready != 0) {
        state = WARPRSA_QUEUE_READY;
        warprsa_counters_set_device(counters,
                                    queue->description[__builtin_ctz(ready)]);
    } else if (queue->opening != 0) {
        state = WARPRSA_QUEUE_STARTING;
    } else {
        snprintf(text, sizeof(text), "none: %s", queue->down_reason);
        warprsa_counters_set_device(counters, text);
    }
    publish_kinds(queue);
    if (!atomic_load(&queue->closing))
        count_ready(queue);
    atomic_store(&queue->state, state);
    if (queue->config.router != NULL)
        warprsa_router_set_devices_up(queue->config.router,
                                      state == WARPRSA_QUEUE_READY);
    warprsa_futex_wake(&queue->state, INT_MAX);
}

void warprsa_queue_set_closing(warprsa_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    atomic_store(&queue->closing, true);
    publish_state(queue);
    pthread_mutex_unlock(&queue->lock);
}

void warprsa_queue_devices_found(warprsa_queue *queue, uint32_t devices,
                                 unsigned count)
{
    pthread_mutex_lock(&queue->lock);
    queue->opening = devices;
    pthread_mutex_unlock(&queue->lock);
    atomic_store(&queue->device_count, count);
}

void warprsa_queue_device_up(warprsa_queue *queue, unsigned device,
                             const char *description)
{
    const uint32_t bit = UINT32_C(1) << device;

    pthread_mutex_lock(&queue->lock);
    atomic_fetch_or(&queue->ready, bit);
    queue->opening &= ~bit;
    snprintf(queue->description[device], sizeof(queue->description[device]),
             "%s", description);
    warprsa_counters_set_name(queue->config.counters, device, description);
    publish_state(queue);
    pthread_mutex_unlock(&queue->lock);
}

void warprsa_queue_device_down(warprsa_queue *queue, unsigned device,
                               const char *why)
{
    const uint32_t bit = UINT32_C(1) << device;

    pthread_mutex_lock(&queue->lock);
    atomic_fetch_and(&queue->ready, ~bit);
    queue->opening &= ~bit;
    snprintf(queue->down_reason, sizeof(queue->down_reason), "%s", why);
    publish_state(queue);
    pthread_mutex_unlock(&queue->lock);
}

/* Those of class `from` and above. */
static void refuse_queued(warprsa_queue *queue, unsigned from)
{
    uint32_t slot;

    for (unsigned c = from; c < WARPRSA_CLASSES; c++) {
        while (warprsa_backlog_take_any(&queue->backlog, (warprsa_size_class)c,
                                        &slot)) {
            warprsa_key *key;
            warprsa_notify notify;
            bool claimed = warprsa_slots_claim(&queue->slots, slot, &key);

            warprsa_key_answered(key, 1);
            atomic_fetch_sub(&queue->depth, 1);
            if (!claimed)
                continue;
            notify = warprsa_slots_complete(
                &queue->slots, slot, WARPRSA_REFUSED,
                (warprsa_outcome){.reason = WARPRSA_CPU_NO_DEVICE});
            if (notify.wake != NULL)
                notify.wake(notify.arg);
        }
    }
}

void warprsa_queue_refuse_if_down(warprsa_queue *queue)
{
    uint32_t state = atomic_load(&queue->state);

    if (state == WARPRSA_QUEUE_DOWN)
        refuse_queued(queue, 0);
    else if (state == WARPRSA_QUEUE_READY)
        refuse_queued(queue, atomic_load(&queue->classes));
}
