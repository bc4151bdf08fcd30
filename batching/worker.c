/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a device's thread does: it takes whatever is queued in one size class
 * and runs it as a batch, again and again until the queue closes.
 */
#include "batching/worker.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "batching/base/clock.h"

enum {
    STACK_SIZE = 256 * 1024, /* for the driver; this code needs hardly any */
    TAKE_STEP = 64,          /* requests taken from a ring at once */
};

/* Whether a failure says nothing against the device. */
static bool is_request_error(warprsa_status status)
{
    return status == WARPRSA_NO_MEMORY || status == WARPRSA_NO_RANDOM ||
           status == WARPRSA_UNSUPPORTED_KEY;
}

/* The class whose oldest request has waited longest; -1: nothing is queued. */
static int oldest_class(warprsa_queue *queue)
{
    uint64_t oldest = UINT64_MAX;
    int found = -1;

    for (int c = 0; c < WARPRSA_CLASSES; c++) {
        uint32_t slot;
        uint64_t submitted_ns;

        if (!warprsa_ring_peek(&queue->queued[c], &slot))
            continue;
        submitted_ns = atomic_load_explicit(
            &queue->slots.slot[slot].submitted_ns, memory_order_relaxed);
        if (found < 0 || submitted_ns < oldest) {
            oldest = submitted_ns;
            found = c;
        }
    }
    return found;
}

/* Takes requests of a class for one batch; returns how many. */
static size_t take_batch(warprsa_worker *worker, warprsa_size_class size)
{
    warprsa_queue *queue = worker->device->queue;
    uint32_t most = warprsa_queue_share(queue, worker->device->number);
    size_t count = 0;
    uint32_t abandoned = 0, taken;
    uint32_t slots[TAKE_STEP];

    do {
        uint32_t step = most - (uint32_t)count;

        taken = warprsa_ring_take(&queue->queued[size], slots,
                                  step < TAKE_STEP ? step : TAKE_STEP);
        for (uint32_t i = 0; i < taken; i++)
            warprsa_slots_prefetch(&queue->slots, slots[i]);
        for (uint32_t i = 0; i < taken; i++) {
            warprsa_key *key;

            if (warprsa_slots_claim(&queue->slots, slots[i], &key)) {
                worker->items[count++] = (warprsa_item){slots[i], key};
            } else {
                warprsa_key_drop(key, 1);
                abandoned++;
            }
        }
    } while (taken > 0 && count < most);
    if (abandoned > 0)
        atomic_fetch_sub(&queue->depth, abandoned);
    return count;
}

/* Drops the references of requests about to be answered. Not after the answer:
 * a caller that then releases its key must find itself to be the last. Equal
 * keys are dropped at once, since one key is the usual case. */
static void drop_keys(warprsa_worker *worker, size_t first, size_t count)
{
    for (size_t i = 0; i < count;) {
        warprsa_key *key = worker->items[first + i].key;
        uint32_t run = 0;

        while (i < count && worker->items[first + i].key == key) {
            run++;
            i++;
        }
        warprsa_key_drop(key, run);
    }
}

