/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The queue as its callers see it: opening and closing it, submitting to it,
 * asking for answers. The other side, the devices' threads, is in worker.c.
 */
#include "batching/queue/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/queue/device_threads.h"
#include "batching/queue/queue_core.h"
#include "batching/queue/queue_device.h"
#include "batching/queue/scheduling.h"
#include "batching/queue/worker.h"

enum {
    /* How long close() waits beyond the deadline for threads that open or
     * close a device, which takes seconds on a busy machine. */
    CLOSE_PATIENCE_MS = 10000,
    /* Ticks look at the devices no oftener: each operation of a program is a
     * tick, and a call hangs after a second at the earliest. */
    LOOK_MS = 100,
};

/* A queue and its devices, allocated at once. The core stands first: the two
 * have one address. */
typedef struct queue_memory {
    warprsa_queue core;
    warprsa_queue_device devices[WARPRSA_DEVICES_MAX];
    warprsa_key_loads loads[WARPRSA_DEVICES_MAX];
} queue_memory;

static const char *bad_engine(const warprsa_queue_engine *e)
{
    if (e->engine == NULL)
        return "each engine must be given";
    if (e->streams < 1 || e->streams > WARPRSA_STREAMS_MAX)
        return "streams must be 1..256";
    if (e->batch_max < 1 || e->batch_max > 65536)
        return "batch_max must be 1..65536";
    return NULL;
}

static const char *bad_config(const warprsa_queue_config *c)
{
    const char *bad = NULL;

    if (c->engine_count < 1 || c->engine_count > WARPRSA_ENGINES_MAX)
        return "there must be 1..3 engines";
    for (unsigned e = 0; e < c->engine_count && bad == NULL; e++)
        bad = bad_engine(&c->engines[e]);
    if (bad != NULL)
        return bad;
    if (c->counters == NULL || c->random == NULL)
        return "counters and random must be given";
    if (c->slots < 1 || c->slots > WARPRSA_UNDER_WAY_MAX)
        return "slots must be 1..65536";
    if (c->keys_max < 1 || c->deadline_ms < 1)
        return "keys_max and deadline_ms must be at least 1";
    return NULL;
}

/* Each key holds a reference of the queue, and is counted. */
static void key_added(void *arg)
{
    warprsa_queue *queue = arg;

    warprsa_queue_reference(queue);
    warprsa_count(&queue->config.counters->keys, 1);
}

static void key_unload_wanted(void *arg)
{
    warprsa_queue_wake_all(arg);
}

static void key_gone(void *arg)
{
    warprsa_queue *queue = arg;

    atomic_fetch_sub_explicit(&queue->config.counters->keys, 1,
                              memory_order_relaxed);
    warprsa_queue_drop(queue);
}

static bool init_devices(warprsa_queue *queue, warprsa_key_loads *loads)
{
    unsigned i;

    for (i = 0; i < WARPRSA_DEVICES_MAX; i++)
        if (!warprsa_device_init(&queue->devices[i], queue, i, &loads[i]))
            break;
    if (i == WARPRSA_DEVICES_MAX)
        return true;
    while (i-- > 0)
        warprsa_device_destroy(&queue->devices[i]);
    return false;
}

static void destroy_queue(warprsa_queue *queue)
{
    for (unsigned i = 0; i < WARPRSA_DEVICES_MAX; i++)
        warprsa_device_destroy(&queue->devices[i]);
    warprsa_queue_core_free(queue);
    free(queue);
}

static warprsa_queue *new_queue(const warprsa_queue_config *config)
{
    queue_memory *memory =
        aligned_alloc(_Alignof(queue_memory), sizeof(*memory));
    warprsa_keys_callbacks callbacks = {key_added, key_unload_wanted, key_gone,
                                        memory};
    warprsa_queue *queue;

    if (memory == NULL)
        return NULL;
    memset(memory, 0, sizeof(*memory));
    queue = &memory->core;
    if (warprsa_queue_core_init(queue, config, &callbacks)) {
        queue->devices = memory->devices;
        queue->destroy = destroy_queue;
        if (init_devices(queue, memory->loads))
            return queue;
        warprsa_queue_core_free(queue);
    }
    free(memory);
    return NULL;
}

