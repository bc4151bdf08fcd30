/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One device of a queue and its threads: see queue_device.h.
 */
#include "batching/queue/queue_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/base/clock.h"
#include "batching/queue/device_keys.h"
#include "batching/queue/device_opening.h"
#include "batching/queue/scheduling.h"

enum {
    /* One wait for a stuck stream; between two of them expired callers are
     * notified. */
    RECOVERY_WAIT_MS = 100,
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
                         unsigned number, warprsa_key_loads *loads)
{
    pthread_condattr_t attributes;
    bool done;

    memset(device, 0, sizeof(*device));
    device->queue = queue;
    device->activity = &queue->activity[number];
    device->counters = &queue->config.counters->device_of[number];
    device->from = &queue->config.engines[0];
    device->number = number;
    device->loads = loads;
    warprsa_key_loads_init(loads, number, &queue->slots, &queue->keys);
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
    return atomic_load(&device->queue->board.closing);
}

static const warprsa_engine *engine_of(const warprsa_queue_device *device)
{
    return device->from->engine;
}

/* With the lock held. Whether it was in use, and no longer is. */
static bool note(warprsa_queue_device *device, warprsa_device_event event)
{
    const bool was_ready = device->state == WARPRSA_DEVICE_READY;

    device->state = warprsa_device_next_state(device->state, event);
    return was_ready && device->state != WARPRSA_DEVICE_READY;
}

void warprsa_device_note_found(warprsa_queue_device *device)
{
    pthread_mutex_lock(&device->lock);
    (void)note(device, WARPRSA_DEVICE_FOUND);
    pthread_mutex_unlock(&device->lock);
}

/* The event puts an open device into use, under the name that its engine gives.
 * With the lock held. */
static void set_up(warprsa_queue_device *device, warprsa_device_event event,
                   const char *how)
{
    const char *name = engine_of(device)->describe(device->handle);

    (void)note(device, event);
    warprsa_device_health_in_use(&device->health, warprsa_clock_ns());
    warprsa_board_up(&device->queue->board, device->number, device->from, name);
    warprsa_queue_trace(device->queue, 1, "device %u: %s, %s", device->number,
                        how, name);
}

