/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who is to blame for wrong results: see verdict.h.
 */
#include "batching/queue/verdict.h"

#include <stdio.h>

#include "batching/base/clock.h"
#include "batching/queue/queue_core.h"

/* Whether it is still to be found out who is to blame. */
static bool is_open_question(const warprsa_batch *batch, size_t i)
{
    return batch->tasks[i].status == WARPRSA_CHECK_FAILED &&
           !warprsa_key_is_wrong(batch->requests[i].key);
}

/* Two threads may find the same. */
static void key_is_wrong(const warprsa_batch *batch, warprsa_key *key)
{
    warprsa_queue *queue = batch->device->queue;
    char line[80];

    if (atomic_exchange(&key->is_wrong, true))
        return;
    warprsa_count(&queue->config.counters->keys_wrong, 1);
    snprintf(line, sizeof(line),
             "a key of %u bits has wrong numbers: no device computes with it "
             "any more",
             8 * key->modulus_bytes);
    warprsa_queue_trace_about(queue, key->owner->id, 1, line);
}

/* False: nothing more is to be found out. */
static bool judge(warprsa_batch *batch, size_t i)
{
    warprsa_key *key = batch->requests[i].key;

    switch (warprsa_check_key(key->numbers)) {
    case WARPRSA_OK:
        return !warprsa_device_wrong(batch->device, key->size);
    case WARPRSA_CHECK_FAILED:
        key_is_wrong(batch, key);
        return true;
    default:
        return true;
    }
}

/* Whether failed results of a batch may be looked at now; see device_health.h.
 * While another thread looks at some, this one waits: those who are answered
 * would ask a device again that is about to go out of use. */
static bool begin_judging(warprsa_queue_device *device)
{
    bool begun;

    pthread_mutex_lock(&device->lock);
    while (device->health.is_judging)
        pthread_cond_wait(&device->changed, &device->lock);
    begun = device->state == WARPRSA_DEVICE_READY &&
            warprsa_device_health_judge(&device->health, warprsa_clock_ns());
    pthread_mutex_unlock(&device->lock);
    return begun;
}

/* They have been, which has taken so much time of a CPU. */
static void end_judging(warprsa_queue_device *device, uint64_t used_ns)
{
    pthread_mutex_lock(&device->lock);
    warprsa_device_health_judged(&device->health, used_ns, warprsa_clock_ns());
    pthread_cond_broadcast(&device->changed);
    pthread_mutex_unlock(&device->lock);
}

void warprsa_judge_results(warprsa_batch *batch)
{
    unsigned looked_at = 0;
    uint64_t begun_ns;
    size_t i = 0;

    while (i < batch->count && !is_open_question(batch, i))
        i++;
    if (i == batch->count || !begin_judging(batch->device))
        return;
    begun_ns = warprsa_thread_cpu_ns();
    for (; i < batch->count && looked_at < WARPRSA_HEALTH_WRONG_MAX; i++) {
        if (!is_open_question(batch, i))
            continue;
        looked_at++;
        if (!judge(batch, i))
            break;
    }
    end_judging(batch->device, warprsa_thread_cpu_ns() - begun_ns);
}
