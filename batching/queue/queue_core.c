/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The core of a queue: see queue_core.h.
 */
#include "batching/queue/queue_core.h"

#include <stdarg.h>
#include <stdio.h>

#include "batching/base/clock.h"
#include "batching/queue/router.h"

enum {
    TRACE_LINE = 512,
};

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

/* The name of an owner, as in the daemon's log. */
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

/* Tells the router which devices are ready. */
static void tell_router(void *arg, const warprsa_board_summary *summary)
{
    warprsa_router *router = arg;

    if (router == NULL)
        return;
    warprsa_router_set_cpus(router, summary->cpus);
    warprsa_router_set_devices_up(router,
                                  summary->state == WARPRSA_QUEUE_READY);
}

static bool init_board(warprsa_queue *queue)
{
    if (!warprsa_log_budgets_init(&queue->log, WARPRSA_LOG_LINES_A_SECOND))
        return false;
    if (warprsa_board_init(&queue->board, queue->config.counters, tell_router,
                           queue->config.router))
        return true;
    warprsa_log_budgets_free(&queue->log);
    return false;
}

static void free_board(warprsa_queue *queue)
{
    warprsa_board_free(&queue->board);
    warprsa_log_budgets_free(&queue->log);
}

static bool has_hosts(const warprsa_queue_config *config)
{
    for (unsigned i = 0; i < config->engine_count; i++)
        if (config->engines[i].engine->comes_and_goes)
            return true;
    return false;
}

bool warprsa_queue_core_init(warprsa_queue *queue,
                             const warprsa_queue_config *config,
                             const warprsa_keys_callbacks *callbacks)
{
    queue->config = *config;
    queue->uses_answer_times = config->router == NULL && has_hosts(config);
    atomic_store(&queue->references, 1);
    if (!warprsa_backlog_init(&queue->backlog, &queue->slots, config->slots,
                              &queue->keys.reached))
        return false;
    if (init_board(queue)) {
        if (warprsa_keys_init(&queue->keys, config->keys_max, callbacks)) {
            if (warprsa_slots_init(&queue->slots, config->slots,
                                   config->deadline_ms))
                return true;
            warprsa_keys_free(&queue->keys);
        }
        free_board(queue);
    }
    warprsa_backlog_free(&queue->backlog);
    return false;
}

void warprsa_queue_core_free(warprsa_queue *queue)
{
    warprsa_slots_free(&queue->slots);
    warprsa_keys_free(&queue->keys);
    free_board(queue);
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

/* Refuses queued requests of class `from` and above. */
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
    uint32_t state = atomic_load(&queue->board.state);

    if (state == WARPRSA_QUEUE_DOWN)
        refuse_queued(queue, 0);
    else if (state == WARPRSA_QUEUE_READY)
        refuse_queued(queue, atomic_load(&queue->board.classes));
}
