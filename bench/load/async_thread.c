/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread that keeps many async jobs under way, by an event loop on epoll.
 * Jobs are woken as the option --wake says: by a callback, which puts them on a
 * list, or by the descriptors of their wait contexts.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <openssl/async.h>
#include <openssl/err.h>

#include "batching/base/clock.h"
#include "bench/load/ready.h"
#include "bench/load/worker.h"

enum {
    EVENTS = 256,
    DESCRIPTORS = 8, /* of one wait context that change at once, at most */
    SLEEP_MS_MAX = 100,
};

typedef struct slot {
    load_ready_link link; /* first: a link is its slot */
    struct loop *loop;
    ASYNC_WAIT_CTX *wait_ctx;
    ASYNC_JOB *job;
    bool busy;
    uint64_t due_ns;
    struct slot *next_free;
    load_operation operation;
} slot;

typedef struct loop {
    load_worker *worker;
    slot *slots;
    slot *free_slots, **last_free; /* used in turn, as a server's
                                      connections */
    unsigned under_way;
    int epoll, timer;
    uint64_t timer_ns; /* what the timer is set to; 0: nothing */
    load_ready ready;
} loop;

static int job(void *arg)
{
    slot *slot = *(struct slot **)arg;

    load_operation_run(&slot->loop->worker->maker, &slot->operation);
    return 1;
}

static int called_back(void *arg)
{
    slot *slot = arg;

    load_ready_push(&slot->loop->ready, &slot->link);
    return 1;
}

/* Watches the descriptors that a job has added to its wait context and forgets
 * those that it has removed. Most jobs add one at their first pause. */
static void watch_descriptors(loop *loop, slot *slot)
{
    OSSL_ASYNC_FD added[DESCRIPTORS], gone[DESCRIPTORS];
    size_t added_count = 0, gone_count = 0;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = slot};

    if (!ASYNC_WAIT_CTX_get_changed_fds(slot->wait_ctx, NULL, &added_count,
                                        NULL, &gone_count) ||
        added_count + gone_count == 0)
        return;
    if (added_count > DESCRIPTORS || gone_count > DESCRIPTORS)
        load_fail("a job waits for more than %d descriptors", DESCRIPTORS);
    ASYNC_WAIT_CTX_get_changed_fds(slot->wait_ctx, added, &added_count, gone,
                                   &gone_count);
    for (size_t i = 0; i < gone_count; i++) /* it may be closed already */
        epoll_ctl(loop->epoll, EPOLL_CTL_DEL, gone[i], NULL);
    for (size_t i = 0; i < added_count; i++)
        if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, added[i], &event) != 0)
            load_fail("a job's descriptor can't be watched: %s",
                      strerror(errno));
}

static void put_free(loop *loop, slot *slot)
{
    slot->next_free = NULL;
    *loop->last_free = slot;
    loop->last_free = &slot->next_free;
}

/* Starts or resumes a slot's job. */
static void step(loop *loop, slot *slot)
{
    int ret = 0;

    switch (ASYNC_start_job(&slot->job, slot->wait_ctx, &ret, job, &slot,
                            sizeof(slot))) {
    case ASYNC_PAUSE:
        if (!loop->worker->options->callbacks)
            watch_descriptors(loop, slot);
        return;
    case ASYNC_FINISH:
        break;
    default: /* the operation fails: its length is 0 still */
        ERR_clear_error();
        break;
    }
    slot->job = NULL;
    slot->busy = false;
    put_free(loop, slot);
    loop->under_way--;
    load_worker_finish(loop->worker, &slot->operation, slot->due_ns);
}

/* Starts what is due, in each free slot once: an operation may end at once, and
 * the jobs under way must have their turn, too. */
static void start_due(loop *loop)
{
    load_worker *worker = loop->worker;
    unsigned most = worker->jobs - loop->under_way;
    uint64_t due_ns = 0;

    while (most-- > 0 && load_worker_due(worker, warprsa_clock_ns(), &due_ns)) {
        slot *slot = loop->free_slots;

        loop->free_slots = slot->next_free;
        if (loop->free_slots == NULL)
            loop->last_free = &loop->free_slots;
        loop->under_way++;
        slot->busy = true;
        slot->due_ns = due_ns;
        load_operation_choose(&worker->maker, &slot->operation);
        step(loop, slot);
    }
}

/* Resumes the jobs whose callback was called. True: there were some. */
static bool resume_called(loop *loop)
{
    load_ready_link *link = load_ready_take(&loop->ready);
    bool any = link != NULL;

    while (link != NULL) {
        slot *slot = (struct slot *)link;

        link = link->next;
        atomic_store(&slot->link.queued, false);
        if (slot->busy)
            step(loop, slot);
    }
    return any;
}

