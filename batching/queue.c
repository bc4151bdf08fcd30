/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The queue's outside: opening and closing it, submitting to it, asking for
 * answers. The other side, the devices' threads, is worker.c and device.c.
 */
#include "batching/queue.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/queue_private.h"
#include "batching/worker.h"

enum {
    /* How long close() waits beyond the deadline for threads that open or
     * close a device, which takes seconds on a busy machine. */
    CLOSE_PATIENCE_MS = 10000,
    /* Fewer requests than this for each of several devices are better done by
     * one: a GPU takes no longer for them. */
    SHARE_LEAST = 512,
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

static const char *bad_config(const warprsa_queue_config *c)
{
    if (c->engine == NULL || c->counters == NULL || c->random == NULL)
        return "engine, counters and random must be given";
    if (c->slots < 1 || c->slots > 65536)
        return "slots must be 1..65536";
    if (c->streams < 1 || c->streams > WARPRSA_STREAMS_MAX)
        return "streams must be 1..8";
    if (c->batch_max < 1 || c->batch_max > 65536)
        return "batch_max must be 1..65536";
    if (c->keys_max < 1 || c->deadline_ms < 1)
        return "keys_max and deadline_ms must be at least 1";
    return NULL;
}

static bool init_devices(warprsa_queue *queue)
{
    unsigned i;

    for (i = 0; i < WARPRSA_DEVICES_MAX; i++)
        if (!warprsa_device_init(&queue->devices[i], queue, i))
            break;
    if (i == WARPRSA_DEVICES_MAX)
        return true;
    while (i-- > 0)
        warprsa_device_destroy(&queue->devices[i]);
    return false;
}

static bool init_rings(warprsa_queue *queue)
{
    bool done = true;

    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        done &= warprsa_ring_init(&queue->queued[c], queue->config.slots);
    return done;
}

static void free_rings(warprsa_queue *queue)
{
    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        warprsa_ring_free(&queue->queued[c]);
}

static warprsa_queue *new_queue(const warprsa_queue_config *config)
{
    warprsa_queue *queue =
        aligned_alloc(_Alignof(warprsa_queue), sizeof(*queue));

    if (queue == NULL)
        return NULL;
    memset(queue, 0, sizeof(*queue));
    queue->config = *config;
    atomic_store(&queue->references, 1);
    atomic_store(&queue->state, WARPRSA_QUEUE_STARTING);
    queue->opening = 1;
    if (init_rings(queue) && pthread_mutex_init(&queue->lock, NULL) == 0) {
        if (init_devices(queue)) {
            if (warprsa_keys_init(&queue->keys, config->keys_max)) {
                if (warprsa_slots_init(&queue->slots, config->slots,
                                       config->deadline_ms))
                    return queue;
                warprsa_keys_free(&queue->keys);
            }
            for (unsigned i = 0; i < WARPRSA_DEVICES_MAX; i++)
                warprsa_device_destroy(&queue->devices[i]);
        }
        pthread_mutex_destroy(&queue->lock);
    }
    free_rings(queue);
    free(queue);
    return NULL;
}

void warprsa_queue_reference(warprsa_queue *queue)
{
    atomic_fetch_add_explicit(&queue->references, 1, memory_order_relaxed);
}

void warprsa_queue_drop(warprsa_queue *queue)
{
    if (atomic_fetch_sub_explicit(&queue->references, 1,
                                  memory_order_acq_rel) != 1)
        return;
    warprsa_slots_free(&queue->slots);
    warprsa_keys_free(&queue->keys);
    for (unsigned i = 0; i < WARPRSA_DEVICES_MAX; i++)
        warprsa_device_destroy(&queue->devices[i]);
    pthread_mutex_destroy(&queue->lock);
    free_rings(queue);
    free(queue);
}

/* All the memory that requests will ever take, on the host. */
static void report_memory(const warprsa_queue *queue)
{
    const warprsa_queue_config *config = &queue->config;
    size_t bytes = warprsa_slots_bytes(&queue->slots);

    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        bytes += warprsa_ring_bytes(&queue->queued[c]);
    atomic_store_explicit(&config->counters->slots, config->slots,
                          memory_order_relaxed);
    atomic_store_explicit(&config->counters->slots_bytes, bytes,
                          memory_order_relaxed);
    warprsa_queue_trace(queue, 1,
                        "queue: %u operations in flight at most, %zu KiB for "
                        "them, and no more",
                        config->slots, bytes / 1024);
}

warprsa_queue *warprsa_queue_open(const warprsa_queue_config *config, char *why,
                                  size_t why_size)
{
    const char *bad = bad_config(config);
    warprsa_queue *queue;

    if (bad != NULL) {
        snprintf(why, why_size, "%s", bad);
        return NULL;
    }
    queue = new_queue(config);
    if (queue == NULL) {
        snprintf(why, why_size, "no memory for %u request slots",
                 config->slots);
        return NULL;
    }
    warprsa_counters_set_device(config->counters, "none: starting");
    report_memory(queue);
    /* Those of one device are started here, where failing is still easy to
     * tell; more once it is known how many devices there are. */
    if (!warprsa_workers_start(&queue->devices[0])) {
        warprsa_queue_close(queue);
        warprsa_counters_set_device(config->counters, "none: no thread");
        snprintf(why, why_size,
                 "no thread could be started (limit on processes?)");
        return NULL;
    }
    return queue;
}

/* With the lock held. */
static void count_ready(const warprsa_queue *queue)
{
    warprsa_counters *counters = queue->config.counters;

    atomic_store_explicit(&counters->devices,
                          (uint64_t)__builtin_popcount(queue->ready),
                          memory_order_relaxed);
    for (unsigned i = 0; i < WARPRSA_COUNTERS_DEVICES; i++)
        atomic_store_explicit(&counters->device_of[i].ready,
                              (queue->ready >> i) & 1, memory_order_relaxed);
}

/* With the lock held: what the outside sees. */
static void publish_state(warprsa_queue *queue)
{
    warprsa_counters *counters = queue->config.counters;
    uint32_t state = WARPRSA_QUEUE_DOWN;
    char text[sizeof(queue->none) + sizeof("none: ")];

    if (atomic_load(&queue->closing)) {
        state = WARPRSA_QUEUE_DOWN;
    } else if (queue->ready != 0) {
        state = WARPRSA_QUEUE_READY;
        warprsa_counters_set_device(
            counters, queue->devices[__builtin_ctz(queue->ready)].text);
    } else if (queue->opening != 0) {
        state = WARPRSA_QUEUE_STARTING;
    } else {
        snprintf(text, sizeof(text), "none: %s", queue->none);
        warprsa_counters_set_device(counters, text);
    }
    if (!atomic_load(&queue->closing))
        count_ready(queue);
    atomic_store(&queue->state, state);
    if (queue->config.router != NULL)
        warprsa_router_set_devices_up(queue->config.router,
                                      state == WARPRSA_QUEUE_READY);
    warprsa_futex_wake(&queue->state, INT_MAX);
}

void warprsa_queue_device_up(warprsa_queue *queue, unsigned device)
{
    pthread_mutex_lock(&queue->lock);
    queue->ready |= UINT32_C(1) << device;
    queue->opening &= ~(UINT32_C(1) << device);
    publish_state(queue);
    pthread_mutex_unlock(&queue->lock);
}

void warprsa_queue_device_down(warprsa_queue *queue, unsigned device,
                               const char *why)
{
    pthread_mutex_lock(&queue->lock);
    queue->ready &= ~(UINT32_C(1) << device);
    queue->opening &= ~(UINT32_C(1) << device);
    snprintf(queue->none, sizeof(queue->none), "%s", why);
    publish_state(queue);
    pthread_mutex_unlock(&queue->lock);
}

static void refuse_queued(warprsa_queue *queue)
{
    uint32_t slot;

    for (unsigned c = 0; c < WARPRSA_CLASSES; c++) {
        while (warprsa_ring_take(&queue->queued[c], &slot, 1) == 1) {
            warprsa_key *key;
            bool mine = warprsa_slots_claim(&queue->slots, slot, &key);

            warprsa_key_drop(key, 1);
            atomic_fetch_sub(&queue->depth, 1);
            if (mine)
                warprsa_slots_complete(&queue->slots, slot, WARPRSA_REFUSED,
                                       WARPRSA_CPU_NO_DEVICE);
        }
    }
}

void warprsa_queue_refuse_if_down(warprsa_queue *queue)
{
    if (atomic_load(&queue->state) != WARPRSA_QUEUE_DOWN)
        return;
    refuse_queued(queue);
}

bool warprsa_queue_empty(warprsa_queue *queue)
{
    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        if (!warprsa_ring_empty(&queue->queued[c]))
            return false;
    return true;
}

void warprsa_queue_rearm_idle(warprsa_queue *queue)
{
    unsigned device_count = atomic_load(&queue->device_count);

    for (unsigned i = 0; i < device_count; i++) {
        warprsa_eventcount *eventcount = &queue->devices[i].eventcount;

        if (atomic_load(&eventcount->idle) == 0)
            continue;
        /* Whoever was woken has left the bell silent for the others. */
        (void)warprsa_eventcount_prepare_wait(eventcount);
        if (!warprsa_queue_empty(queue))
            warprsa_eventcount_notify(eventcount);
    }
}

/* After queueing: wakes an idle worker, of the device with least to do. */
static void notify_idle_worker(warprsa_queue *queue)
{
    unsigned device_count =
        atomic_load_explicit(&queue->device_count, memory_order_acquire);
    warprsa_queue_device *best = NULL;
    uint32_t least = UINT32_MAX;

    for (unsigned i = 0; i < device_count; i++) {
        warprsa_queue_device *device = &queue->devices[i];
        uint32_t running;

        if (!warprsa_eventcount_has_waiter(&device->eventcount))
            continue;
        running = atomic_load_explicit(&device->running, memory_order_relaxed);
        if (running < least) {
            least = running;
            best = device;
        }
    }
    if (best != NULL)
        warprsa_eventcount_notify(&best->eventcount);
}

void warprsa_queue_wake_all(warprsa_queue *queue)
{
    for (unsigned i = 0; i < WARPRSA_DEVICES_MAX; i++)
        warprsa_eventcount_notify_all(&queue->devices[i].eventcount);
}

/* How many requests are queued; a hint. */
static uint32_t waiting_in(warprsa_queue *queue)
{
    uint32_t waiting = 0;

    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        waiting += warprsa_ring_count(&queue->queued[c]);
    return waiting;
}

uint32_t warprsa_queue_share(warprsa_queue *queue,
                             const warprsa_queue_device *device)
{
    unsigned device_count = atomic_load(&queue->device_count);
    uint32_t most = queue->config.batch_max;
    uint32_t idle_devices = 1;
    uint32_t share;

    for (unsigned i = 0; i < device_count; i++)
        idle_devices += &queue->devices[i] != device &&
                        atomic_load(&queue->devices[i].eventcount.idle) > 0 &&
                        atomic_load(&queue->devices[i].running) < SHARE_LEAST;
    if (idle_devices == 1)
        return most;
    share = waiting_in(queue) / idle_devices + 1;
    if (share < SHARE_LEAST)
        share = SHARE_LEAST;
    return share < most ? share : most;
}

bool warprsa_queue_close(warprsa_queue *queue)
{
    bool ended = true;
    uint64_t until_ns;

    pthread_mutex_lock(&queue->lock);
    atomic_store(&queue->closing, true);
    publish_state(queue);
    pthread_mutex_unlock(&queue->lock);
    warprsa_queue_wake_all(queue);
    for (unsigned i = 0; i < WARPRSA_DEVICES_MAX; i++)
        warprsa_device_wake(&queue->devices[i]);
    warprsa_queue_refuse_if_down(queue);
    until_ns =
        warprsa_clock_ns() +
        (queue->config.deadline_ms + CLOSE_PATIENCE_MS) * WARPRSA_NS_PER_MS;
    for (unsigned i = 0; i < WARPRSA_DEVICES_MAX; i++)
        ended &= warprsa_workers_join(&queue->devices[i], until_ns);
    warprsa_queue_drop(queue);
    return ended;
}

void warprsa_queue_abandon(warprsa_queue *queue)
{
    if (queue == NULL)
        return;
    /* Only what never changes after opening is used here: where memory is. */
    warprsa_slots_free(&queue->slots);
    free_rings(queue);
    free(queue->keys.bucket);
    free(queue);
}

warprsa_queue_state warprsa_queue_wait_ready(warprsa_queue *queue,
                                             unsigned timeout_ms)
{
    uint64_t until_ns = warprsa_clock_ns() + timeout_ms * WARPRSA_NS_PER_MS;
    uint32_t state = atomic_load(&queue->state);

    while (state == WARPRSA_QUEUE_STARTING && warprsa_clock_ns() < until_ns) {
        warprsa_futex_wait(&queue->state, state, until_ns);
        state = atomic_load(&queue->state);
    }
    return (warprsa_queue_state)state;
}

unsigned warprsa_queue_depth(const warprsa_queue *queue)
{
    return atomic_load_explicit(&queue->depth, memory_order_relaxed);
}

static warprsa_answer refused(warprsa_queue *queue, warprsa_cpu_reason reason)
{
    warprsa_count(&queue->config.counters->cpu_reason[reason], 1);
    return WARPRSA_REFUSED;
}

/* FILLING to QUEUED; the ticket is complete before a worker can answer. */
static void enqueue(warprsa_queue *queue, warprsa_key *key,
                    const uint8_t *input, warprsa_notify notify,
                    uint64_t now_ns, const warprsa_ticket *ticket)
{
    warprsa_slot *s = &queue->slots.slot[ticket->slot];

    s->bytes = key->key.modulus_bytes;
    s->size = (uint32_t)key->size;
    atomic_store_explicit(&s->submitted_ns, now_ns, memory_order_relaxed);
    memcpy(s->input, input, s->bytes);
    queue->slots.request[ticket->slot].key = key;
    queue->slots.request[ticket->slot].notify = notify;
    warprsa_key_reference(key);
    atomic_fetch_add_explicit(&queue->depth, 1, memory_order_relaxed);
    atomic_store_explicit(&s->word, ticket->generation | WARPRSA_SLOT_QUEUED,
                          memory_order_release);
    warprsa_ring_put(&queue->queued[key->size], ticket->slot);
}

warprsa_answer warprsa_queue_submit(warprsa_queue *queue, warprsa_key *key,
                                    const uint8_t *input, warprsa_notify notify,
                                    warprsa_ticket *ticket)
{
    uint32_t state = atomic_load_explicit(&queue->state, memory_order_relaxed);
    uint64_t now_ns;
    uint32_t index;

    if (state != WARPRSA_QUEUE_READY)
        return refused(queue, state == WARPRSA_QUEUE_STARTING
                                  ? WARPRSA_CPU_STARTING
                                  : WARPRSA_CPU_NO_DEVICE);
    now_ns = warprsa_clock_ns();
    if (!warprsa_slots_acquire(&queue->slots, now_ns, &index))
        return refused(queue, WARPRSA_CPU_QUEUE_FULL);
    *ticket = warprsa_slots_ticket(&queue->slots, index);
    enqueue(queue, key, input, notify, now_ns, ticket);
    if (atomic_load(&queue->state) != WARPRSA_QUEUE_READY) {
        /* Whoever took the last device down may have emptied the queues just
         * before; then nobody else comes for this request. */
        bool cancelled = warprsa_slots_cancel(&queue->slots, *ticket);

        warprsa_queue_refuse_if_down(queue);
        return cancelled ? refused(queue, WARPRSA_CPU_NO_DEVICE) : WARPRSA_DONE;
    }
    notify_idle_worker(queue);
    return WARPRSA_DONE;
}

static warprsa_answer counted(warprsa_queue *queue, warprsa_answer answer,
                              warprsa_size_class size,
                              warprsa_cpu_reason reason)
{
    if (answer == WARPRSA_DONE)
        warprsa_count(&queue->config.counters->gpu[size], 1);
    else if (answer == WARPRSA_REFUSED)
        warprsa_count(&queue->config.counters->cpu_reason[reason], 1);
    return answer;
}

warprsa_answer warprsa_queue_collect(warprsa_queue *queue,
                                     warprsa_ticket ticket, uint8_t *output)
{
    warprsa_size_class size = WARPRSA_CLASS_1024;
    warprsa_cpu_reason reason = WARPRSA_CPU_ERROR;
    warprsa_answer answer =
        warprsa_slots_collect(&queue->slots, ticket, output, &size, &reason);

    return counted(queue, answer, size, reason);
}

warprsa_answer warprsa_queue_wait(warprsa_queue *queue, warprsa_ticket ticket,
                                  uint8_t *output)
{
    warprsa_size_class size = WARPRSA_CLASS_1024;
    warprsa_cpu_reason reason = WARPRSA_CPU_ERROR;
    warprsa_answer answer =
        warprsa_slots_wait(&queue->slots, ticket, output, &size, &reason);

    return counted(queue, answer, size, reason);
}