/* Counts and traces all the host memory that requests will ever take. */
static void report_memory(const warprsa_queue *queue)
{
    const warprsa_queue_config *config = &queue->config;
    const size_t bytes = warprsa_slots_bytes(&queue->slots) +
                         warprsa_backlog_bytes(&queue->backlog);

    atomic_store_explicit(&config->counters->slots, config->slots,
                          memory_order_relaxed);
    atomic_store_explicit(&config->counters->slots_bytes, bytes,
                          memory_order_relaxed);
    warprsa_queue_trace(queue, 1,
                        "queue: %u operations in flight at most, %zu KiB for "
                        "them, and no more",
                        config->slots, bytes / 1024);
}

warprsa_queue *warprsa_queue_open(const warprsa_queue_config *config,
                                  warprsa_cpu_reason *reason, char *why,
                                  size_t why_size)
{
    const char *bad = bad_config(config);
    warprsa_queue *queue;

    *reason = WARPRSA_CPU_ERROR;
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
    /* The workers of one device are started here, where a failure can still be
     * returned. The first of them finds out how many devices there are and
     * starts the others. */
    if (!warprsa_workers_start(queue)) {
        warprsa_queue_close(queue);
        warprsa_counters_set_device(config->counters, "none: no thread");
        *reason = WARPRSA_CPU_NO_THREADS;
        snprintf(why, why_size,
                 "no threads: this process may not start the %u that mode = "
                 "process needs (limit on processes?); mode = daemon needs "
                 "none",
                 config->engines[0].streams);
        return NULL;
    }
    return queue;
}

bool warprsa_queue_close(warprsa_queue *queue)
{
    bool ended = true;
    uint64_t until_ns;

    warprsa_board_set_closing(&queue->board);
    warprsa_queue_wake_all(queue);
    for (unsigned i = 0; i < WARPRSA_DEVICES_MAX; i++)
        warprsa_device_wake(&queue->devices[i]);
    warprsa_queue_refuse_if_down(queue);
    until_ns =
        warprsa_clock_ns() +
        (queue->config.deadline_ms + CLOSE_PATIENCE_MS) * WARPRSA_NS_PER_MS;
    for (unsigned i = 0; i < WARPRSA_DEVICES_MAX; i++)
        ended &= warprsa_threads_join(&queue->devices[i], until_ns);
    /* What waits for a thread that hangs has expired by now. */
    if (!ended)
        warprsa_slots_notify_expired(&queue->slots);
    warprsa_queue_drop(queue);
    return ended;
}

void warprsa_queue_abandon(warprsa_queue *queue)
{
    if (queue == NULL)
        return;
    warprsa_queue_core_abandon(queue);
    free(queue);
}

warprsa_queue_state warprsa_queue_wait_ready(warprsa_queue *queue,
                                             unsigned timeout_ms)
{
    uint32_t state = atomic_load(&queue->board.state);
    uint64_t until_ns;

    if (state != WARPRSA_QUEUE_STARTING)
        return (warprsa_queue_state)state;
    until_ns = warprsa_clock_ns() + timeout_ms * WARPRSA_NS_PER_MS;
    while (state == WARPRSA_QUEUE_STARTING && warprsa_clock_ns() < until_ns) {
        warprsa_futex_wait(&queue->board.state, state, until_ns);
        state = atomic_load(&queue->board.state);
    }
    return (warprsa_queue_state)state;
}

bool warprsa_queue_has_lost_device(warprsa_queue *queue)
{
    for (unsigned i = 0; i < WARPRSA_DEVICES_MAX; i++)
        if (warprsa_device_is_lost(&queue->devices[i]))
            return true;
    return false;
}