/* Refuses items first .. first + count - 1. */
static void refuse_items(warprsa_worker *worker, size_t first, size_t count,
                         warprsa_cpu_reason reason)
{
    warprsa_queue *queue = worker->device->queue;

    drop_keys(worker, first, count);
    atomic_fetch_sub(&queue->depth, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        warprsa_slots_complete(&queue->slots, worker->items[first + i].slot,
                               WARPRSA_REFUSED, reason);
}

/* Answers the requests of a batch that was computed. */
static void complete_batch(warprsa_worker *worker, size_t count)
{
    warprsa_queue *queue = worker->device->queue;
    uint64_t failed = 0, good = 0;

    for (size_t i = 0; i < count; i++) {
        failed += worker->tasks[i].status == WARPRSA_CHECK_FAILED;
        good += worker->tasks[i].status == WARPRSA_OK;
    }
    warprsa_count(
        &queue->config.counters->device_of[worker->device->number].gpu, good);
    if (failed > 0)
        warprsa_count(&queue->config.counters->checks_failed, failed);
    drop_keys(worker, 0, count);
    atomic_fetch_sub(&queue->depth, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        warprsa_status status = worker->tasks[i].status;

        warprsa_slots_complete(
            &queue->slots, worker->items[i].slot,
            status == WARPRSA_OK ? WARPRSA_DONE : WARPRSA_REFUSED,
            status == WARPRSA_CHECK_FAILED ? WARPRSA_CPU_CHECK_FAILED
                                           : WARPRSA_CPU_ERROR);
    }
}

/* The index of an item's key on the device. Once the device has failed
 * (*failure), it is not called any more. */
static warprsa_status key_index(warprsa_worker *worker, warprsa_key *key,
                                warprsa_status *failure, uint32_t *index)
{
    warprsa_status status = *failure;

    if (status != WARPRSA_OK)
        return status;
    status = warprsa_device_pin_key(worker, key, index);
    if (status != WARPRSA_OK && !is_request_error(status))
        *failure = status;
    return status;
}

static warprsa_cpu_reason why_no_key(warprsa_status status)
{
    if (status == WARPRSA_NO_MEMORY)
        return WARPRSA_CPU_KEY_CACHE_FULL;
    return status == WARPRSA_DEADLINE ? WARPRSA_CPU_DEADLINE
                                      : WARPRSA_CPU_ERROR;
}

/* Makes tasks of the items. Those whose key cannot be loaded are refused, but
 * only after the device's keys are unlocked: callers are notified then. Sets
 * *failure if the device failed. Returns how many are left. */
static size_t prepare_batch(warprsa_worker *worker, size_t count,
                            warprsa_status *failure)
{
    warprsa_queue *queue = worker->device->queue;
    size_t ready = 0;

    *failure = WARPRSA_OK;
    warprsa_device_lock_keys(worker);
    for (size_t i = 0; i < count; i++) {
        warprsa_item it = worker->items[i];
        warprsa_slot *s = &queue->slots.slot[it.slot];
        uint32_t index = 0;
        warprsa_status status = key_index(worker, it.key, failure, &index);

        worker->tasks[i].status = status;
        if (status != WARPRSA_OK)
            continue;
        /* Move it to the front part: those to be refused stay behind. */
        worker->items[i] = worker->items[ready];
        worker->tasks[i].status = worker->tasks[ready].status;
        worker->items[ready] = it;
        worker->tasks[ready] = (warprsa_task){
            .key = index, .input = s->input, .output = s->output};
        ready++;
    }
    warprsa_device_unlock_keys(worker);
    if (*failure != WARPRSA_OK)
        warprsa_device_failed(worker, *failure);
    for (size_t i = ready; i < count; i++)
        refuse_items(worker, i, 1, why_no_key(worker->tasks[i].status));
    return ready;
}

static unsigned histogram_bin(size_t count)
{
    unsigned bin = 0;

    while ((size_t)1 << bin < count && bin < WARPRSA_HISTOGRAM_BINS - 1)
        bin++;
    return bin;
}

/* The mean time its requests waited for a batch that was started at
 * start_ns. */
static uint64_t mean_wait_ns(const warprsa_worker *worker, size_t count,
                             uint64_t start_ns)
{
    const warprsa_queue *queue = worker->device->queue;
    uint64_t wait_ns = 0;

    for (size_t i = 0; i < count; i++)
        wait_ns += start_ns -
                   atomic_load_explicit(
                       &queue->slots.slot[worker->items[i].slot].submitted_ns,
                       memory_order_relaxed);
    return wait_ns / count;
}

/* Counts a batch that has ended. */
static void count_batch(const warprsa_worker *worker, warprsa_size_class size,
                        size_t count, uint64_t wait_ns, uint64_t compute_ns)
{
    const warprsa_queue *queue = worker->device->queue;
    warprsa_counters *c = queue->config.counters;
    warprsa_device_counters *own = &c->device_of[worker->device->number];
    uint64_t max = atomic_load_explicit(&c->batch_max, memory_order_relaxed);

    warprsa_count(&c->batches, 1);
    warprsa_count(&own->batches, 1);
    warprsa_count(&c->batch_sizes[histogram_bin(count)], 1);
    warprsa_count(&c->wait_ns, wait_ns * count);
    warprsa_count(&c->compute_ns, compute_ns);
    warprsa_count(&own->compute_ns, compute_ns);
    while (max < count && !atomic_compare_exchange_weak_explicit(
                              &c->batch_max, &max, count, memory_order_relaxed,
                              memory_order_relaxed))
        ;
    warprsa_queue_trace(queue, 2,
                        "batch device=%u stream=%u class=%u count=%zu "
                        "wait_us=%llu compute_us=%llu",
                        worker->device->ordinal, worker->stream,
                        1024 * ((unsigned)size + 1), count,
                        (unsigned long long)(wait_ns / 1000),
                        (unsigned long long)(compute_ns / 1000));
}

/* Counts a batch that has ended, and tells the router how long it took. */
static void record_batch(warprsa_worker *worker, warprsa_size_class size,
                         size_t count, uint64_t start_ns, bool good)
{
    warprsa_queue *queue = worker->device->queue;
    uint64_t now_ns = warprsa_clock_ns();
    uint64_t wait_ns = mean_wait_ns(worker, count, start_ns);

    count_batch(worker, size, count, wait_ns, now_ns - start_ns);
    if (good && queue->config.router != NULL)
        warprsa_router_device_response(
            queue->config.router, size,
            atomic_load_explicit(&queue->depth, memory_order_relaxed),
            wait_ns + now_ns - start_ns);
}

/* Answers the requests of a batch that has ended or missed its deadline. A
 * device that failed is taken out of use first, so that the next request of a
 * caller that was refused does not go there. */
static void finish_batch(warprsa_worker *worker, size_t count,
                         warprsa_status status)
{
    if (status != WARPRSA_DEADLINE)
        warprsa_device_unpin_keys(worker);
    if (status == WARPRSA_OK) {
        warprsa_device_worked(worker);
        complete_batch(worker, count);
    } else if (status == WARPRSA_DEADLINE) {
        warprsa_device_overdue(worker);
        refuse_items(worker, 0, count, WARPRSA_CPU_DEADLINE);
    } else {
        if (!is_request_error(status))
            warprsa_device_failed(worker, status);
        refuse_items(worker, 0, count, WARPRSA_CPU_ERROR);
    }
}

/* Starts the batch, waits for it and answers it. */
static void run_batch(warprsa_worker *worker, warprsa_size_class size,
                      size_t count)
{
    warprsa_queue_device *device = worker->device;
    warprsa_queue *queue = device->queue;
    const warprsa_engine *engine = queue->config.engine;
    uint64_t start_ns = warprsa_clock_ns();
    warprsa_status status = engine->start(device->handle, worker->stream, size,
                                          worker->tasks, count);

    if (status == WARPRSA_OK) {
        status = engine->wait(device->handle, worker->stream,
                              queue->config.deadline_ms);
        record_batch(worker, size, count, start_ns, status == WARPRSA_OK);
    }
    atomic_fetch_sub(&device->activity->running, (uint32_t)count);
    finish_batch(worker, count, status);
}

/* One batch of the class whose oldest request has waited longest. From inside
 * the device. False: nothing was queued. */
static bool next_batch(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->device;
    warprsa_queue *queue = device->queue;
    warprsa_status failure;
    size_t taken, count;
    int size;

    warprsa_device_unload_released(worker);
    size = oldest_class(queue);
    if (size < 0)
        return false;
    taken = take_batch(worker, (warprsa_size_class)size);
    atomic_fetch_add(&device->activity->running, (uint32_t)taken);
    warprsa_queue_rearm_idle(queue);
    count = prepare_batch(worker, taken, &failure);
    atomic_fetch_sub(&device->activity->running, (uint32_t)(taken - count));
    if (failure == WARPRSA_OK && count > 0) {
        run_batch(worker, (warprsa_size_class)size, count);
    } else {
        atomic_fetch_sub(&device->activity->running, (uint32_t)count);
        warprsa_device_unpin_keys(worker);
        refuse_items(worker, 0, count, why_no_key(failure));
    }
    return true;
}

/* Whether an idle worker must not sleep. */
static bool anything_to_do(warprsa_worker *worker)
{
    warprsa_queue *queue = worker->device->queue;

    return atomic_load(&queue->closing) ||
           atomic_load(&queue->keys.unloads[worker->device->number]) != 0 ||
           !warprsa_queue_empty(queue) || !warprsa_device_usable(worker);
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
        warprsa_futex_wait(&device->activity->eventcount.word, word, until_ns);
        /* Nothing for as long as a deadline, and yet there are requests: the
         * worker that has them may hang in its driver. */
        if (atomic_load(&queue->depth) != 0 && warprsa_clock_ns() >= until_ns)
            warprsa_slots_notify_expired(&queue->slots);
    }
    atomic_fetch_sub(&device->activity->eventcount.idle, 1);
}