void warprsa_device_give_up(warprsa_queue_device *device, const char *why)
{
    pthread_mutex_lock(&device->lock);
    (void)note(device, WARPRSA_DEVICE_GIVEN_UP);
    pthread_cond_broadcast(&device->changed);
    warprsa_board_down(&device->queue->board, device->number, why);
    pthread_mutex_unlock(&device->lock);
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

/* When a device that has failed is tried again, which is later after wrong
 * results. */
static uint64_t backoff_end(const warprsa_queue_device *device)
{
    const uint64_t end_ns =
        warprsa_clock_ns() +
        warprsa_device_backoff_ms(device->history.failures,
                                  device->queue->config.deadline_ms,
                                  engine_of(device)->comes_and_goes) *
            WARPRSA_NS_PER_MS;

    return end_ns > device->health.until_ns ? end_ns : device->health.until_ns;
}

/* With the lock held, which is let go meanwhile: sleeps to the end of that
 * pause, unless the queue closes. */
static void wait_backoff(warprsa_queue_device *device)
{
    uint64_t until = backoff_end(device);
    uint64_t now;

    while (!closing(device) && (now = warprsa_clock_ns()) < until)
        pause_ms(device, (unsigned)((until - now) / WARPRSA_NS_PER_MS) + 1);
}

/* With the lock held. A host can go after the engine's open() has succeeded and
 * before the device is in use: open_now() asks for that. */
static void note_left(warprsa_queue_device *device, const char *why)
{
    if (device->history.opening_ns != 0)
        snprintf(device->left_why, sizeof(device->left_why),
                 "lost while it was opened: %s", why);
}

/* With the lock held: the stream of this thread is not idle. */
static void note_stuck(warprsa_worker *worker)
{
    if (!worker->stuck)
        worker->batch.device->stuck++;
    worker->stuck = true;
}

/* Has the event take the device out of use, and counts that if it was in use.
 * `why` is the reason. `worker`: the one whose batch is overdue; NULL: none. */
static void take_out_of_use(warprsa_queue_device *device,
                            warprsa_worker *worker, warprsa_device_event event,
                            const char *why)
{
    warprsa_queue *queue = device->queue;

    pthread_mutex_lock(&device->lock);
    if (worker != NULL)
        note_stuck(worker);
    if (event == WARPRSA_DEVICE_LEFT)
        note_left(device, why);
    /* Of streams that were stuck, all may be idle again. */
    if ((event != WARPRSA_DEVICE_OVERDUE || device->stuck > 0) &&
        note(device, event)) {
        device->history.failures++;
        device->history.out_ns = warprsa_clock_ns();
        warprsa_count(&queue->config.counters->device_losses, 1);
        warprsa_count(&device->counters->losses, 1);
        warprsa_board_down(&queue->board, device->number, why);
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

/* By a thread of the engine's: a host can go while nobody asks it anything. */
static void host_is_lost(void *arg, const char *why)
{
    take_out_of_use(arg, NULL, WARPRSA_DEVICE_LEFT, why);
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
    device->history.reopening_failed = device->history.was_in_use && !is_wrong;
    (void)note(device, WARPRSA_DEVICE_NOT_OPENED);
    device->history.failures++;
    warprsa_board_down(&device->queue->board, device->number, why);
    trace_open_failure(device, status, why);
}

/* With the lock held, by a thread that waits for another to open the device:
 * says once that it takes long. Meanwhile no request waits for it. */
static void trace_slow_opening(warprsa_queue_device *device)
{
    if (device->history.told_slow ||
        !warprsa_device_opens_slowly(&device->history, warprsa_clock_ns()))
        return;
    device->history.told_slow = true;
    warprsa_queue_trace(device->queue, 1,
                        "device %u: still being opened; a driver that has to "
                        "compile the kernels takes so long once, and others "
                        "compute meanwhile",
                        device->number);
}

/* With the lock held: how long it took, if that was long. */
static void trace_opening_time(const warprsa_queue_device *device)
{
    const uint64_t now_ns = warprsa_clock_ns();

    if (warprsa_device_opens_slowly(&device->history, now_ns))
        warprsa_queue_trace(device->queue, 1, "device %u: opened after %u s",
                            device->number,
                            (unsigned)((now_ns - device->history.opening_ns) /
                                       WARPRSA_NS_PER_SEC));
}

void warprsa_device_shut(warprsa_queue_device *device)
{
    if (device->handle != NULL)
        warprsa_device_forget_keys(device, warprsa_device_close(device));
}

/* With the lock held, which is let go meanwhile. A device that is lost at once
 * stays open until reopen() closes it. */
static warprsa_status open_now(warprsa_queue_device *device,
                               char why[WARPRSA_DEVICE_WHY])
{
    warprsa_status status;

    device->left_why[0] = '\0';
    device->history.opening_ns = warprsa_clock_ns();
    pthread_mutex_unlock(&device->lock);
    status = warprsa_device_open(device, host_is_lost, why);
    pthread_mutex_lock(&device->lock);
    if (status == WARPRSA_OK && device->left_why[0] != '\0') {
        memcpy(why, device->left_why, sizeof(device->left_why));
        status = WARPRSA_DEVICE_ERROR;
    }
    if (status == WARPRSA_OK)
        trace_opening_time(device);
    device->history.opening_ns = 0;
    device->history.told_slow = false;
    return status;
}

/* With the lock held, which is let go meanwhile. */
static void reopen(warprsa_queue_device *device)
{
    char why[WARPRSA_DEVICE_WHY] = "";
    warprsa_status status;

    pthread_mutex_unlock(&device->lock);
    warprsa_device_shut(device);
    pthread_mutex_lock(&device->lock);
    wait_backoff(device);
    if (closing(device))
        return;
    status = open_now(device, why);
    if (status == WARPRSA_OK) {
        device->history.reopening_failed = false;
        device->history.was_in_use = true;
        device->last_why[0] = '\0';
        set_up(device, WARPRSA_DEVICE_OPENED, "in use");
    } else {
        reopen_failed(device, status, why);
    }
    pthread_cond_broadcast(&device->changed);
}

void warprsa_device_overdue(warprsa_worker *worker)
{
    take_out_of_use(worker->batch.device, worker, WARPRSA_DEVICE_OVERDUE,
                    "a batch missed its deadline");
}

void warprsa_device_failed(warprsa_queue_device *device, warprsa_status status)
{
    take_out_of_use(device, NULL, WARPRSA_DEVICE_FAILED,
                    warprsa_status_text(status));
}

/* Whether such a call may hang: those of CPUs take as long as they take, and
 * the engine of other hosts finds out for itself that one is lost. */
static bool has_driver(const warprsa_queue_device *device)
{
    const warprsa_engine *engine = engine_of(device);

    return !engine->computes_in_start && !engine->comes_and_goes;
}

static uint64_t in_call_since(const warprsa_worker *worker)
{
    return atomic_load_explicit(&worker->batch.call_ns, memory_order_relaxed);
}

/* With the lock held: whether a thread is in a call that may last. The driver
 * may have all other threads wait for it. */
static bool may_all_last(const warprsa_queue_device *device)
{
    for (unsigned s = 0; s < device->workers_count; s++)
        if (in_call_since(&device->workers[s]) == WARPRSA_DEVICE_CALL_MAY_LAST)
            return true;
    return false;
}

/* With the lock held: notes the streams whose threads hang in such a call. */
static bool find_hanging(warprsa_queue_device *device)
{
    const unsigned deadline_ms = device->queue->config.deadline_ms;
    const uint64_t now_ns = warprsa_clock_ns();
    bool any = false;

    if (device->state != WARPRSA_DEVICE_READY || !has_driver(device) ||
        may_all_last(device))
        return false;
    for (unsigned s = 0; s < device->workers_count; s++) {
        warprsa_worker *worker = &device->workers[s];

        if (!warprsa_device_call_hangs(in_call_since(worker), deadline_ms,
                                       now_ns))
            continue;
        note_stuck(worker);
        any = true;
    }
    return any;
}

/* Whatever the engine may still read stays with the thread that hangs: its
 * batch's requests, which have expired, and their keys. If the thread comes
 * back, it finds that its stream is stuck as soon as it takes the lock, and has
 * the device tested. */
void warprsa_device_look(warprsa_queue_device *device)
{
    bool hangs;

    pthread_mutex_lock(&device->lock);
    hangs = find_hanging(device);
    pthread_mutex_unlock(&device->lock);
    if (hangs)
        take_out_of_use(device, NULL, WARPRSA_DEVICE_OVERDUE,
                        "a call of its driver does not return");
}

bool warprsa_device_wrong(warprsa_queue_device *device, warprsa_size_class size)
{
    const uint64_t now_ns = warprsa_clock_ns();
    char why[WARPRSA_DEVICE_WHY];
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
    warprsa_count(&device->counters->wrong, 1);
    take_out_of_use(device, NULL, WARPRSA_DEVICE_FAILED, why);
    return true;
}

/* With the lock held, which is let go meanwhile; inside: this stream's batch
 * missed its deadline. Waits a little for the stream to become idle, then tests
 * the device. The stream counts as stuck until both are done. */
static void recover_stream(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->batch.device;
    const warprsa_engine *engine = engine_of(device);
    warprsa_status status;

    pthread_mutex_unlock(&device->lock);
    status =
        engine->wait(device->handle, worker->batch.stream, RECOVERY_WAIT_MS);
    if (status == WARPRSA_OK)
        warprsa_device_unpin_keys(&worker->batch);
    warprsa_slots_notify_expired(&device->queue->slots);
    pthread_mutex_lock(&device->lock);
    if (status == WARPRSA_OK && device->state == WARPRSA_DEVICE_SUSPECT) {
        wait_backoff(device);
        pthread_mutex_unlock(&device->lock);
        status = engine->self_test(device->handle, worker->batch.stream);
        pthread_mutex_lock(&device->lock);
    }
    if (status == WARPRSA_DEADLINE)
        return;
    worker->stuck = false;
    device->stuck--;
    if (status != WARPRSA_OK) {
        (void)note(device, WARPRSA_DEVICE_TEST_FAILED);
        device->history.failures++;
        warprsa_queue_trace(device->queue, 1, "device %u: given up, %s",
                            device->number, warprsa_status_text(status));
    } else if (device->state == WARPRSA_DEVICE_SUSPECT && device->stuck == 0) {
        set_up(device, WARPRSA_DEVICE_TEST_PASSED, "back in use");
    }
}

/* Whether this is the thread to open the device, and now. */
static bool may_reopen(const warprsa_worker *worker)
{
    const warprsa_queue_device *device = worker->batch.device;

    return worker->batch.stream == 0 && device->inside == 0 &&
           device->stuck == 0 &&
           (device->state == WARPRSA_DEVICE_OPENING ||
            device->state == WARPRSA_DEVICE_LOST);
}

/* A worker refuses what was set aside before it leaves a device that it knows
 * is not READY. But an engine's thread may lose the device between the two, and
 * another worker may be inside, waiting for its driver. */
warprsa_entry warprsa_device_enter(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->batch.device;
    warprsa_entry entry = WARPRSA_ENTRY_END;

    pthread_mutex_lock(&device->lock);
    while (!closing(device) && device->state != WARPRSA_DEVICE_GONE) {
        if (device->state == WARPRSA_DEVICE_READY) {
            device->inside++;
            entry = WARPRSA_ENTRY_INSIDE;
            break;
        }
        /* This thread may be the one that was notified of a request. It will
         * not take it: another device's worker has to. */
        warprsa_eventcount_cancel_wait(&device->activity->eventcount);
        warprsa_queue_rearm_idle(device->queue);
        if (warprsa_device_has_set_aside(device)) {
            entry = WARPRSA_ENTRY_STRANDED;
            break;
        }
        if (worker->stuck) {
            device->inside++;
            recover_stream(worker);
            device->inside--;
            pthread_cond_broadcast(&device->changed);
        } else if (may_reopen(worker)) {
            reopen(device);
        } else {
            trace_slow_opening(device);
            pause_ms(device, device->queue->config.deadline_ms);
        }
    }
    pthread_mutex_unlock(&device->lock);
    return entry;
}

bool warprsa_device_usable(warprsa_queue_device *device)
{
    bool usable;

    pthread_mutex_lock(&device->lock);
    usable = device->state == WARPRSA_DEVICE_READY;
    pthread_mutex_unlock(&device->lock);
    return usable;
}

void warprsa_device_leave(warprsa_worker *worker)
{
    warprsa_queue_device *device = worker->batch.device;

    pthread_mutex_lock(&device->lock);
    device->inside--;
    if (device->state != WARPRSA_DEVICE_READY)
        pthread_cond_broadcast(&device->changed);
    pthread_mutex_unlock(&device->lock);
}

bool warprsa_device_is_lost(warprsa_queue_device *device)
{
    bool lost;

    pthread_mutex_lock(&device->lock);
    lost = !engine_of(device)->comes_and_goes &&
           warprsa_device_is_beyond_help(device->state, &device->history,
                                         device->health.until_ns,
                                         warprsa_clock_ns());
    pthread_mutex_unlock(&device->lock);
    return lost;
}

void warprsa_device_worked(warprsa_queue_device *device)
{
    pthread_mutex_lock(&device->lock);
    device->history.failures = 0;
    pthread_mutex_unlock(&device->lock);
}

void warprsa_device_strand(warprsa_queue_device *device, bool *overdue,
                           warprsa_request_chain *refused)
{
    const uint64_t limit_ns =
        device->queue->config.deadline_ms * WARPRSA_NS_PER_MS;
    uint64_t since_ns = atomic_load(&device->loads->since_ns);

    *overdue = since_ns != 0 && warprsa_clock_ns() - since_ns > limit_ns;
    if (*overdue)
        warprsa_device_failed(device, WARPRSA_DEADLINE);
    if (atomic_load(&device->loads->requests) == 0 ||
        (warprsa_device_usable(device) && !closing(device)))
        return;
    warprsa_device_take_set_aside(device, refused);
}

void warprsa_device_wake(warprsa_queue_device *device)
{
    pthread_mutex_lock(&device->lock);
    pthread_cond_broadcast(&device->changed);
    pthread_mutex_unlock(&device->lock);
}