void warprsa_queue_add_devices(warprsa_queue *queue)
{
    if (atomic_load(&queue->board.state) != WARPRSA_QUEUE_STARTING)
        warprsa_workers_add_devices(queue);
}

bool warprsa_queue_on_cpus(const warprsa_queue *queue)
{
    return atomic_load_explicit(&queue->board.on_cpus, memory_order_relaxed);
}

void warprsa_queue_tick(warprsa_queue *queue)
{
    if (warprsa_queue_depth(queue) == 0)
        return;
    warprsa_slots_look(&queue->slots);
    if (!warprsa_clock_is_due(&queue->looked_ns, LOOK_MS * WARPRSA_NS_PER_MS))
        return;
    for (unsigned i = 0; i < WARPRSA_DEVICES_MAX; i++)
        warprsa_device_look(&queue->devices[i]);
}

unsigned warprsa_queue_depth(const warprsa_queue *queue)
{
    return atomic_load_explicit(&queue->depth, memory_order_relaxed);
}

/* Traced once: more keys do not make it more true. */
static void report_unlocked(warprsa_queue *queue, const warprsa_key *key)
{
    if (warprsa_key_is_locked(key) || atomic_exchange(&queue->unlocked, true))
        return;
    warprsa_queue_trace(queue, 1,
                        "keys: some are in memory that can be swapped out "
                        "(RLIMIT_MEMLOCK, of which a half is used at most)");
}

warprsa_key *warprsa_queue_key(warprsa_queue *queue, uint64_t owner,
                               const uint8_t id[WARPRSA_KEY_ID_BYTES],
                               const warprsa_private_key *key)
{
    warprsa_key *found = warprsa_keys_get(&queue->keys, owner, id, key);

    if (found != NULL)
        report_unlocked(queue, found);
    return found;
}

void warprsa_key_hold(warprsa_key *key)
{
    warprsa_key_reference(key);
}

void warprsa_key_release(warprsa_key *key)
{
    if (key != NULL)
        warprsa_key_drop(key, 1);
}

const uint8_t *warprsa_key_modulus(const warprsa_key *key)
{
    return key->numbers->n + sizeof(key->numbers->n) - key->modulus_bytes;
}

void warprsa_key_abandon(warprsa_key *key)
{
    if (key != NULL)
        warprsa_key_drop_in_child(key);
}

bool warprsa_queue_takes(const warprsa_queue *queue, const warprsa_key *key)
{
    return (unsigned)key->size < atomic_load(&queue->board.classes);
}

bool warprsa_queue_refuses_key(const warprsa_key *key)
{
    return warprsa_key_is_wrong(key);
}

static warprsa_answer refused(warprsa_queue *queue, warprsa_cpu_reason reason)
{
    warprsa_count(&queue->config.counters->cpu_reason[reason], 1);
    return WARPRSA_REFUSED;
}

/* Fills a slot and puts it into the ring of its class: FILLING to QUEUED. A
 * worker may answer from then on. */
static void enqueue(warprsa_queue *queue, warprsa_key *key,
                    const uint8_t *input, warprsa_notify notify,
                    uint64_t now_ns, const warprsa_ticket *ticket)
{
    warprsa_slot *s = &queue->slots.slot[ticket->slot];

    s->bytes = key->modulus_bytes;
    s->size = (uint32_t)key->size;
    atomic_store_explicit(&s->submitted_ns, now_ns, memory_order_relaxed);
    memcpy(s->number, input, s->bytes);
    queue->slots.request[ticket->slot].key = key;
    queue->slots.request[ticket->slot].failovers = 0;
    warprsa_slots_set_notify(&queue->slots, ticket->slot, notify);
    warprsa_key_requested(key);
    atomic_fetch_add_explicit(&queue->depth, 1, memory_order_relaxed);
    atomic_store_explicit(&s->word, ticket->generation | WARPRSA_SLOT_QUEUED,
                          memory_order_release);
    warprsa_backlog_put(&queue->backlog, key->size, ticket->slot);
}

