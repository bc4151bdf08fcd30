/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The states of one device: see queue_device.h.
 */
#include "batching/queue/queue_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/base/clock.h"
#include "batching/queue/device_keys.h"
#include "batching/queue/scheduling.h"

enum {
    /* The pause before a lost device is opened again: long enough to cost
     * nothing while it fails again and again, short enough to be worth it. */
    BACKOFF_FIRST_MS = 100,
    BACKOFF_MAX_MS = 60000,
    /* The same for another host. To ask it costs a connection at most, and a
     * host that has come back is wanted at once. */
    BACKOFF_HOST_MAX_MS = 5000,
    /* One wait for a stuck stream; between two of them expired callers are
     * notified. */
    RECOVERY_WAIT_MS = 100,
    /* Out of use for so long, beyond the deadline of a batch, or being opened
     * again for so long, a device hangs. */
    HANGS_MS = 2000,
    OPENING_HANGS_MS = 30000,
    WHY_SIZE = 256,
};

static bool init_locks(warprsa_queue_device *device)
{
    if (pthread_mutex_init(&device->lock, NULL) != 0)
        return false;
    if (pthread_mutex_init(&device->residency_lock, NULL) == 0)
        return true;
    pthread_mutex_destroy(&device->lock);
    return false;
}

bool warprsa_device_init(warprsa_queue_device *device, warprsa_queue *queue,
                         unsigned number)
{
    pthread_condattr_t attributes;
    bool done;

    memset(device, 0, sizeof(*device));
    device->queue = queue;
    device->activity = &queue->activity[number];
    device->from = &queue->config.engines[0];
    device->number = number;
    warprsa_key_loads_init(&device->loads, number, &queue->slots, &queue->keys);
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    done = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
           pthread_cond_init(&device->changed, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    if (!done)
        return false;
    if (init_locks(device))
        return true;
    pthread_cond_destroy(&device->changed);
    return false;
}

void warprsa_device_destroy(warprsa_queue_device *device)
{
    pthread_mutex_destroy(&device->residency_lock);
    pthread_mutex_destroy(&device->lock);
    pthread_cond_destroy(&device->changed);
    free(device->workers);
}

static bool closing(const warprsa_queue_device *device)
{
    return atomic_load(&device->queue->closing);
}

static const warprsa_engine *engine_of(const warprsa_queue_device *device)
{
    return device->from->engine;
}

/* An open device is in use: its name is the one that the engine gives. With the
 * lock held. */
static void set_up(warprsa_queue_device *device, const char *how)
{
    const char *name = engine_of(device)->describe(device->handle);

    device->state = WARPRSA_DEVICE_READY;
    warprsa_device_health_in_use(&device->health, warprsa_clock_ns());
    warprsa_queue_device_up(device->queue, device->number, name);
    warprsa_queue_trace(device->queue, 1, "device %u: %s, %s", device->number,
                        how, name);
}

void warprsa_device_give_up(warprsa_queue_device *device, const char *why)
{
    pthread_mutex_lock(&device->lock);
    device->state = WARPRSA_DEVICE_GONE;
    pthread_cond_broadcast(&device->changed);
    warprsa_queue_device_down(device->queue, device->number, why);
    pthread_mutex_unlock(&device->lock);
}

/* Gives the devices of an engine, those of these ordinals on, to entries from
 * `first` on. Returns the first entry that is free still. */
static unsigned give_entries(warprsa_queue *queue, unsigned engine,
                             unsigned ordinal, unsigned available,
                             unsigned first)
{
    const warprsa_queue_engine *from = &queue->config.engines[engine];

    for (; ordinal < available && ordinal < 32 && first < WARPRSA_DEVICES_MAX;
         ordinal++) {
        if (!(from->devices & (UINT32_C(1) << ordinal)))
            continue;
        queue->activity[first].engine = engine;
        queue->devices[first].from = from;
        queue->devices[first++].ordinal = ordinal;
    }
    return first;
}

/* The same for all devices of an engine; why: the reason if there is none. */
static unsigned take_devices(warprsa_queue *queue, unsigned engine,
                             unsigned first, char *why)
{
    const warprsa_engine *from = queue->config.engines[engine].engine;
    unsigned available = from->count(why, WHY_SIZE);
    unsigned next = give_entries(queue, engine, 0, available, first);

    if (next == first && available > 0)
        snprintf(why, WHY_SIZE, "none of the %u devices is chosen", available);
    if (next == first)
        warprsa_queue_trace(queue, 1, "engine %s: no device, %s", from->name,
                            why);
    return next;
}

static void set_opening(warprsa_queue_device *device)
{
    pthread_mutex_lock(&device->lock);
    device->state = WARPRSA_DEVICE_OPENING;
    pthread_mutex_unlock(&device->lock);
}

unsigned warprsa_devices_discover(warprsa_queue *queue)
{
    char why[WHY_SIZE] = "", why_first[WHY_SIZE] = "";
    unsigned count = take_devices(queue, 0, 0, why_first);
    bool first_gone = count == 0;
    uint32_t found;

    if (first_gone)
        count = 1;
    for (unsigned e = 1; e < queue->config.engine_count; e++)
        count = take_devices(queue, e, count, why);
    found = (UINT32_C(1) << count) - 1 - first_gone;
    warprsa_queue_devices_found(queue, found, count);
    if (first_gone)
        warprsa_device_give_up(&queue->devices[0], why_first);
    for (unsigned i = first_gone; i < count; i++)
        set_opening(&queue->devices[i]);
    return count;
}

unsigned warprsa_devices_add(warprsa_queue *queue)
{
    const unsigned before = atomic_load(&queue->device_count);
    unsigned count = before;

    for (unsigned e = 0; e < queue->config.engine_count; e++) {
        const warprsa_engine *engine = queue->config.engines[e].engine;
        char why[WHY_SIZE];
        unsigned next = 0;

        if (!engine->comes_and_goes)
            continue;
        for (unsigned i = 0; i < before; i++)
            if (queue->devices[i].from->engine == engine &&
                queue->devices[i].ordinal >= next)
                next = queue->devices[i].ordinal + 1;
        count = give_entries(queue, e, next, engine->count(why, sizeof(why)),
                             count);
    }
    for (unsigned i = before; i < count; i++)
        set_opening(&queue->devices[i]);
    atomic_store(&queue->device_count, count);
    return count;
}

/* With the lock held, which is let go meanwhile: sleeps until something
 * changes or the time is over. Then notifies the callers whose deadline has
 * passed, since all other threads may hang in a driver. */
static void pause_ms(warprsa_queue_device *device, unsigned ms)
{
    struct timespec until =
        warprsa_timespec(warprsa_clock_ns() + ms * WARPRSA_NS_PER_MS);

    if (closing(device))
        return;
    pthread_cond_timedwait(&device->changed, &device->lock, &until);
    pthread_mutex_unlock(&device->lock);
    warprsa_slots_notify_expired(&device->queue->slots);
    pthread_mutex_lock(&device->lock);
}

/* The pause before a device that has failed is tried again. */
static unsigned backoff_ms(const warprsa_queue_device *device)
{
    const unsigned most = engine_of(device)->comes_and_goes
                              ? BACKOFF_HOST_MAX_MS
                              : BACKOFF_MAX_MS;
    unsigned ms = BACKOFF_FIRST_MS;

    if (device->failures == 0)
        return 0;
    if (ms > device->queue->config.deadline_ms)
        ms = device->queue->config.deadline_ms;
    for (unsigned i = 1; i < device->failures && ms < most; i++)
        ms *= 2;
    return ms < most ? ms : most;
}

/* The end of that pause; after wrong results it is longer. */
static uint64_t backoff_end(const warprsa_queue_device *device)
{
    const uint64_t end_ns =
        warprsa_clock_ns() + backoff_ms(device) * WARPRSA_NS_PER_MS;

    return end_ns > device->health.until_ns ? end_ns : device->health.until_ns;
}

/* With the lock held, which is let go meanwhile: the whole of that pause,
 * unless the queue closes. */
static void wait_backoff(warprsa_queue_device *device)
{
    uint64_t until = backoff_end(device);
    uint64_t now;

    while (!closing(device) && (now = warprsa_clock_ns()) < until)
        pause_ms(device, (unsigned)((until - now) / WARPRSA_NS_PER_MS) + 1);
}

/* Without the lock: closes the engine's device; nobody is inside. */
static void close_handle(warprsa_queue_device *device)
{
    bool wiped;

    if (device->handle == NULL)
        return;
    wiped = engine_of(device)->close(device->handle);
    device->handle = NULL;
    warprsa_device_forget_keys(device, wiped);
}

/* Of CPUs, the time that this thread has used: others may keep them busy for
 * the moment. */
static uint64_t time_of(bool on_cpus)
{
    return on_cpus ? warprsa_thread_cpu_ns() : warprsa_clock_ns();
}

/* Runs the known-answer test once more, now that everything is warm, and tells
 * the router how long it took: nothing better is known of the device yet. CPUs
 * beside other devices are not what the router has to know about. */
static warprsa_status calibrate(const warprsa_queue_device *device,
                                warprsa_device *handle, char *why)
{
    const warprsa_engine *engine = engine_of(device);
    const warprsa_queue *queue = device->queue;
    bool on_cpus = device->from->on_cpus;
    uint64_t start_ns = time_of(on_cpus);
    warprsa_status status = engine->self_test(handle, 0);

    if (status != WARPRSA_OK) {
        snprintf(why, WHY_SIZE, "the known-answer test, repeated, failed");
        engine->close(handle);
    } else if (!on_cpus || atomic_load(&queue->others_classes) == 0) {
        warprsa_router_calibrate(queue->config.router,
                                 time_of(on_cpus) - start_ns, on_cpus);
    }
    return status;
}

/* Runs the known-answer tests of the classes that were wrong when the device
 * was last in use. */
static warprsa_status test_wrong_classes(const warprsa_queue_device *device,
                                         warprsa_device *handle, char *why)
{
    const warprsa_engine *engine = engine_of(device);
    warprsa_status status = WARPRSA_OK;

    for (unsigned c = 0; c < WARPRSA_CLASSES && status == WARPRSA_OK; c++) {
        if ((device->health.classes >> c & 1) == 0)
            continue;
        status = engine->test_class(handle, 0, (warprsa_size_class)c);
        if (status != WARPRSA_OK)
            snprintf(why, WHY_SIZE, "the known-answer test of RSA-%u failed",
                     warprsa_class_bits((warprsa_size_class)c));
    }
    if (status != WARPRSA_OK)
        engine->close(handle);
    return status;
}

/* Takes the device out of use: `state` is why. Counted if it was in use.
 * `worker`: the one whose batch has shown it; or NULL. */
static void take_out_of_use(warprsa_queue_device *device,
                            warprsa_worker *worker,
                            enum warprsa_device_state state, const char *why)
{
    warprsa_queue *queue = device->queue;
    bool was_ready;

    pthread_mutex_lock(&device->lock);
    was_ready = device->state == WARPRSA_DEVICE_READY;
    if (state == WARPRSA_DEVICE_SUSPECT && !worker->stuck) {
        worker->stuck = true;
        device->stuck++;
    }
    if (device->state != WARPRSA_DEVICE_LOST && (was_ready || worker != NULL))
        device->state = state;
    if (was_ready) {
        device->failures++;
        device->out_ns = warprsa_clock_ns();
        warprsa_count(&queue->config.counters->device_losses, 1);
        warprsa_count(&warprsa_device_counters_of(device)->losses, 1);
        warprsa_queue_device_down(queue, device->number, why);
        warprsa_queue_trace(queue, 1, "device %u: out of use, %s",
                            device->number, why);
    }
    pthread_cond_broadcast(&device->changed);
    pthread_mutex_unlock(&device->lock);
    /* The thread that has to open the device again may be idle. */
    warprsa_eventcount_notify_all(&device->activity->eventcount);
    /* CPUs that left the work to GPUs do it now. */
    warprsa_queue_rearm_idle(queue);
    warprsa_queue_refuse_if_down(queue);
}

/* By a thread of the engine's: a host can go while nobody asks it anything. One
 * that is being opened or tested is not in use; open() or the test fails. */
static void host_is_lost(void *arg, const char *why)
{
    take_out_of_use(arg, NULL, WARPRSA_DEVICE_LOST, why);
}

static void count_traffic(void *arg, warprsa_traffic what, uint64_t number)
{
    warprsa_device_counters *counters = warprsa_device_counters_of(arg);
    _Atomic uint64_t *const words[WARPRSA_TRAFFIC_KINDS] = {
        [WARPRSA_TRAFFIC_SENT] = &counters->sent_bytes,
        [WARPRSA_TRAFFIC_RECEIVED] = &counters->received_bytes,
        [WARPRSA_TRAFFIC_CREDIT_WAITS] = &counters->credit_waits,
    };

    warprsa_count(words[what], number);
}

/* Without the lock. */
static warprsa_status open_handle(warprsa_queue_device *device, char *why)
{
    const warprsa_queue_config *config = &device->queue->config;
    const warprsa_engine *engine = engine_of(device);
    warprsa_device_config wanted = {
        .ordinal = device->ordinal,
        .streams = device->from->streams,
        .batch_max = device->from->batch_max,
        .keys_max = config->keys_max,
        .calibration_file = config->calibration_file,
        .direct_table_reads = config->direct_table_reads,
        .random = config->random,
        .random_arg = config->random_arg,
        .trace = config->trace,
        .trace_arg = config->trace_arg,
        .lost = host_is_lost,
        .count = count_traffic,
        .device_arg = device,
    };
    warprsa_device *handle = NULL;
    warprsa_status status = engine->open(&wanted, &handle, why, WHY_SIZE);

    if (status == WARPRSA_OK && config->device_opened != NULL)
        config->device_opened();
    if (status == WARPRSA_OK && config->router != NULL)
        status = calibrate(device, handle, why);
    if (status == WARPRSA_OK)
        status = test_wrong_classes(device, handle, why);
    if (status == WARPRSA_OK)
        device->handle = handle;
    return status;
}

/* A device that is lost to this process for good fails again and again: traces
 * one line as long as the reason stays the same. */
static void trace_open_failure(warprsa_queue_device *device,
                               warprsa_status status, const char *why)
{
    if (strncmp(device->last_why, why, sizeof(device->last_why) - 1) == 0)
        return;
    snprintf(device->last_why, sizeof(device->last_why), "%s", why);
    warprsa_queue_trace(device->queue, 1,
                        "device %u: not opened, %s: %s; tried again in "
                        "%u ms, then less and less often",
                        device->number, warprsa_status_text(status), why,
                        (unsigned)((backoff_end(device) - warprsa_clock_ns()) /
                                   WARPRSA_NS_PER_MS));
}

/* With the lock held. Another process would have no better luck with a device
 * that computes wrongly, so that is no reason to start one. */
static void reopen_failed(warprsa_queue_device *device, warprsa_status status,
                          const char *why)
{
    const bool is_wrong =
        status == WARPRSA_CHECK_FAILED && device->health.classes != 0;

    if (is_wrong)
        warprsa_device_health_failed_test(&device->health, warprsa_clock_ns());
    device->reopening_failed = device->was_in_use && !is_wrong;
    device->state = WARPRSA_DEVICE_LOST;
    device->failures++;
    warprsa_queue_device_down(device->queue, device->number, why);
    trace_open_failure(device, status, why);
}

/* With the lock held, which is let go meanwhile. */
static void reopen(warprsa_queue_device *device)
{
    char why[WHY_SIZE] = "";
    warprsa_status status;

    pthread_mutex_unlock(&device->lock);
    close_handle(device);
    pthread_mutex_lock(&device->lock);
    wait_backoff(device);
    if (closing(device))
        return;
    device->opening_ns = warprsa_clock_ns();
    pthread_mutex_unlock(&device->lock);
    status = open_handle(device, why);
    pthread_mutex_lock(&device->lock);
    device->opening_ns = 0;
    if (status == WARPRSA_OK) {
        device->reopening_failed = false;
        device->was_in_use = true;
        device->last_why[0] = '\0';
        set_up(device, "in use");
    } else {
        reopen_failed(device, status, why);
    }
    pthread_cond_broadcast(&device->changed);
}

void warprsa_device_overdue(warprsa_worker *worker)
{
    take_out_of_use(worker->device, worker, WARPRSA_DEVICE_SUSPECT,
                    "a batch missed its deadline");
}

void warprsa_device_failed(warprsa_worker *worker, warprsa_status status)
{
    take_out_of_use(worker->device, worker, WARPRSA_DEVICE_LOST,
                    warprsa_status_text(status));
}

bool warprsa_device_begin_judging(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->device;
    bool begun;

    pthread_mutex_lock(&device->lock);
    while (device->health.is_judging)
        pthread_cond_wait(&device->changed, &device->lock);
    begun = device->state == WARPRSA_DEVICE_READY &&
            warprsa_device_health_judge(&device->health, warprsa_clock_ns());
    pthread_mutex_unlock(&device->lock);
    return begun;
}

void warprsa_device_end_judging(warprsa_worker *worker, uint64_t used_ns)
{
    warprsa_queue_device *device = worker->device;

    pthread_mutex_lock(&device->lock);
    warprsa_device_health_judged(&device->health, used_ns, warprsa_clock_ns());
    pthread_cond_broadcast(&device->changed);
    pthread_mutex_unlock(&device->lock);
}

bool warprsa_device_wrong(warprsa_worker *worker, warprsa_size_class size)
{
    warprsa_queue_device *device = worker->device;
    const uint64_t now_ns = warprsa_clock_ns();
    char why[WHY_SIZE];
    bool out;

    pthread_mutex_lock(&device->lock);
    out = device->state == WARPRSA_DEVICE_READY &&
          warprsa_device_health_wrong(&device->health, size, now_ns);
    if (out)
        snprintf(why, sizeof(why), "wrong results of RSA-%u, for %u s",
                 warprsa_class_bits(size),
                 (unsigned)(device->health.pause_ns / WARPRSA_NS_PER_SEC));
    pthread_mutex_unlock(&device->lock);
    if (!out)
        return false;
    warprsa_count(&warprsa_device_counters_of(device)->wrong, 1);
    take_out_of_use(device, worker, WARPRSA_DEVICE_LOST, why);
    return true;
}

/* With the lock held, which is let go meanwhile; inside: this stream's batch
 * missed its deadline. Waits a little for the stream to become idle, then tests
 * the device. The stream counts as stuck until both are done. */
static void recover_stream(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->device;
    const warprsa_engine *engine = engine_of(device);
    warprsa_status status;

    pthread_mutex_unlock(&device->lock);
    status = engine->wait(device->handle, worker->stream, RECOVERY_WAIT_MS);
    if (status == WARPRSA_OK)
        warprsa_device_unpin_keys(worker);
    warprsa_slots_notify_expired(&device->queue->slots);
    pthread_mutex_lock(&device->lock);
    if (status == WARPRSA_OK && device->state == WARPRSA_DEVICE_SUSPECT) {
        wait_backoff(device);
        pthread_mutex_unlock(&device->lock);
        status = engine->self_test(device->handle, worker->stream);
        pthread_mutex_lock(&device->lock);
    }
    if (status == WARPRSA_DEADLINE)
        return;
    worker->stuck = false;
    device->stuck--;
    if (status != WARPRSA_OK) {
        device->state = WARPRSA_DEVICE_LOST;
        device->failures++;
        warprsa_queue_trace(device->queue, 1, "device %u: given up, %s",
                            device->number, warprsa_status_text(status));
    } else if (device->state == WARPRSA_DEVICE_SUSPECT && device->stuck == 0) {
        set_up(device, "back in use");
    }
}

/* Whether this is the thread to open the device, and now. */
static bool may_reopen(const warprsa_worker *worker)
{
    const warprsa_queue_device *device = worker->device;

    return worker->stream == 0 && device->inside == 0 && device->stuck == 0 &&
           (device->state == WARPRSA_DEVICE_OPENING ||
            device->state == WARPRSA_DEVICE_LOST);
}

bool warprsa_device_enter(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->device;
    bool entered = false;

    pthread_mutex_lock(&device->lock);
    while (!closing(device) && device->state != WARPRSA_DEVICE_GONE) {
        if (device->state == WARPRSA_DEVICE_READY) {
            device->inside++;
            entered = true;
            break;
        }
        /* This thread may be the one that was notified of a request. It will
         * not take it: another device's worker has to. */
        warprsa_eventcount_cancel_wait(&device->activity->eventcount);
        warprsa_queue_rearm_idle(device->queue);
        if (worker->stuck) {
            device->inside++;
            recover_stream(worker);
            device->inside--;
            pthread_cond_broadcast(&device->changed);
        } else if (may_reopen(worker)) {
            reopen(device);
        } else {
            pause_ms(device, device->queue->config.deadline_ms);
        }
    }
    pthread_mutex_unlock(&device->lock);
    return entered;
}

bool warprsa_device_usable(warprsa_worker *worker)
{
    bool usable;

    pthread_mutex_lock(&worker->device->lock);
    usable = worker->device->state == WARPRSA_DEVICE_READY;
    pthread_mutex_unlock(&worker->device->lock);
    return usable;
}

void warprsa_device_leave(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->device;

    pthread_mutex_lock(&device->lock);
    device->inside--;
    if (device->state != WARPRSA_DEVICE_READY)
        pthread_cond_broadcast(&device->changed);
    pthread_mutex_unlock(&device->lock);
}

bool warprsa_device_is_blameless(warprsa_status status)
{
    return status == WARPRSA_NO_MEMORY || status == WARPRSA_NO_RANDOM ||
           status == WARPRSA_UNSUPPORTED_KEY;
}

bool warprsa_device_is_lost(warprsa_queue_device *device)
{
    uint64_t since_ns, limit_ms;
    bool lost;

    pthread_mutex_lock(&device->lock);
    /* One that pauses because of wrong results does not hang. */
    since_ns = device->out_ns > device->health.until_ns
                   ? device->out_ns
                   : device->health.until_ns;
    if (device->opening_ns != 0)
        since_ns = device->opening_ns;
    limit_ms = device->opening_ns != 0 ? OPENING_HANGS_MS : HANGS_MS;
    lost = device->was_in_use && !engine_of(device)->comes_and_goes &&
           (device->state == WARPRSA_DEVICE_SUSPECT ||
            device->state == WARPRSA_DEVICE_LOST) &&
           (device->reopening_failed ||
            warprsa_clock_ns() >= since_ns + limit_ms * WARPRSA_NS_PER_MS);
    pthread_mutex_unlock(&device->lock);
    return lost;
}

void warprsa_device_worked(warprsa_worker *worker)
{
    pthread_mutex_lock(&worker->device->lock);
    worker->device->failures = 0;
    pthread_mutex_unlock(&worker->device->lock);
}

void warprsa_device_strand(warprsa_worker *worker, bool *overdue,
                           warprsa_request_chain *refused)
{
    warprsa_queue_device *device = worker->device;
    const uint64_t limit_ns =
        device->queue->config.deadline_ms * WARPRSA_NS_PER_MS;
    uint64_t since_ns = atomic_load(&device->loads.since_ns);

    *overdue = since_ns != 0 && warprsa_clock_ns() - since_ns > limit_ns;
    if (*overdue)
        warprsa_device_failed(worker, WARPRSA_DEADLINE);
    if (atomic_load(&device->loads.requests) == 0 ||
        (warprsa_device_usable(worker) && !closing(device)))
        return;
    warprsa_device_take_set_aside(worker, refused);
}

/* Waits up to the deadline for the batch that missed it, so that the device can
 * be closed. */
static void wait_for_stuck_batch(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->device;
    warprsa_status status = engine_of(device)->wait(
        device->handle, worker->stream, device->queue->config.deadline_ms);

    if (status == WARPRSA_DEADLINE)
        return;
    if (status == WARPRSA_OK)
        warprsa_device_unpin_keys(worker);
    pthread_mutex_lock(&device->lock);
    worker->stuck = false;
    device->stuck--;
    pthread_mutex_unlock(&device->lock);
}

void warprsa_device_end(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->device;
    bool stuck, last;

    pthread_mutex_lock(&device->lock);
    stuck = worker->stuck;
    pthread_mutex_unlock(&device->lock);
    if (stuck)
        wait_for_stuck_batch(worker);
    pthread_mutex_lock(&device->lock);
    last = --device->threads == 0;
    stuck = device->stuck != 0;
    pthread_mutex_unlock(&device->lock);
    if (!last)
        return;
    if (!stuck)
        close_handle(device);
    else /* The engine's close() would wait for the batch, maybe for ever. */
        warprsa_queue_trace(device->queue, 1,
                            "device %u: left open, a batch never ended",
                            device->number);
}

void warprsa_device_ended(warprsa_worker *worker)
{
    pthread_mutex_lock(&worker->device->lock);
    worker->ended = true;
    pthread_cond_broadcast(&worker->device->changed);
    pthread_mutex_unlock(&worker->device->lock);
}

bool warprsa_device_wait_ended(warprsa_worker *worker, uint64_t until_ns)
{
    struct timespec until = warprsa_timespec(until_ns);
    bool ended;

    pthread_mutex_lock(&worker->device->lock);
    while (!worker->ended &&
           pthread_cond_timedwait(&worker->device->changed,
                                  &worker->device->lock, &until) == 0)
        ;
    ended = worker->ended;
    pthread_mutex_unlock(&worker->device->lock);
    return ended;
}

void warprsa_device_wake(warprsa_queue_device *device)
{
    pthread_mutex_lock(&device->lock);
    pthread_cond_broadcast(&device->changed);
    pthread_mutex_unlock(&device->lock);
}
