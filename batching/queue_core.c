/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The core of a queue: see queue_core.h.
 */
#include "batching/queue_core.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "batching/base/clock.h"

enum {
    /* Fewer requests than this for each of several devices are better done by
     * one: a GPU takes no longer for them. */
    SHARE_LEAST = 512,
    TRACE_LINE = 512,
    SORT_STEP = 64, /* requests taken from a ring at once */
    /* A device that computes so many times its granularity has no need of a
     * batch that is not a multiple of it. */
    BUSY = 16,
    /* The whole of a batch's time, in waits_for_cpu; and the part of it from
     * which on the CPUs are taken to be contended. */
    WHOLE = 65536,
    CONTENDED = WHOLE / 8,
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

static bool init_locks(warprsa_queue *queue)
{
    if (pthread_mutex_init(&queue->lock, NULL) != 0)
        return false;
    if (pthread_mutex_init(&queue->turns_lock, NULL) == 0)
        return true;
    pthread_mutex_destroy(&queue->lock);
    return false;
}

static void free_locks(warprsa_queue *queue)
{
    pthread_mutex_destroy(&queue->turns_lock);
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
    warprsa_turns_init(&queue->turns, &queue->slots, &queue->keys.reached);
    if (init_rings(queue) && init_locks(queue)) {
        if (warprsa_keys_init(&queue->keys, config->keys_max, callbacks)) {
            if (warprsa_slots_init(&queue->slots, config->slots,
                                   config->deadline_ms))
                return true;
            warprsa_keys_free(&queue->keys);
        }
        free_locks(queue);
    }
    free_rings(queue);
    return false;
}

void warprsa_queue_core_free(warprsa_queue *queue)
{
    warprsa_slots_free(&queue->slots);
    warprsa_keys_free(&queue->keys);
    free_locks(queue);
    free_rings(queue);
}

void warprsa_queue_core_abandon(warprsa_queue *queue)
{
    warprsa_slots_free(&queue->slots);
    free_rings(queue);
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

/* With the lock held. The CPUs are counted once. */
static void count_ready(const warprsa_queue *queue)
{
    warprsa_counters *counters = queue->config.counters;
    const uint32_t ready = atomic_load(&queue->ready);
    const uint32_t in_use = ready | queue->helping;

    atomic_store_explicit(&counters->devices,
                          (uint64_t)__builtin_popcount(ready),
                          memory_order_relaxed);
    for (unsigned i = 0; i < WARPRSA_COUNTERS_DEVICES; i++)
        atomic_store_explicit(&counters->device_of[i].ready, (in_use >> i) & 1,
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

static const warprsa_queue_engine *engine_of(const warprsa_queue *queue,
                                             unsigned device)
{
    return &queue->config.engines[queue->activity[device].engine];
}

void warprsa_queue_devices_found(warprsa_queue *queue, uint32_t devices,
                                 unsigned count)
{
    /* Nobody waits for those that only help. */
    for (unsigned i = 0; i < count; i++)
        if (engine_of(queue, i)->background)
            devices &= ~(UINT32_C(1) << i);
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
    if (engine_of(queue, device)->background)
        queue->helping |= bit;
    else
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
    queue->helping &= ~bit;
    if (!engine_of(queue, device)->background)
        snprintf(queue->down_reason, sizeof(queue->down_reason), "%s", why);
    publish_state(queue);
    pthread_mutex_unlock(&queue->lock);
}

/* Takes any queued request of a class. */
static bool take_any(warprsa_queue *queue, unsigned size, uint32_t *slot)
{
    warprsa_turn *turn = NULL;

    if (warprsa_ring_take(&queue->queued[size], slot, 1) == 1)
        return true;
    if (atomic_load(&queue->turns.count[size]) == 0)
        return false;
    pthread_mutex_lock(&queue->turns_lock);
    turn = warprsa_turns_next(&queue->turns,
                              warprsa_class_alone((warprsa_size_class)size));
    if (turn != NULL)
        (void)warprsa_turns_take(&queue->turns, turn, (warprsa_size_class)size,
                                 slot);
    pthread_mutex_unlock(&queue->turns_lock);
    return turn != NULL;
}

/* Those of class `from` and above. */
static void refuse_queued(warprsa_queue *queue, unsigned from)
{
    uint32_t slot;

    for (unsigned c = from; c < WARPRSA_CLASSES; c++) {
        while (take_any(queue, c, &slot)) {
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

bool warprsa_queue_has(warprsa_queue *queue, warprsa_class_set classes)
{
    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        if ((classes >> c & 1) != 0 &&
            (!warprsa_ring_empty(&queue->queued[c]) ||
             atomic_load(&queue->turns.count[c]) != 0))
            return true;
    return false;
}

bool warprsa_queue_takes_turns(warprsa_queue *queue)
{
    if (warprsa_keys_are_shared(&queue->keys))
        return true;
    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        if (atomic_load(&queue->turns.count[c]) != 0)
            return true;
    return false;
}

bool warprsa_queue_sort_turns(warprsa_queue *queue)
{
    uint32_t slots[SORT_STEP], taken;
    bool any = false;

    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        do {
            taken = warprsa_ring_take(&queue->queued[c], slots, SORT_STEP);
            any |= taken > 0;
            for (uint32_t i = 0; i < taken; i++)
                warprsa_slots_prefetch(&queue->slots, slots[i]);
            for (uint32_t i = 0; i < taken; i++)
                warprsa_turns_add(
                    &queue->turns,
                    &queue->slots.request[slots[i]].key->owner->queued,
                    (warprsa_size_class)c, slots[i]);
        } while (taken == SORT_STEP);
    return any;
}

/* How many requests of a class are queued; a hint. */
static uint32_t waiting_of(warprsa_queue *queue, unsigned size)
{
    return warprsa_ring_count(&queue->queued[size]) +
           atomic_load(&queue->turns.count[size]);
}

/* Of all classes; a hint. */
static uint32_t waiting_in(warprsa_queue *queue)
{
    uint32_t waiting = 0;

    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        waiting += waiting_of(queue, c);
    return waiting;
}

void warprsa_queue_note_cpu_time(warprsa_queue *queue, unsigned device,
                                 uint64_t cpu_ns, uint64_t elapsed_ns)
{
    _Atomic uint32_t *average = &queue->activity[device].waits_for_cpu;
    uint32_t old = atomic_load_explicit(average, memory_order_relaxed);
    uint32_t now = 0;

    if (cpu_ns < elapsed_ns)
        now = (uint32_t)((elapsed_ns - cpu_ns) * WHOLE / elapsed_ns);
    /* Both are at most WHOLE: the sum does not overflow. */
    atomic_store_explicit(average, (7 * old + now) / 8, memory_order_relaxed);
}

/* Whether threads of CPUs lately had to wait for one. */
static bool is_contended(const warprsa_queue *queue, unsigned device)
{
    return atomic_load_explicit(&queue->activity[device].waits_for_cpu,
                                memory_order_relaxed) >= CONTENDED;
}

bool warprsa_queue_would_be_fuller(warprsa_queue *queue, unsigned device)
{
    const warprsa_queue_engine *engine = engine_of(queue, device);

    return engine->on_cpus && !engine->background &&
           waiting_in(queue) < engine->batch_max;
}

/* Whether a batch had better wait for the end of another one: threads have to
 * wait for CPUs that others use, perhaps to submit requests. */
static bool wants_more(warprsa_queue *queue, unsigned device)
{
    return is_contended(queue, device) &&
           warprsa_queue_would_be_fuller(queue, device);
}

bool warprsa_queue_has_another(const warprsa_queue *queue, unsigned device,
                               warprsa_size_class size)
{
    const uint32_t ready = atomic_load(&queue->ready);

    for (unsigned i = 0; i < WARPRSA_DEVICES_MAX; i++)
        if (i != device && ((ready >> i) & 1) != 0 &&
            (unsigned)size < engine_of(queue, i)->engine->classes)
            return true;
    return false;
}

static bool is_paused_at(const warprsa_queue *queue, unsigned device,
                         uint64_t now_ns)
{
    return now_ns < atomic_load(&queue->activity[device].paused_until_ns);
}

/* Whether it is paused, and there is another device for whatever is queued.
 * CPUs that only help are none. */
static bool is_paused(const warprsa_queue *queue, unsigned device)
{
    const uint32_t ready = atomic_load(&queue->ready);
    uint64_t now_ns;

    if (atomic_load_explicit(&queue->activity[device].paused_until_ns,
                             memory_order_relaxed) == 0)
        return false;
    now_ns = warprsa_clock_ns();
    for (unsigned i = 0;
         i < WARPRSA_DEVICES_MAX && is_paused_at(queue, device, now_ns); i++)
        if (i != device && ((ready >> i) & 1) != 0 &&
            !engine_of(queue, i)->on_cpus &&
            engine_of(queue, i)->engine->classes >=
                engine_of(queue, device)->engine->classes &&
            !is_paused_at(queue, i, now_ns))
            return true;
    return false;
}

/* Whether the CPUs and other devices are chosen among by their answer times. */
static bool has_answer_times(const warprsa_queue *queue)
{
    const warprsa_queue_config *config = &queue->config;
    bool hosts = false;

    for (unsigned i = 0; i < config->engine_count; i++)
        hosts = hosts || config->engines[i].engine->comes_and_goes;
    return hosts && config->router == NULL;
}

static bool has_background(const warprsa_queue *queue)
{
    return queue->config.engines[queue->config.engine_count - 1].background;
}

void warprsa_queue_note_starved(warprsa_queue *queue, unsigned device)
{
    const uint64_t pause_ns = warprsa_starvation_note(
        &queue->activity[device].starvation, warprsa_clock_ns());

    if (pause_ns != 0)
        warprsa_queue_trace(
            queue, 1, "device %u: no CPU is idle for it, tried again in %u s",
            device, (unsigned)(pause_ns / WARPRSA_NS_PER_SEC));
}

void warprsa_queue_note_answer(warprsa_queue *queue, unsigned device,
                               warprsa_size_class size, uint64_t response_ns,
                               uint64_t batch_ns, uint64_t now_ns)
{
    const bool on_cpus = engine_of(queue, device)->on_cpus;
    const bool background = engine_of(queue, device)->background;

    if (background || (!on_cpus && has_background(queue)))
        warprsa_answer_times_note(&queue->background_times, background, size,
                                  background ? batch_ns : response_ns, now_ns);
    if (!background && has_answer_times(queue))
        warprsa_answer_times_note(&queue->times, on_cpus, size,
                                  on_cpus ? batch_ns : response_ns, now_ns);
}

/* The classes that the CPUs would answer sooner than the others, which take
 * them, too. */
static warprsa_class_set sooner_on(const warprsa_queue *queue, unsigned device)
{
    const unsigned others = atomic_load(&queue->others_classes);
    const bool contended = is_contended(queue, device);
    warprsa_class_set classes = 0;
    uint64_t now_ns;

    if (others == 0 || !has_answer_times(queue))
        return 0;
    now_ns = warprsa_clock_ns();
    for (unsigned c = 0; c < others; c++)
        if (warprsa_answer_times_cpus_are_sooner(
                &queue->times, (warprsa_size_class)c, contended, now_ns))
            classes |= UINT32_C(1) << c;
    return classes;
}

/* Whether a device has so much to compute that a batch can wait until it is a
 * multiple of the granularity. Its end is not far: something is under way. But
 * no user waits for the end of another's batch, which may be a long one. */
static bool is_busy(const warprsa_queue *queue, unsigned device)
{
    const unsigned granularity = engine_of(queue, device)->engine->granularity;

    return granularity > 1 &&
           atomic_load(&queue->activity[device].running) >=
               BUSY * granularity &&
           !warprsa_keys_are_shared(&queue->keys);
}

/* Whether a ready device other than the CPUs has a worker with nothing to do:
 * it takes what is queued, or waits for more. */
static bool has_idle_other(const warprsa_queue *queue)
{
    const uint32_t ready = atomic_load(&queue->ready);

    for (unsigned i = 0; i < WARPRSA_DEVICES_MAX; i++)
        if (((ready >> i) & 1) != 0 && !engine_of(queue, i)->on_cpus &&
            atomic_load(&queue->activity[i].eventcount.idle) > 0)
            return true;
    return false;
}

/* Those of these classes of which CPUs in the background take requests now: a
 * batch's worth is left over by devices that all are saturated, and would be
 * answered sooner. Not of large classes, whose batches take too long for
 * patience_ms. None if there is no other device, for then it would be idle time
 * alone that callers get. */
static warprsa_class_set helps_with(warprsa_queue *queue, unsigned device,
                                    warprsa_class_set classes)
{
    const unsigned batch_max = engine_of(queue, device)->batch_max;
    warprsa_class_set found = 0;
    uint64_t now_ns = 0;

    classes &= warprsa_classes_below(atomic_load(&queue->others_classes));
    if (classes == 0 || has_idle_other(queue))
        return 0;
    for (unsigned c = 0; c < WARPRSA_CLASS_LARGE; c++) {
        if ((classes >> c & 1) == 0 || waiting_of(queue, c) <= batch_max)
            continue;
        if (now_ns == 0)
            now_ns = warprsa_clock_ns();
        if (!warprsa_starvation_is_paused(&queue->activity[device].starvation,
                                          now_ns) &&
            warprsa_answer_times_cpus_are_sooner(
                &queue->background_times, (warprsa_size_class)c, false, now_ns))
            found |= UINT32_C(1) << c;
    }
    return found;
}

/* The classes that a device takes now, however few requests are queued. A
 * submitter that is told no need not notify anybody: it has read `running`
 * after it queued its request, and the worker that lowers that looks at the
 * queue afterwards. All four are sequentially consistent. */
static warprsa_class_set takes(warprsa_queue *queue, unsigned device)
{
    const warprsa_device_activity *activity = &queue->activity[device];
    const warprsa_queue_engine *from = engine_of(queue, device);
    warprsa_class_set classes = warprsa_classes_below(from->engine->classes);

    if (from->background)
        return helps_with(queue, device, classes);
    if (is_paused(queue, device))
        return 0;
    if (!from->on_cpus)
        return classes;
    classes &= ~warprsa_classes_below(atomic_load(&queue->others_classes)) |
               sooner_on(queue, device);
    if (atomic_load(&activity->running) != 0 && wants_more(queue, device))
        return 0;
    return classes;
}

/* Of a busy device it counts what is queued of all classes: then the oldest is
 * taken, however few there are of its class. */
warprsa_class_set warprsa_queue_takes_now(warprsa_queue *queue, unsigned device)
{
    if (is_busy(queue, device) &&
        waiting_in(queue) < engine_of(queue, device)->engine->granularity)
        return 0;
    return takes(queue, device);
}

/* Whether a device takes a request of this class that has just been queued. A
 * busy one is asked with the fewest looks at what other threads write. That
 * some are not noticed does no harm: the next batch that ends counts all. */
static bool takes_queued(warprsa_queue *queue, unsigned device,
                         warprsa_size_class size)
{
    if (engine_of(queue, device)->background)
        return helps_with(queue, device, warprsa_class_alone(size)) != 0;
    return (!is_busy(queue, device) ||
            waiting_of(queue, size) >=
                engine_of(queue, device)->engine->granularity) &&
           (takes(queue, device) >> size & 1) != 0;
}

/* The place of a device that may take a request of this class among those that
 * may: less is better. Engines are numbered in the order of preference, those
 * in the background last; CPUs beside others may only take what they answer
 * sooner. */
static unsigned rank_of(const warprsa_queue *queue, unsigned device,
                        warprsa_size_class size)
{
    const bool sooner = engine_of(queue, device)->on_cpus &&
                        !engine_of(queue, device)->background &&
                        queue->config.router == NULL &&
                        (unsigned)size < atomic_load(&queue->others_classes);

    return sooner ? 0 : 1 + queue->activity[device].engine;
}

void warprsa_queue_notify_idle(warprsa_queue *queue, warprsa_size_class size)
{
    unsigned count =
        atomic_load_explicit(&queue->device_count, memory_order_acquire);
    warprsa_device_activity *best = NULL;
    unsigned best_rank = UINT_MAX;
    uint32_t least = UINT32_MAX;

    for (unsigned i = 0; i < count; i++) {
        warprsa_device_activity *device = &queue->activity[i];
        unsigned rank;
        uint32_t running;

        if (!warprsa_eventcount_has_waiter(&device->eventcount) ||
            !takes_queued(queue, i, size))
            continue;
        rank = rank_of(queue, i, size);
        running = atomic_load_explicit(&device->running, memory_order_relaxed);
        if (rank < best_rank || (rank == best_rank && running < least)) {
            best_rank = rank;
            least = running;
            best = device;
        }
    }
    if (best != NULL)
        warprsa_eventcount_notify(&best->eventcount);
}

void warprsa_queue_pass_on(warprsa_queue *queue, unsigned device)
{
    if (!engine_of(queue, device)->on_cpus ||
        engine_of(queue, device)->background || !has_answer_times(queue))
        return;
    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        if (warprsa_queue_has(queue,
                              warprsa_class_alone((warprsa_size_class)c)))
            warprsa_queue_notify_idle(queue, (warprsa_size_class)c);
}

void warprsa_queue_rearm_idle(warprsa_queue *queue)
{
    unsigned count = atomic_load(&queue->device_count);

    for (unsigned i = 0; i < count; i++) {
        warprsa_eventcount *eventcount = &queue->activity[i].eventcount;

        if (atomic_load(&eventcount->idle) == 0)
            continue;
        /* The notification that woke one worker has disarmed the eventcount
         * for the others. Arm it for them, then look for work, in this order:
         * a submitter that queues later sees it armed. */
        (void)warprsa_eventcount_prepare_wait(eventcount);
        if (warprsa_queue_has(queue, warprsa_queue_takes_now(queue, i)))
            warprsa_eventcount_notify(eventcount);
    }
}

void warprsa_queue_wake_all(warprsa_queue *queue)
{
    for (unsigned i = 0; i < WARPRSA_DEVICES_MAX; i++)
        warprsa_eventcount_notify_all(&queue->activity[i].eventcount);
}

/* The most requests of a class that a batch of this device should have, without
 * those that would be less than the granularity and can wait. */
static uint32_t whole_groups(warprsa_queue *queue, unsigned device,
                             warprsa_size_class size, uint32_t most)
{
    const unsigned granularity = engine_of(queue, device)->engine->granularity;
    const uint32_t waiting = waiting_of(queue, size);

    if (!is_busy(queue, device) || waiting < granularity || waiting >= most)
        return most;
    return waiting - waiting % granularity;
}

uint32_t warprsa_queue_share(warprsa_queue *queue, unsigned device,
                             warprsa_size_class size)
{
    unsigned count = atomic_load(&queue->device_count);
    unsigned engine = queue->activity[device].engine;
    const warprsa_queue_engine *from = &queue->config.engines[engine];
    uint32_t most =
        warprsa_engine_batch_max(from->engine, from->batch_max, size);
    uint32_t idle_devices = 1;
    uint32_t share;

    for (unsigned i = 0; i < count; i++)
        idle_devices += i != device && queue->activity[i].engine == engine &&
                        atomic_load(&queue->activity[i].eventcount.idle) > 0 &&
                        atomic_load(&queue->activity[i].running) < SHARE_LEAST;
    if (idle_devices == 1)
        return whole_groups(queue, device, size, most);
    share = waiting_in(queue) / idle_devices + 1;
    if (share < SHARE_LEAST)
        share = SHARE_LEAST;
    return share < most ? share : most;
}
