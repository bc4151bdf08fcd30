/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which device takes which requests: see scheduling.h.
 */
#include "batching/queue/scheduling.h"

#include <limits.h>

#include "batching/base/clock.h"
#include "batching/queue/scheduling_rules.h"

void warprsa_queue_note_cpu_time(warprsa_queue *queue, unsigned device,
                                 uint64_t cpu_ns, uint64_t elapsed_ns)
{
    _Atomic uint32_t *average = &queue->activity[device].waits_for_cpu;
    uint32_t old = atomic_load_explicit(average, memory_order_relaxed);

    atomic_store_explicit(average,
                          warprsa_rule_waits_for_cpu(old, cpu_ns, elapsed_ns),
                          memory_order_relaxed);
}

/* Whether the threads of a CPU device lately had to wait for a CPU. */
static bool is_contended(const warprsa_queue *queue, unsigned device)
{
    return atomic_load_explicit(&queue->activity[device].waits_for_cpu,
                                memory_order_relaxed) >= WARPRSA_RULE_CONTENDED;
}

bool warprsa_queue_would_be_fuller(warprsa_queue *queue, unsigned device)
{
    const warprsa_queue_engine *engine = warprsa_queue_engine_of(queue, device);

    return engine->on_cpus &&
           warprsa_backlog_count(&queue->backlog) < engine->batch_max;
}

/* Whether a batch had better wait for the end of another one: threads have to
 * wait for CPUs that others use, perhaps to submit requests. */
static bool wants_more(warprsa_queue *queue, unsigned device)
{
    return is_contended(queue, device) &&
           warprsa_queue_would_be_fuller(queue, device);
}

/* What a device that pauses has to know of the others. */
static void look_at_others(const warprsa_queue *queue, unsigned device,
                           warprsa_rule_other *others)
{
    const uint32_t ready = atomic_load(&queue->board.ready);

    for (unsigned i = 0; i < WARPRSA_DEVICES_MAX; i++) {
        const warprsa_queue_engine *from;

        others[i] = (warprsa_rule_other){0};
        /* The engine of one that is not ready may be set just now. */
        if (i == device || ((ready >> i) & 1) == 0)
            continue;
        from = warprsa_queue_engine_of(queue, i);
        others[i].classes = from->on_cpus ? 0 : from->engine->classes;
        others[i].paused_until_ns =
            atomic_load(&queue->activity[i].paused_until_ns);
    }
}

/* Whether the device pauses, and another one takes whatever is queued. The CPUs
 * do not count as another one. */
static bool is_paused(const warprsa_queue *queue, unsigned device)
{
    const uint64_t until_ns = atomic_load_explicit(
        &queue->activity[device].paused_until_ns, memory_order_relaxed);
    warprsa_rule_other others[WARPRSA_DEVICES_MAX];
    uint64_t now_ns;

    if (until_ns == 0)
        return false;
    now_ns = warprsa_clock_ns();
    if (now_ns >= until_ns)
        return false;
    look_at_others(queue, device, others);
    return warprsa_rule_stands_aside(
        warprsa_queue_engine_of(queue, device)->engine->classes, others,
        WARPRSA_DEVICES_MAX, now_ns);
}

/* The classes that other devices take, too, and the CPUs would answer sooner.
 */
static warprsa_class_set sooner_on(const warprsa_queue *queue, unsigned device)
{
    const unsigned others = atomic_load(&queue->board.others_classes);
    const bool contended = is_contended(queue, device);
    warprsa_class_set classes = 0;
    uint64_t now_ns;

    if (others == 0 || !queue->uses_answer_times)
        return 0;
    now_ns = warprsa_clock_ns();
    for (unsigned c = 0; c < others; c++)
        if (warprsa_answer_times_cpus_are_sooner(
                &queue->times, (warprsa_size_class)c, contended, now_ns))
            classes |= UINT32_C(1) << c;
    return classes;
}

/* The granularity of a device's engine; 1 if none of its batches waits for
 * another one: no user waits for the end of another's batch, which may be
 * long. */
static unsigned groups_of(const warprsa_queue *queue, unsigned device)
{
    return warprsa_keys_are_shared(&queue->keys)
               ? 1
               : warprsa_queue_engine_of(queue, device)->engine->granularity;
}

/* Whether a batch of this class can wait until it is a multiple of the
 * granularity. */
static bool is_busy(const warprsa_queue *queue, unsigned device,
                    warprsa_size_class size)
{
    return warprsa_rule_has_plenty(
        groups_of(queue, device),
        atomic_load(&queue->activity[device].running_of[size]));
}

/* What there is to do of a class. */
static warprsa_rule_load load_of(const warprsa_queue *queue, unsigned device,
                                 unsigned size)
{
    return (warprsa_rule_load){
        warprsa_backlog_of(&queue->backlog, size),
        atomic_load(&queue->activity[device].running_of[size]),
        atomic_load(&queue->keys.pinned[device][size]),
        atomic_load(&queue->keys.pinned_often[device][size])};
}

/* The classes of which so much is queued that the device takes any. */
static warprsa_class_set enough_of(const warprsa_queue *queue, unsigned device)
{
    const unsigned granularity = groups_of(queue, device);
    warprsa_rule_load loads[WARPRSA_CLASSES];

    if (granularity <= 1)
        return warprsa_classes_below(WARPRSA_CLASSES);
    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        loads[c] = load_of(queue, device, c);
    return warprsa_rule_classes(granularity, loads, WARPRSA_CLASSES);
}

