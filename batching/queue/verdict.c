/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who is to blame for wrong results: see verdict.h.
 */
#include "batching/queue/verdict.h"

#include <stdio.h>

#include "batching/base/clock.h"
#include "batching/queue/device_health.h"
#include "batching/queue/queue_core.h"

bool warprsa_verdict_is_open(const warprsa_batch *batch, size_t i)
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

bool warprsa_verdict_is_device(const warprsa_batch *batch, size_t i)
{
    warprsa_key *key = batch->requests[i].key;
    const warprsa_status status = warprsa_check_key(key->numbers);

    if (status == WARPRSA_CHECK_FAILED)
        key_is_wrong(batch, key);
    return status == WARPRSA_OK;
}

bool warprsa_verdict_begin(warprsa_queue_device *device)
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

void warprsa_verdict_end(warprsa_queue_device *device, uint64_t used_ns)
{
    pthread_mutex_lock(&device->lock);
    warprsa_device_health_judged(&device->health, used_ns, warprsa_clock_ns());
    pthread_cond_broadcast(&device->changed);
    pthread_mutex_unlock(&device->lock);
}