static void set_timer(loop *loop, uint64_t at_ns)
{
    struct itimerspec at = {
        .it_value = {(time_t)(at_ns / 1000000000), (long)(at_ns % 1000000000)}};

    if (loop->timer_ns != at_ns &&
        timerfd_settime(loop->timer, TFD_TIMER_ABSTIME, &at, NULL) != 0)
        load_fail("a timer can't be set: %s", strerror(errno));
    loop->timer_ns = at_ns;
}

/* How long the thread may sleep, in ms: until the next arrival, if there is a
 * free slot for it. */
static int longest_sleep_ms(loop *loop)
{
    load_worker *worker = loop->worker;
    uint64_t now_ns = warprsa_clock_ns(), next_ns = 0;

    if (loop->free_slots == NULL || now_ns >= worker->window->end_ns)
        return SLEEP_MS_MAX;
    next_ns = load_arrivals_next(&worker->arrivals, now_ns);
    if (next_ns <= now_ns)
        return 0;
    set_timer(loop, next_ns < worker->window->end_ns ? next_ns
                                                     : worker->window->end_ns);
    return SLEEP_MS_MAX;
}

static void handle(loop *loop, struct epoll_event *events, int count)
{
    uint64_t expirations = 0;

    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr == &loop->timer) {
            if (read(loop->timer, &expirations, sizeof(expirations)) > 0)
                loop->timer_ns = 0;
        } else if (events[i].data.ptr != &loop->ready) {
            slot *slot = events[i].data.ptr;

            if (slot->busy)
                step(loop, slot);
        }
    }
}

static void turn(loop *loop)
{
    struct epoll_event events[EVENTS];
    bool called = false, asleep = false;
    int count = 0, wait_ms = 0;

    start_due(loop);
    called = resume_called(loop);
    if (called && loop->worker->options->callbacks)
        return; /* there may be more, and nothing else to look at */
    wait_ms = longest_sleep_ms(loop);
    asleep = wait_ms > 0 && load_ready_may_sleep(&loop->ready);
    if (!asleep && wait_ms > 0)
        return;
    count = epoll_wait(loop->epoll, events, EVENTS, wait_ms);
    if (asleep)
        load_ready_woken(&loop->ready);
    if (count < 0 && errno != EINTR)
        load_fail("epoll_wait: %s", strerror(errno));
    if (count > 0)
        handle(loop, events, count);
}

static bool watch(loop *loop, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};

    return fd >= 0 && epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool open_slots(loop *loop)
{
    unsigned jobs = loop->worker->jobs;

    loop->slots = calloc(jobs, sizeof(*loop->slots));
    loop->last_free = &loop->free_slots;
    if (loop->slots == NULL || !ASYNC_init_thread(jobs, jobs))
        return false;
    for (unsigned i = 0; i < jobs; i++) {
        slot *slot = &loop->slots[i];

        slot->loop = loop;
        put_free(loop, slot);
        slot->wait_ctx = ASYNC_WAIT_CTX_new();
        if (slot->wait_ctx == NULL ||
            (loop->worker->options->callbacks &&
             !ASYNC_WAIT_CTX_set_callback(slot->wait_ctx, called_back, slot)))
            return false;
    }
    return true;
}

static bool open_loop(loop *loop, load_worker *worker)
{
    loop->worker = worker;
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    loop->ready.fd = eventfd(0, EFD_CLOEXEC);
    if (loop->epoll >= 0 && watch(loop, loop->timer, &loop->timer) &&
        watch(loop, loop->ready.fd, &loop->ready) && open_slots(loop))
        return true;
    fprintf(stderr,
            "warprsa-load: an event loop of %u jobs can't be made: %s\n",
            loop->worker->jobs, strerror(errno));
    return false;
}

/* Frees the loop, unless a job is under way, which may still be woken. */
static void close_loop(loop *loop)
{
    if (loop == NULL)
        return;
    for (unsigned i = 0; loop->slots != NULL && i < loop->worker->jobs; i++)
        ASYNC_WAIT_CTX_free(loop->slots[i].wait_ctx);
    ASYNC_cleanup_thread();
    free(loop->slots);
    if (loop->epoll >= 0)
        close(loop->epoll);
    if (loop->timer >= 0)
        close(loop->timer);
    if (loop->ready.fd >= 0)
        close(loop->ready.fd);
    free(loop);
}

void *load_async_thread(void *arg)
{
    load_worker *worker = arg;
    loop *loop = calloc(1, sizeof(*loop));
    uint64_t now_ns = 0;

    /* Arrivals are microseconds apart, but timers may be 50 us late unless this
     * is set. */
    prctl(PR_SET_TIMERSLACK, 1UL);
    worker->broken = loop == NULL || !open_loop(loop, worker);
    load_worker_begin(worker);
    while (!worker->broken &&
           ((now_ns = warprsa_clock_ns()) < worker->window->end_ns ||
            (loop->under_way > 0 && now_ns < worker->window->give_up_ns)))
        turn(loop);
    load_worker_end(worker);
    if (loop != NULL)
        worker->lost = loop->under_way;
    if (worker->lost == 0)
        close_loop(loop);
    return NULL;
}