/* Slots of requests that have been answered and not collected count as free. */
static uint32_t free_slots(const warprsa_queue *queue)
{
    uint32_t taken = warprsa_queue_depth(queue);

    return taken < queue->config.slots ? queue->config.slots - taken : 0;
}

/* Every request writes the number of requests, so it is read only for owners
 * that share the devices. */
static bool may_request(const warprsa_queue *queue, const warprsa_key *key)
{
    return !warprsa_key_is_shared(key) ||
           warprsa_key_may_request(key, free_slots(queue));
}

warprsa_answer warprsa_queue_submit(warprsa_queue *queue, warprsa_key *key,
                                    const uint8_t *input, warprsa_notify notify,
                                    warprsa_ticket *ticket)
{
    /* Acquire: whoever sees a ready device has to see its classes. */
    uint32_t state =
        atomic_load_explicit(&queue->board.state, memory_order_acquire);
    uint64_t now_ns;
    uint32_t index;

    if (state != WARPRSA_QUEUE_READY)
        return refused(queue, state == WARPRSA_QUEUE_STARTING
                                  ? WARPRSA_CPU_STARTING
                                  : WARPRSA_CPU_NO_DEVICE);
    if (!warprsa_queue_takes(queue, key))
        return refused(queue, WARPRSA_CPU_UNSUPPORTED_KEY);
    if (warprsa_key_is_wrong(key))
        return refused(queue, WARPRSA_CPU_WRONG_KEY);
    now_ns = warprsa_clock_ns();
    if (!may_request(queue, key) ||
        !warprsa_slots_acquire(&queue->slots, now_ns, &index))
        return refused(queue, WARPRSA_CPU_QUEUE_FULL);
    *ticket = warprsa_slots_ticket(&queue->slots, index);
    enqueue(queue, key, input, notify, now_ns, ticket);
    if (atomic_load(&queue->board.state) != WARPRSA_QUEUE_READY ||
        !warprsa_queue_takes(queue, key)) {
        /* The worker that took the last device down that this request could go
         * to may have emptied the rings just before it was put there. Then
         * nobody else would come for it. */
        bool cancelled = warprsa_slots_cancel(&queue->slots, *ticket);

        warprsa_queue_refuse_if_down(queue);
        return cancelled ? refused(queue, WARPRSA_CPU_NO_DEVICE) : WARPRSA_DONE;
    }
    warprsa_queue_notify_idle(queue, key->size);
    return WARPRSA_DONE;
}

static warprsa_answer counted(warprsa_queue *queue, warprsa_answer answer,
                              warprsa_size_class size,
                              const warprsa_outcome *outcome)
{
    warprsa_counters *c = queue->config.counters;

    if (answer == WARPRSA_DONE)
        warprsa_count(outcome->on_cpus ? &c->ifma[size] : &c->gpu[size], 1);
    else if (answer == WARPRSA_REFUSED)
        warprsa_count(&c->cpu_reason[outcome->reason], 1);
    return answer;
}

warprsa_answer warprsa_queue_collect(warprsa_queue *queue,
                                     warprsa_ticket ticket, uint8_t *output,
                                     warprsa_outcome *outcome)
{
    warprsa_size_class size = WARPRSA_CLASS_1024;
    warprsa_outcome what = {0};
    warprsa_answer answer =
        warprsa_slots_collect(&queue->slots, ticket, output, &size, &what);

    if (outcome != NULL)
        *outcome = what;
    return counted(queue, answer, size, &what);
}

warprsa_answer warprsa_queue_wait(warprsa_queue *queue, warprsa_ticket ticket,
                                  uint8_t *output)
{
    warprsa_size_class size = WARPRSA_CLASS_1024;
    warprsa_outcome what = {0};
    warprsa_answer answer =
        warprsa_slots_wait(&queue->slots, ticket, output, &size, &what);

    return counted(queue, answer, size, &what);
}

bool warprsa_queue_withdraw(warprsa_queue *queue, warprsa_ticket ticket)
{
    return warprsa_slots_withdraw(&queue->slots, ticket);
}
