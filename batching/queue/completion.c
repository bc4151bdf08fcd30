/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How a device's thread answers requests: see completion.h.
 */
#include "batching/queue/completion.h"

#include <string.h>

#include "batching/queue/queue_core.h"

enum {
    AHEAD = 8, /* callers ahead of the one that is told: memory is fetched */
};

/* Drops the references of requests about to be answered. Not after the answer:
 * a caller that then releases its key must hold the last reference. Equal keys
 * are dropped at once, since one key is the usual case. */
static void drop_keys(warprsa_batch *batch)
{
    for (size_t i = 0; i < batch->count;) {
        warprsa_key *key = batch->requests[i].key;
        uint32_t run = 0;

        while (i < batch->count && batch->requests[i].key == key) {
            run++;
            i++;
        }
        warprsa_key_answered(key, run);
    }
}

static void answer_request(const warprsa_queue_device *device,
                           warprsa_batch_request *request,
                           warprsa_answer answer, warprsa_cpu_reason reason)
{
    request->notify = warprsa_slots_complete(
        &device->queue->slots, request->slot, answer,
        (warprsa_outcome){reason, device->from->on_cpus});
}

static void notify_caller(const warprsa_batch_request *request)
{
    if (request->notify.wake != NULL)
        request->notify.wake(request->notify.arg);
}

/* Tells the callers of a batch, whose requests are all answered. Not one
 * by one as they are answered: a callback of the program may wait for a lock,
 * and whoever holds that may wait for another answer of the same batch. */
static void notify_callers(const warprsa_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (i + AHEAD < batch->count)
            __builtin_prefetch(batch->requests[i + AHEAD].notify.arg, 1);
        notify_caller(&batch->requests[i]);
    }
}

void warprsa_refuse_request(warprsa_queue_device *device,
                            warprsa_batch_request request,
                            warprsa_cpu_reason reason)
{
    warprsa_key_answered(request.key, 1);
    atomic_fetch_sub(&device->queue->depth, 1);
    answer_request(device, &request, WARPRSA_REFUSED, reason);
    notify_caller(&request);
}

void warprsa_refuse_batch(warprsa_batch *batch, warprsa_cpu_reason reason)
{
    drop_keys(batch);
    atomic_fetch_sub(&batch->device->queue->depth, (uint32_t)batch->count);
    for (size_t i = 0; i < batch->count; i++)
        answer_request(batch->device, &batch->requests[i], WARPRSA_REFUSED,
                       reason);
    notify_callers(batch);
}

/* Moves outputs to slots that held the inputs until now. */
static void move_outputs(warprsa_batch *batch)
{
    const warprsa_slots *slots = &batch->device->queue->slots;

    for (size_t i = 0; i < batch->count; i++) {
        warprsa_slot *s = &slots->slot[batch->requests[i].slot];

        if (!warprsa_slot_is_shared(s))
            continue;
        memcpy(warprsa_slot_output(s), batch->tasks[i].output, s->bytes);
        explicit_bzero(batch->tasks[i].output, s->bytes);
    }
}

static warprsa_cpu_reason reason_of(warprsa_status status)
{
    switch (status) {
    case WARPRSA_CHECK_FAILED:
        return WARPRSA_CPU_CHECK_FAILED;
    case WARPRSA_UNSUPPORTED_KEY:
        return WARPRSA_CPU_UNSUPPORTED_KEY;
    default:
        return WARPRSA_CPU_ERROR;
    }
}

void warprsa_answer_batch(warprsa_batch *batch)
{
    move_outputs(batch);
    drop_keys(batch);
    atomic_fetch_sub(&batch->device->queue->depth, (uint32_t)batch->count);
    for (size_t i = 0; i < batch->count; i++) {
        warprsa_status status = batch->tasks[i].status;

        answer_request(batch->device, &batch->requests[i],
                       status == WARPRSA_OK ? WARPRSA_DONE : WARPRSA_REFUSED,
                       reason_of(status));
    }
    notify_callers(batch);
}
