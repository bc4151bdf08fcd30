/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The watcher of the jobs that wait for uses of vault keys; see use_watch.h. It
 * makes the epoll instance of a job readable by adding a descriptor to it that
 * always is. A job without the watcher has a timer in its epoll instance.
 */
#include "provider/use_watch.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "batching/base/clock.h"
#include "batching/base/create_thread.h"
#include "batching/base/futex.h"
#include "batching/base/own_fd.h"

enum {
    /* Values of due_ns that are no time. */
    ASLEEP = 0,
    RESUMED = 1,
    TICK_MS = 100, /* between two turns, while jobs wait */
    LINGER_MS = 5000,
    REFUSED_MS = 5000, /* until a thread is tried again */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Under the lock: */
static LIST_HEAD(, warprsa_watched) jobs;
static bool runs;       /* the watcher */
static uint64_t try_ns; /* it is not started before, since that has failed */
static uint64_t end_ns; /* when it ends, if there is no job */
static warprsa_marked_fd alarm_fd = {.fd = -1}; /* a readable eventfd */

/* When the watcher looks next at the latest. A job that is due earlier lowers
 * it, and wakes the watcher. */
static _Atomic uint64_t planned_ns;
static _Atomic uint32_t wakes; /* of the watcher */

/* Counts this process and those that have forked it. */
static unsigned process;

void warprsa_use_watch_begin_process(void)
{
    process++;
    pthread_mutex_init(&lock, NULL);
    LIST_INIT(&jobs);
    runs = false;
    try_ns = 0;
}

/* With the lock held: makes the alarm if there is none. The program may have
 * closed it. */
static bool has_alarm(void)
{
    return warprsa_marked_fd_is_there(alarm_fd) ||
           warprsa_marked_fd_take(&alarm_fd,
                                  eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC));
}

/* With the lock held: makes a job's descriptor readable, if the job waits
 * still. Where that can't be done now, the next turn tries it again. */
static void resume(warprsa_watched *job, uint64_t due_ns)
{
    struct epoll_event event = {.events = EPOLLIN};
    uint64_t state = due_ns;

    if (!atomic_compare_exchange_strong(&job->due_ns, &state, RESUMED) ||
        !warprsa_marked_fd_is_there(job->fd))
        return;
    state = RESUMED;
    if (has_alarm()) {
        job->alarm = alarm_fd;
        if (epoll_ctl(job->fd.fd, EPOLL_CTL_ADD, alarm_fd.fd, &event) == 0)
            return;
        job->alarm = WARPRSA_NO_MARKED;
    }
    (void)atomic_compare_exchange_strong(&job->due_ns, &state, due_ns);
}

/* With the lock held: resumes the jobs whose time has come. Returns the first
 * deadline of the others, UINT64_MAX if there are none. */
static uint64_t resume_due(uint64_t now_ns)
{
    const void *looks = NULL; /* the client of the last job that is to look */
    uint64_t first_ns = UINT64_MAX;
    warprsa_watched *job = NULL;

    LIST_FOREACH (job, &jobs, link) {
        const uint64_t due_ns = atomic_load(&job->due_ns);
        const void *client = atomic_load(&job->client);

        if (due_ns == ASLEEP || due_ns == RESUMED)
            continue;
        if (due_ns <= now_ns) {
            resume(job, due_ns);
        } else if (client != looks && atomic_load(&job->look_ns) <= now_ns) {
            looks = client;
            resume(job, due_ns);
        } else if (due_ns < first_ns) {
            first_ns = due_ns;
        }
    }
    return first_ns;
}

/* With the lock held. */
static bool somebody_waits(void)
{
    const warprsa_watched *job = NULL;

    LIST_FOREACH (job, &jobs, link) {
        const uint64_t due_ns = atomic_load(&job->due_ns);

        if (due_ns != ASLEEP && due_ns != RESUMED)
            return true;
    }
    return false;
}

/* With the lock held: does what is due, and returns when the next turn is. The
 * plan changes before jobs are looked at, so a job that is not seen sees it. */
static uint64_t turn(uint64_t now_ns)
{
    const uint64_t tick_ns = now_ns + TICK_MS * WARPRSA_NS_PER_MS;
    uint64_t first_ns = 0;

    atomic_store(&planned_ns, tick_ns);
    first_ns = resume_due(now_ns);
    if (first_ns != UINT64_MAX)
        return first_ns < tick_ns ? first_ns : tick_ns;
    atomic_store(&planned_ns, UINT64_MAX);
    if (!somebody_waits())
        return now_ns + LINGER_MS * WARPRSA_NS_PER_MS;
    atomic_store(&planned_ns, tick_ns);
    return tick_ns;
}

