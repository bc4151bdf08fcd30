/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a device's thread does: it takes whatever is queued in one size class
 * and runs it as a batch, again and again until the queue closes.
 */
#include "batching/worker.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/base/clock.h"
#include "batching/device_keys.h"
#include "batching/failover.h"
#include "batching/take.h"

enum {
    STACK_SIZE = 256 * 1024, /* for the driver; this code needs hardly any */
    /* Keys loaded before the next batch, as long as nothing else is queued: 3
     * ms of them at most, so that requests that came together with many new
     * keys share batches. */
    LOADS_AT_ONCE = 16,
    YIELDS_MAX = 4, /* of the CPU before a batch that is not full */
};

/* Whether a failure says nothing against the device. */
static bool is_request_error(warprsa_status status)
{
    return status == WARPRSA_NO_MEMORY || status == WARPRSA_NO_RANDOM ||
           status == WARPRSA_UNSUPPORTED_KEY;
}

static warprsa_class_set all_of(const warprsa_queue_device *device)
{
    return warprsa_classes_below(device->from->engine->classes);
}

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
    for (size_t i = 0; i < count; i++)
        notify_caller(&worker->items[i]);
}

static void refuse_one(warprsa_worker *worker, warprsa_item item,
                       warprsa_cpu_reason reason)
{
    warprsa_key_answered(item.key, 1);
    atomic_fetch_sub(&worker->device->queue->depth, 1);
    answer_item(worker, &item, WARPRSA_REFUSED, reason);
    notify_caller(&item);
}

/* Gives the requests of a chain to another device, or refuses them. The
 * worker's items may be in use, by a batch that missed its deadline. */
static void refuse_chain(warprsa_worker *worker, warprsa_request_chain *chain,
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
            refuse_one(worker, (warprsa_item){.slot = slot, .key = key},
                       reason);
    }
    if (any)
        warprsa_failover_notify(worker);
}