/* The classes that a device takes now, however few requests are queued. A
 * submitter that is told no need not notify anybody: it has read `running`
 * after it queued its request, and the worker that lowers `running` looks at
 * the queue afterwards. All four accesses are sequentially consistent. */
static warprsa_class_set takes(warprsa_queue *queue, unsigned device)
{
    const warprsa_device_activity *activity = &queue->activity[device];
    const warprsa_queue_engine *from = warprsa_queue_engine_of(queue, device);
    warprsa_class_set classes = warprsa_classes_below(from->engine->classes);

    if (is_paused(queue, device))
        return 0;
    if (!from->on_cpus)
        return classes;
    classes &=
        ~warprsa_classes_below(atomic_load(&queue->board.others_classes)) |
        sooner_on(queue, device);
    if (atomic_load(&activity->running) != 0 && wants_more(queue, device))
        return 0;
    return classes;
}

warprsa_class_set warprsa_queue_takes_now(warprsa_queue *queue, unsigned device)
{
    const warprsa_class_set classes = enough_of(queue, device);

    return classes != 0 ? classes & takes(queue, device) : 0;
}

/* Whether a device takes a request of this class that has just been queued. One
 * that is out of use does not, though its eventcount may still be armed, by a
 * thread that saw its workers idle just before. */
static bool takes_queued(warprsa_queue *queue, unsigned device,
                         warprsa_size_class size)
{
    const unsigned granularity = groups_of(queue, device);
    const warprsa_rule_load load = load_of(queue, device, size);

    return (atomic_load(&queue->board.ready) >> device & 1) != 0 &&
           load.queued >= warprsa_rule_enough(
                              granularity, warprsa_rule_batch_of(size), load) &&
           (takes(queue, device) >> size & 1) != 0;
}

/* The rank of a device among those that may take a request of this class: the
 * lowest is best. Engines are numbered in the order of preference; CPUs beside
 * others may only take what they answer sooner. */
static unsigned rank_of(const warprsa_queue *queue, unsigned device,
                        warprsa_size_class size)
{
    const bool sooner =
        warprsa_queue_engine_of(queue, device)->on_cpus &&
        queue->config.router == NULL &&
        (unsigned)size < atomic_load(&queue->board.others_classes);

    return sooner ? 0 : 1 + queue->activity[device].engine;
}

void warprsa_queue_notify_idle(warprsa_queue *queue, warprsa_size_class size)
{
    unsigned count =
        atomic_load_explicit(&queue->board.device_count, memory_order_acquire);
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

void warprsa_queue_notify_of_all(warprsa_queue *queue)
{
    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        if (warprsa_backlog_has(&queue->backlog,
                                warprsa_class_alone((warprsa_size_class)c)))
            warprsa_queue_notify_idle(queue, (warprsa_size_class)c);
}

void warprsa_queue_pass_on(warprsa_queue *queue, unsigned device)
{
    if (warprsa_queue_engine_of(queue, device)->on_cpus &&
        queue->uses_answer_times)
        warprsa_queue_notify_of_all(queue);
}

void warprsa_queue_rearm_idle(warprsa_queue *queue)
{
    unsigned count = atomic_load(&queue->board.device_count);

    for (unsigned i = 0; i < count; i++) {
        warprsa_eventcount *eventcount = &queue->activity[i].eventcount;

        if (atomic_load(&eventcount->idle) == 0)
            continue;
        /* The notification that woke one worker has disarmed the eventcount
         * for the others. Arm it for them, then look for work, in this order:
         * a submitter that queues later sees it armed. */
        (void)warprsa_eventcount_prepare_wait(eventcount);
        if (warprsa_backlog_has(&queue->backlog,
                                warprsa_queue_takes_now(queue, i)))
            warprsa_eventcount_notify(eventcount);
    }
}

void warprsa_queue_wake_all(warprsa_queue *queue)
{
    for (unsigned i = 0; i < WARPRSA_DEVICES_MAX; i++)
        warprsa_eventcount_notify_all(&queue->activity[i].eventcount);
}

uint32_t warprsa_queue_share(warprsa_queue *queue, unsigned device,
                             warprsa_size_class size)
{
    unsigned count = atomic_load(&queue->board.device_count);
    unsigned engine = queue->activity[device].engine;
    const warprsa_queue_engine *from = &queue->config.engines[engine];
    uint32_t most =
        warprsa_engine_batch_max(from->engine, from->batch_max, size);
    uint32_t idle_devices = 1;

    for (unsigned i = 0; i < count; i++)
        idle_devices +=
            i != device && queue->activity[i].engine == engine &&
            atomic_load(&queue->activity[i].eventcount.idle) > 0 &&
            atomic_load(&queue->activity[i].running) < WARPRSA_RULE_SHARE_LEAST;
    if (idle_devices > 1)
        return warprsa_rule_share(idle_devices,
                                  warprsa_backlog_count(&queue->backlog), most);
    return warprsa_rule_whole_groups(
        is_busy(queue, device, size), from->engine->granularity,
        warprsa_backlog_of(&queue->backlog, size), most);
}