static void *watch(void *arg)
{
    (void)arg;
    (void)pthread_setname_np(pthread_self(), "warprsa/uses");
    for (;;) {
        const uint32_t seen = atomic_load(&wakes);
        const uint64_t now_ns = warprsa_clock_ns();
        uint64_t until_ns = 0;

        pthread_mutex_lock(&lock);
        if (LIST_EMPTY(&jobs) && now_ns >= end_ns)
            break;
        until_ns = turn(now_ns);
        pthread_mutex_unlock(&lock);
        warprsa_futex_wait(&wakes, seen, until_ns);
    }
    runs = false;
    warprsa_marked_fd_close(&alarm_fd);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* With the lock held: starts the watcher, if it may. */
static bool start(void)
{
    const uint64_t now_ns = warprsa_clock_ns();
    pthread_t thread;

    if (now_ns < try_ns || !has_alarm())
        return false;
    try_ns = now_ns + REFUSED_MS * WARPRSA_NS_PER_MS;
    if (warprsa_create_thread(&thread, watch, NULL) != 0)
        return false;
    try_ns = 0;
    (void)pthread_detach(thread);
    return true;
}

/* Gives a job a timer of its own. */
static bool add_timer(warprsa_watched *job)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (warprsa_marked_fd_take(
            &job->timer,
            timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) &&
        epoll_ctl(job->fd.fd, EPOLL_CTL_ADD, job->timer.fd, &event) == 0)
        return true;
    warprsa_marked_fd_close(&job->timer);
    job->timer.fd = 0;
    return false;
}

/* 0: the timer stops. False: it does not; the program has closed it. */
static bool set_timer(const warprsa_watched *job, uint64_t at_ns)
{
    const struct itimerspec at = {.it_value = warprsa_timespec(at_ns)};

    return warprsa_marked_fd_is_there(job->timer) &&
           timerfd_settime(job->timer.fd, TFD_TIMER_ABSTIME, &at, NULL) == 0;
}

bool warprsa_use_watch_enlist(warprsa_watched *job)
{
    bool watched = false;

    job->process = process;
    job->timer.fd = 0;
    job->alarm = WARPRSA_NO_MARKED;
    pthread_mutex_lock(&lock);
    runs = runs || start();
    watched = runs;
    if (watched)
        LIST_INSERT_HEAD(&jobs, job, link);
    pthread_mutex_unlock(&lock);
    return watched || add_timer(job);
}

void warprsa_use_watch_leave(warprsa_watched *job)
{
    if (job->timer.fd != 0) {
        warprsa_marked_fd_close(&job->timer);
        return;
    }
    if (job->process != process)
        return;
    pthread_mutex_lock(&lock);
    LIST_REMOVE(job, link);
    if (LIST_EMPTY(&jobs))
        end_ns = warprsa_clock_ns() + LINGER_MS * WARPRSA_NS_PER_MS;
    pthread_mutex_unlock(&lock);
}

void warprsa_use_watch_begin(warprsa_watched *job, const void *client,
                             uint64_t look_ns, uint64_t due_ns)
{
    uint64_t planned = 0;

    if (job->timer.fd != 0) {
        (void)set_timer(job, look_ns < due_ns ? look_ns : due_ns);
        return;
    }
    atomic_store_explicit(&job->client, client, memory_order_relaxed);
    atomic_store_explicit(&job->look_ns, look_ns, memory_order_relaxed);
    atomic_store(&job->due_ns, due_ns);
    planned = atomic_load(&planned_ns);
    while (due_ns < planned) {
        if (atomic_compare_exchange_weak(&planned_ns, &planned, due_ns)) {
            atomic_fetch_add(&wakes, 1);
            warprsa_futex_wake(&wakes, 1);
            return;
        }
    }
}

bool warprsa_use_watch_end(warprsa_watched *job)
{
    bool ended = false;

    if (job->timer.fd != 0)
        return set_timer(job, 0);
    if (atomic_exchange(&job->due_ns, ASLEEP) != RESUMED)
        return true;
    /* The watcher holds the lock while it adds the alarm. */
    pthread_mutex_lock(&lock);
    ended = job->alarm.fd < 0 ||
            (warprsa_marked_fd_is_there(job->fd) &&
             warprsa_marked_fd_is_there(job->alarm) &&
             epoll_ctl(job->fd.fd, EPOLL_CTL_DEL, job->alarm.fd, NULL) == 0);
    job->alarm = WARPRSA_NO_MARKED;
    pthread_mutex_unlock(&lock);
    return ended;
}