/* Refuses the first `count` items. */
static void refuse_items(warprsa_worker *worker, size_t count,
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

/* Answers the requests of a batch that was computed. */
static void complete_batch(warprsa_worker *worker, size_t count)
{
    warprsa_queue *queue = worker->device->queue;
    uint64_t failed = 0, good = 0;

    count = warprsa_failover_items(worker, count, false);
    for (size_t i = 0; i < count; i++) {
        failed += worker->tasks[i].status == WARPRSA_CHECK_FAILED;
        good += worker->tasks[i].status == WARPRSA_OK;
    }
    warprsa_count(
        &queue->config.counters->device_of[worker->device->number].gpu, good);
    if (failed > 0)
        warprsa_count(&queue->config.counters->checks_failed, failed);
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

static warprsa_cpu_reason why_no_key(warprsa_status status)
{
    if (status == WARPRSA_NO_MEMORY)
        return WARPRSA_CPU_KEY_CACHE_FULL;
    return status == WARPRSA_UNSUPPORTED_KEY ? WARPRSA_CPU_UNSUPPORTED_KEY
                                             : WARPRSA_CPU_ERROR;
}

/* Makes a task of item `from`, which becomes item `to`, with the device's index
 * of its key. */
static void make_task(warprsa_worker *worker, size_t from, size_t to,
                      uint32_t index)
{
    warprsa_item it = worker->items[from];
    warprsa_slot *s = &worker->device->queue->slots.slot[it.slot];

    worker->items[from] = worker->items[to];
    worker->items[to] = it;
    worker->tasks[to] = (warprsa_task){
        .key = index, .input = s->number, .output = warprsa_slot_output(s)};
}

/* Makes tasks of the items, of which the first `pinned` have their keys
 * pinned. Those whose keys are not on the device are set aside. Those that
 * cannot be are refused, but only after the device's keys are unlocked: callers
 * are notified then. Returns how many tasks there are. */
static size_t prepare_batch(warprsa_worker *worker, size_t count)
{
    size_t ready = 0, refused = 0;
    uint64_t now_ns = warprsa_clock_ns();
    uint32_t index;

    warprsa_device_lock_keys(worker);
    for (; ready < worker->pinned; ready++)
        make_task(worker, ready, ready,
                  warprsa_device_pinned_key(worker, worker->items[ready].key));
    for (size_t i = ready; i < count; i++) {
        const warprsa_item *it = &worker->items[i];

        if (warprsa_device_pin_key(worker, it->key, &index)) {
            /* What stands there has been seen already: it is either to be
             * refused, or was set aside. */
            make_task(worker, i, ready++, index);
        } else if (warprsa_device_set_aside(worker, it, now_ns)) {
            worker->items[i].key = NULL;
        } else {
            refused++;
        }
    }
    warprsa_device_unlock_keys(worker);
    for (size_t i = ready; refused > 0; i++)
        if (worker->items[i].key != NULL) {
            refuse_one(worker, worker->items[i], WARPRSA_CPU_KEY_RATE);
            refused--;
        }
    return ready;
}

static unsigned histogram_bin(size_t count)
{
    unsigned bin = 0;

    while ((size_t)1 << bin < count && bin < WARPRSA_HISTOGRAM_BINS - 1)
        bin++;
    return bin;
}

/* Adds a batch's times to the process's. */
static void add_times(warprsa_times times, const uint32_t *bins)
{
    for (unsigned i = 0; i < WARPRSA_TIME_BINS; i++)
        if (bins[i] != 0)
            warprsa_count(&times[i], bins[i]);
}

/* Counts how long the requests of a batch waited until it took them at
 * taken_ns. Returns the mean of that. */
static uint64_t count_waits(const warprsa_worker *worker, size_t count,
                            uint64_t taken_ns)
{
    const warprsa_queue *queue = worker->device->queue;
    warprsa_counters *c = queue->config.counters;
    uint32_t bins[WARPRSA_TIME_BINS] = {0};
    uint64_t sum_ns = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t submitted_ns = atomic_load_explicit(
            &queue->slots.slot[worker->items[i].slot].submitted_ns,
            memory_order_relaxed);
        uint64_t wait_ns =
            taken_ns > submitted_ns ? taken_ns - submitted_ns : 0;

        sum_ns += wait_ns;
        bins[warprsa_time_bin(wait_ns)]++;
    }
    warprsa_count(&c->wait_ns, sum_ns);
    add_times(c->wait_times, bins);
    return sum_ns / count;
}

/* Counts a batch that has ended: when it took its requests, was launched, and
 * had ended. */
static void count_batch(const warprsa_worker *worker, size_t count,
                        uint64_t taken_ns, uint64_t start_ns, uint64_t end_ns)
{
    warprsa_counters *c = worker->device->queue->config.counters;
    warprsa_device_counters *own = &c->device_of[worker->device->number];
    uint64_t max = atomic_load_explicit(&c->batch_max, memory_order_relaxed);
    uint64_t batch_ns = end_ns - taken_ns, compute_ns = end_ns - start_ns;

    warprsa_count(&c->batches, 1);
    warprsa_count(&own->batches, 1);
    warprsa_count(&c->batch_operations, count);
    warprsa_count(&c->batch_sizes[histogram_bin(count)], 1);
    warprsa_count(&c->batch_ns, batch_ns * count);
    warprsa_count(&c->batch_times[warprsa_time_bin(batch_ns)], count);
    warprsa_count(&c->compute_ns, compute_ns);
    warprsa_count(&c->compute_times[warprsa_time_bin(compute_ns)], 1);
    warprsa_count(&own->compute_ns, compute_ns);
    warprsa_count(&own->compute_times[warprsa_time_bin(compute_ns)], 1);
    while (max < count && !atomic_compare_exchange_weak_explicit(
                              &c->batch_max, &max, count, memory_order_relaxed,
                              memory_order_relaxed))
        ;
}

/* What the CPUs take beside other devices says nothing of those. */
static bool answers_alone(const warprsa_worker *worker, warprsa_size_class size)
{
    return !worker->device->from->on_cpus ||
           (unsigned)size >=
               atomic_load(&worker->device->queue->others_classes);
}

/* Counts and traces a batch that has ended, and tells the router how long its
 * requests took. */
static void record_batch(warprsa_worker *worker, warprsa_size_class size,
                         size_t count, uint64_t taken_ns, uint64_t start_ns,
                         bool good)
{
    warprsa_queue *queue = worker->device->queue;
    uint64_t end_ns = warprsa_clock_ns();
    uint64_t wait_ns = count_waits(worker, count, taken_ns);

    count_batch(worker, count, taken_ns, start_ns, end_ns);
    warprsa_queue_trace(queue, 2,
                        "batch device=%u stream=%u class=%u count=%zu "
                        "wait_us=%llu compute_us=%llu",
                        worker->device->number, worker->stream,
                        warprsa_class_bits(size), count,
                        (unsigned long long)(wait_ns / 1000),
                        (unsigned long long)((end_ns - start_ns) / 1000));
    if (good)
        warprsa_queue_note_answer(queue, worker->device->number, size,
                                  wait_ns + end_ns - taken_ns,
                                  end_ns - start_ns, end_ns);
    if (good && queue->config.router != NULL && answers_alone(worker, size))
        warprsa_router_device_response(
            queue->config.router, size,
            atomic_load_explicit(&queue->depth, memory_order_relaxed),
            wait_ns + end_ns - taken_ns);
}

/* Answers the requests of a batch that has ended or missed its deadline, or has
 * another device do so. A device that failed is taken out of use first, so that
 * the next request of a caller that was refused does not go there. */
static void finish_batch(warprsa_worker *worker, size_t count,
                         warprsa_status status)
{
    if (status == WARPRSA_OK || is_request_error(status))
        warprsa_device_unpin_keys(worker);
    if (status == WARPRSA_OK) {
        warprsa_device_worked(worker);
        complete_batch(worker, count);
    } else if (status == WARPRSA_DEADLINE) {
        warprsa_device_overdue(worker);
        refuse_items(worker, count, WARPRSA_CPU_DEADLINE);
    } else {
        if (!is_request_error(status))
            warprsa_device_failed(worker, status);
        refuse_items(worker, warprsa_failover_items(worker, count, true),
                     WARPRSA_CPU_ERROR);
    }
}

/* Starts the batch. CPUs compute it therein: then the router and the queue
 * learn how long. */
static warprsa_status start_batch(warprsa_worker *worker,
                                  warprsa_size_class size, size_t count)
{
    warprsa_queue_device *device = worker->device;
    warprsa_queue *queue = device->queue;
    warprsa_router *router = queue->config.router;
    uint64_t begun_ns, start_ns, cpu_ns;
    warprsa_status status;

    if (!device->from->on_cpus)
        return device->from->engine->start(device->handle, worker->stream, size,
                                           worker->tasks, count);
    begun_ns = router != NULL ? warprsa_router_helper_begin(router) : 0;
    start_ns = warprsa_clock_ns();
    cpu_ns = warprsa_thread_cpu_ns();
    status = device->from->engine->start(device->handle, worker->stream, size,
                                         worker->tasks, count);
    warprsa_queue_note_cpu_time(queue, device->number,
                                warprsa_thread_cpu_ns() - cpu_ns,
                                warprsa_clock_ns() - start_ns);
    if (router != NULL)
        warprsa_router_helper_end(router, begun_ns);
    return status;
}

/* So many more requests are with the device; 0 - n: n fewer. */
static void count_running(warprsa_queue_device *device, uint32_t more)
{
    warprsa_counters *counters = device->queue->config.counters;

    atomic_store_explicit(&counters->device_of[device->number].running,
                          atomic_fetch_add(&device->activity->running, more) +
                              more,
                          memory_order_relaxed);
}

/* Has outputs that their slots have no room for yet written to memory of the
 * worker's. False: there is none. */
static bool place_outputs(warprsa_worker *worker, warprsa_size_class size,
                          size_t count)
{
    const warprsa_slots *slots = &worker->device->queue->slots;

    if (size < WARPRSA_CLASS_LARGE)
        return true;
    if (worker->outputs == NULL)
        worker->outputs =
            calloc(worker->device->from->batch_max, WARPRSA_MODULUS_BYTES_MAX);
    for (size_t i = 0; i < count && worker->outputs != NULL; i++)
        if (warprsa_slot_is_shared(&slots->slot[worker->items[i].slot]))
            worker->tasks[i].output =
                worker->outputs + i * WARPRSA_MODULUS_BYTES_MAX;
    return worker->outputs != NULL;
}

/* A batch that failed as a whole may have left some of its results there. */
static void free_outputs(warprsa_worker *worker)
{
    if (worker->outputs == NULL)
        return;
    explicit_bzero(worker->outputs, (size_t)worker->device->from->batch_max *
                                        WARPRSA_MODULUS_BYTES_MAX);
    free(worker->outputs);
}

/* Starts the batch, waits for it and answers it. taken_ns: when it took its
 * requests. */
static void run_batch(warprsa_worker *worker, warprsa_size_class size,
                      size_t count, uint64_t taken_ns)
{
    warprsa_queue_device *device = worker->device;
    warprsa_queue *queue = device->queue;
    const warprsa_engine *engine = device->from->engine;
    uint64_t start_ns = warprsa_clock_ns();
    warprsa_status status = WARPRSA_NO_MEMORY;

    if (place_outputs(worker, size, count))
        status = start_batch(worker, size, count);
    if (status == WARPRSA_OK) {
        status = engine->wait(device->handle, worker->stream,
                              queue->config.deadline_ms);
        record_batch(worker, size, count, taken_ns, start_ns,
                     status == WARPRSA_OK);
    }
    count_running(device, 0 - (uint32_t)count);
    finish_batch(worker, count, status);
}

/* One batch; none, if the keys of all that was queued have yet to be loaded.
 * False: nothing was queued. */
static bool next_batch(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->device;
    warprsa_queue *queue = device->queue;
    warprsa_request_chain abandoned = {0};
    warprsa_size_class size;
    size_t taken, count;
    uint64_t taken_ns;

    if (!warprsa_take_batch(worker, &size, &taken, &abandoned))
        return false;
    refuse_chain(worker, &abandoned, WARPRSA_CPU_DEADLINE);
    taken_ns = warprsa_clock_ns();
    count = prepare_batch(worker, taken);
    count_running(device, (uint32_t)count);
    /* There may be more requests, or keys to be loaded meanwhile. */
    warprsa_queue_rearm_idle(queue);
    if (count > 0 && warprsa_device_has_loads(device))
        warprsa_eventcount_notify(&device->activity->eventcount);
    if (count > 0)
        run_batch(worker, size, count, taken_ns);
    return true;
}

/* Loads a key that requests wait for. False: there was none to load. */
static bool load_key(warprsa_worker *worker)
{
    warprsa_request_chain refused = {0};
    warprsa_status status = WARPRSA_OK;
    bool loaded = warprsa_device_load_key(worker, &status, &refused);

    if (status != WARPRSA_OK && !is_request_error(status))
        warprsa_device_failed(worker, status);
    refuse_chain(worker, &refused, why_no_key(status));
    /* For its requests, while this worker may go on to the next key. */
    if (loaded)
        warprsa_eventcount_notify(&worker->device->activity->eventcount);
    return loaded;
}

static bool may_load(warprsa_worker *worker)
{
    return warprsa_device_has_loads(worker->device) &&
           warprsa_device_usable(worker);
}

/* Refuses the requests that were set aside, if their keys will not be loaded
 * any more. */
static void refuse_stranded(warprsa_worker *worker)
{
    warprsa_request_chain refused = {0};
    warprsa_cpu_reason reason = WARPRSA_CPU_ERROR;
    bool overdue;

    warprsa_device_strand(worker, &overdue, &refused);
    if (overdue)
        reason = WARPRSA_CPU_DEADLINE;
    else if (atomic_load(&worker->device->queue->closing))
        reason = WARPRSA_CPU_NO_DEVICE;
    refuse_chain(worker, &refused, reason);
}

/* Lets threads that wait for this CPU go first, as long as a batch had better
 * wait for more requests: they may be about to submit some. Without such
 * threads it returns at once. */
static void let_callers_submit(const warprsa_worker *worker)
{
    warprsa_queue *queue = worker->device->queue;

    for (unsigned i = 0;
         i < YIELDS_MAX && warprsa_queue_has(queue, all_of(worker->device)) &&
         warprsa_queue_wants_more(queue, worker->device->number);
         i++)
        sched_yield();
}

/* Wipes the keys that nobody holds any more; false: the device has failed. */
static bool unload_released(warprsa_worker *worker)
{
    warprsa_status status = warprsa_device_unload_released(worker);

    if (status != WARPRSA_OK)
        warprsa_device_failed(worker, status);
    return status == WARPRSA_OK;
}

/* What there is to do for a worker; false: nothing. From inside the device. A
 * batch waits for the load of one key at most, other than its own. */
static bool work(warprsa_worker *worker)
{
    bool worked;

    let_callers_submit(worker);
    worked = unload_released(worker) && next_batch(worker);
    for (unsigned i = 0;
         i < LOADS_AT_ONCE && may_load(worker) && load_key(worker) &&
         !warprsa_queue_has(worker->device->queue,
                            warprsa_take_classes(worker));
         i++)
        worked = true;
    refuse_stranded(worker);
    return worked;
}

/* Whether an idle worker must not sleep. */
static bool anything_to_do(warprsa_worker *worker)
{
    warprsa_queue *queue = worker->device->queue;

    return atomic_load(&queue->closing) ||
           atomic_load(&queue->keys.unloads[worker->device->number]) != 0 ||
           warprsa_queue_has(queue, warprsa_take_classes(worker)) ||
           warprsa_device_has_loads(worker->device) ||
           !warprsa_device_usable(worker);
}

static void sleep_until_notified(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->device;
    warprsa_queue *queue = device->queue;
    uint64_t until_ns =
        warprsa_clock_ns() + queue->config.deadline_ms * WARPRSA_NS_PER_MS;
    uint32_t word;

    atomic_fetch_add(&device->activity->eventcount.idle, 1);
    word = warprsa_eventcount_prepare_wait(&device->activity->eventcount);
    if (!anything_to_do(worker)) {
        warprsa_queue_pass_on(queue, device->number);
        warprsa_futex_wait(&device->activity->eventcount.word, word, until_ns);
        /* Nothing for as long as a deadline, and yet there are requests: the
         * worker that has them may hang in its driver. */
        if (atomic_load(&queue->depth) != 0 && warprsa_clock_ns() >= until_ns)
            warprsa_slots_notify_expired(&queue->slots);
    }
    atomic_fetch_sub(&device->activity->eventcount.idle, 1);
}

static bool has_threads(warprsa_queue_device *device)
{
    bool any;

    pthread_mutex_lock(&device->lock);
    any = device->threads != 0;
    pthread_mutex_unlock(&device->lock);
    return any;
}

void warprsa_workers_start_from(warprsa_queue *queue, unsigned first,
                                unsigned devices)
{
    for (unsigned i = first; i < devices; i++) {
        warprsa_queue_device *device = &queue->devices[i];

        if (warprsa_workers_start(device))
            continue;
        warprsa_queue_trace(queue, 1,
                            "device %u: not all of its threads started", i);
        if (!has_threads(device))
            warprsa_device_give_up(device, "no thread could be started");
    }
}

/* For the first worker: waits until the others of its device have been
 * started. False: they could not be. A driver takes seconds to open a device,
 * which must not be in vain in a process that may start no more threads. */
static bool others_started(warprsa_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    pthread_mutex_unlock(&queue->lock);
    return !atomic_load(&queue->closing);
}

static void *worker_main(void *arg)
{
    warprsa_worker *worker = arg;
    warprsa_queue *queue = worker->device->queue;
    char name[16];

    snprintf(name, sizeof(name), "warprsa/%u.%u", worker->device->number % 100,
             worker->stream % 1000);
    (void)pthread_setname_np(pthread_self(), name);
    if (worker->device->number == 0 && worker->stream == 0 &&
        others_started(queue))
        warprsa_workers_start_from(queue, 1, warprsa_devices_discover(queue));
    while (warprsa_device_enter(worker)) {
        bool worked = work(worker);

        warprsa_device_leave(worker);
        if (!worked)
            sleep_until_notified(worker);
    }
    /* Whichever worker ends last refuses what is left: a load under way is
     * one worker's, which ends later. */
    refuse_stranded(worker);
    warprsa_device_end(worker);
    free(worker->items);
    free(worker->tasks);
    free_outputs(worker);
    warprsa_device_ended(worker);
    warprsa_queue_drop(queue);
    return NULL;
}

/* Creates a thread that takes no signals, on a small stack. */
static int create_thread(pthread_t *thread, void *(*main)(void *), void *arg)
{
    pthread_attr_t attributes;
    sigset_t all, old;
    int error = pthread_attr_init(&attributes);

    if (error != 0)
        return error;
    error = pthread_attr_setstacksize(&attributes, STACK_SIZE);
    sigfillset(&all);
    if (error == 0)
        error = pthread_sigmask(SIG_SETMASK, &all, &old);
    if (error == 0) {
        error = pthread_create(thread, &attributes, main, arg);
        (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    pthread_attr_destroy(&attributes);
    return error;
}

/* With the queue's and the device's lock held. */
static bool start_worker(warprsa_worker *worker)
{
    warprsa_queue *queue = worker->device->queue;
    unsigned batch_max = worker->device->from->batch_max;

    worker->items = calloc(batch_max, sizeof(*worker->items));
    worker->tasks = calloc(batch_max, sizeof(*worker->tasks));
    if (worker->items != NULL && worker->tasks != NULL) {
        warprsa_queue_reference(queue);
        worker->device->threads++;
        worker->started =
            create_thread(&worker->thread, worker_main, worker) == 0;
        if (worker->started)
            return true;
        worker->device->threads--;
        warprsa_queue_drop(queue);
    }
    free(worker->items);
    free(worker->tasks);
    return false;
}

/* With the queue's and the device's lock held. */
static bool start_all(warprsa_queue_device *device)
{
    unsigned streams = device->from->streams;
    bool all = true;

    device->workers = calloc(streams, sizeof(*device->workers));
    if (device->workers == NULL)
        return false;
    device->workers_count = streams;
    for (unsigned s = 0; s < streams && all; s++) {
        device->workers[s].device = device;
        device->workers[s].stream = s;
        all = !atomic_load(&device->queue->closing) &&
              start_worker(&device->workers[s]);
    }
    return all;
}

bool warprsa_workers_start(warprsa_queue_device *device)
{
    warprsa_queue *queue = device->queue;
    bool all;

    pthread_mutex_lock(&device->lock);
    pthread_mutex_lock(&queue->lock);
    all = start_all(device);
    if (!all && device->number == 0)
        atomic_store(&queue->closing, true);
    pthread_mutex_unlock(&queue->lock);
    pthread_mutex_unlock(&device->lock);
    return all;
}

/* The next worker from `*stream` on that was started, and sets *stream to the
 * stream behind its; NULL: there is none. Threads are started under the same
 * lock. */
static warprsa_worker *next_started(warprsa_queue_device *device,
                                    unsigned *stream)
{
    warprsa_worker *worker = NULL;

    pthread_mutex_lock(&device->queue->lock);
    for (; *stream < device->workers_count && worker == NULL; (*stream)++)
        if (device->workers[*stream].started)
            worker = &device->workers[*stream];
    pthread_mutex_unlock(&device->queue->lock);
    return worker;
}

bool warprsa_workers_join(warprsa_queue_device *device, uint64_t until_ns)
{
    warprsa_worker *worker;
    unsigned stream = 0;
    bool ended = true;

    while ((worker = next_started(device, &stream)) != NULL) {
        if (warprsa_device_wait_ended(worker, until_ns)) {
            pthread_join(worker->thread, NULL);
        } else {
            warprsa_queue_trace(device->queue, 1,
                                "device %u: a thread hangs, left alone",
                                device->number);
            pthread_detach(worker->thread);
            ended = false;
        }
    }
    return ended;
}
