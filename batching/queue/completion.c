/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How a device's thread answers requests: see completion.h.
 */
#include "batching/queue/completion.h"

#include <string.h>

#include "batching/queue/failover.h"
#include "batching/queue/verdict.h"

enum {
    AHEAD = 8, /* callers whose memory is asked for before they are told */
};

/* Drops the references of requests about to be answered. Not after the answer:
 * a caller that then releases its key must find itself to be the last. Equal
 * keys are dropped at once, since one key is the usual case. */
static void drop_keys(warprsa_worker *worker, size_t count)
{
    for (size_t i = 0; i < count;) {
        warprsa_key *key = worker->items[i].key;
        uint32_t run = 0;

        while (i < count && worker->items[i].key == key) {
            run++;
            i++;
        }
        warprsa_key_answered(key, run);
    }
}

static void answer_item(warprsa_worker *worker, warprsa_item *item,
                        warprsa_answer answer, warprsa_cpu_reason reason)
{
    const warprsa_queue_device *device = worker->device;

    item->notify = warprsa_slots_complete(
        &device->queue->slots, item->slot, answer,
        (warprsa_outcome){reason, device->from->on_cpus});
}

static void notify_caller(const warprsa_item *item)
{
    if (item->notify.wake != NULL)
        item->notify.wake(item->notify.arg);
}

/* Tells the callers of the first `count` items, which are all answered. Not one
 * by one as they are answered: a callback of the program may wait for a lock,
 * and whoever holds that may wait for another answer of the same batch. */
static void notify_callers(const warprsa_worker *worker, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            __builtin_prefetch(worker->items[i + AHEAD].notify.arg, 1);
        notify_caller(&worker->items[i]);
    }
}

void warprsa_answer_refused(warprsa_worker *worker, warprsa_item item,
                            warprsa_cpu_reason reason)
{
    warprsa_key_answered(item.key, 1);
    atomic_fetch_sub(&worker->device->queue->depth, 1);
    answer_item(worker, &item, WARPRSA_REFUSED, reason);
    notify_caller(&item);
}

void warprsa_answer_chain(warprsa_worker *worker, warprsa_request_chain *chain,
                          warprsa_cpu_reason reason)
{
    const bool may_fail_over = reason != WARPRSA_CPU_UNSUPPORTED_KEY;
    warprsa_queue *queue = worker->device->queue;
    bool any = false;
    uint32_t slot;

    while (warprsa_slots_unchain(&queue->slots, chain, &slot)) {
        warprsa_key *key = queue->slots.request[slot].key;

        if (may_fail_over && warprsa_failover_request(worker, slot, key))
            any = true;
        else
            warprsa_answer_refused(
                worker, (warprsa_item){.slot = slot, .key = key}, reason);
    }
    if (any)
        warprsa_failover_notify(worker);
}

void warprsa_answer_refused_items(warprsa_worker *worker, size_t count,
                                  warprsa_cpu_reason reason)
{
    drop_keys(worker, count);
    atomic_fetch_sub(&worker->device->queue->depth, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        answer_item(worker, &worker->items[i], WARPRSA_REFUSED, reason);
    notify_callers(worker, count);
}

/* Moves outputs to slots that held the inputs until now. */
static void move_outputs(warprsa_worker *worker, size_t count)
{
    const warprsa_slots *slots = &worker->device->queue->slots;

    for (size_t i = 0; i < count; i++) {
        warprsa_slot *s = &slots->slot[worker->items[i].slot];

        if (!warprsa_slot_is_shared(s))
            continue;
        memcpy(warprsa_slot_output(s), worker->tasks[i].output, s->bytes);
        explicit_bzero(worker->tasks[i].output, s->bytes);
    }
}

void warprsa_answer_batch(warprsa_worker *worker, size_t count)
{
    warprsa_queue *queue = worker->device->queue;
    uint64_t failed = 0, good = 0;

    count = warprsa_failover_items(worker, count, false);
    for (size_t i = 0; i < count; i++) {
        failed += worker->tasks[i].status == WARPRSA_CHECK_FAILED;
        good += worker->tasks[i].status == WARPRSA_OK;
    }
    warprsa_count(&warprsa_device_counters_of(worker->device)->gpu, good);
    if (failed > 0) {
        warprsa_count(&queue->config.counters->checks_failed, failed);
        warprsa_count(
            &warprsa_device_counters_of(worker->device)->checks_failed, failed);
        warprsa_judge_results(worker, count);
    }
    move_outputs(worker, count);
    drop_keys(worker, count);
    atomic_fetch_sub(&queue->depth, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        warprsa_status status = worker->tasks[i].status;

        answer_item(worker, &worker->items[i],
                    status == WARPRSA_OK ? WARPRSA_DONE : WARPRSA_REFUSED,
                    status == WARPRSA_CHECK_FAILED ? WARPRSA_CPU_CHECK_FAILED
                                                   : WARPRSA_CPU_ERROR);
    }
    notify_callers(worker, count);
}