static void start_others(warprsa_queue *queue, unsigned devices)
{
    for (unsigned i = 1; i < devices; i++)
        if (!warprsa_workers_start(&queue->devices[i]))
            warprsa_queue_trace(queue, 1,
                                "device %u: not all of its threads started",
                                queue->devices[i].ordinal);
}

static void *worker_main(void *arg)
{
    warprsa_worker *worker = arg;
    warprsa_queue *queue = worker->device->queue;
    char name[16];

    snprintf(name, sizeof(name), "warprsa/%u.%u", worker->device->number % 100,
             worker->stream % 10);
    (void)pthread_setname_np(pthread_self(), name);
    if (worker->device->number == 0 && worker->stream == 0)
        start_others(queue, warprsa_devices_discover(queue));
    while (warprsa_device_enter(worker)) {
        bool worked = next_batch(worker);

        warprsa_device_leave(worker);
        if (!worked)
            sleep_until_notified(worker);
    }
    warprsa_device_end(worker);
    free(worker->items);
    free(worker->tasks);
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
    unsigned batch_max = queue->config.batch_max;

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

bool warprsa_workers_start(warprsa_queue_device *device)
{
    warprsa_queue *queue = device->queue;
    bool all = true;

    pthread_mutex_lock(&device->lock);
    pthread_mutex_lock(&queue->lock);
    for (unsigned s = 0; s < queue->config.streams && all; s++) {
        device->workers[s].device = device;
        device->workers[s].stream = s;
        all =
            !atomic_load(&queue->closing) && start_worker(&device->workers[s]);
    }
    pthread_mutex_unlock(&queue->lock);
    pthread_mutex_unlock(&device->lock);
    return all;
}

bool warprsa_workers_join(warprsa_queue_device *device, uint64_t until_ns)
{
    bool ended = true;

    for (unsigned s = 0; s < WARPRSA_STREAMS_MAX; s++) {
        warprsa_worker *worker = &device->workers[s];

        /* Threads are started under the same lock. */
        pthread_mutex_lock(&device->queue->lock);
        bool started = worker->started;
        pthread_mutex_unlock(&device->queue->lock);
        if (!started)
            continue;
        if (warprsa_device_wait_ended(worker, until_ns)) {
            pthread_join(worker->thread, NULL);
        } else {
            warprsa_queue_trace(device->queue, 1,
                                "device %u: a thread hangs, left alone",
                                device->ordinal);
            pthread_detach(worker->thread);
            ended = false;
        }
    }
    return ended;
}
