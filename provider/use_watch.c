/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The jobs that wait for notifiers, and their watcher; see use_watch.h.
 */
#include "provider/use_watch.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/timerfd.h>

#include "batching/base/clock.h"
#include "batching/base/own_fd.h"

/* Between two looks at a daemon. */
static const uint64_t LOOK_NS = 250 * WARPRSA_NS_PER_MS;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Under the lock: */
static warprsa_watched *first, *last; /* by until_ns */
static warprsa_watched *watcher;      /* NULL: nobody waits */
static uint64_t watch_ns;             /* what its timer is set to */

void warprsa_use_watch_begin_process(void)
{
    pthread_mutex_init(&lock, NULL);
    first = last = watcher = NULL;
}

/* 0: the timer stops. */
static void set_timer(warprsa_watched *job, uint64_t at_ns)
{
    const struct itimerspec at = {.it_value = warprsa_timespec(at_ns)};

    if ((at_ns != 0 || job->is_set) && warprsa_marked_fd_is_there(job->timer))
        job->is_set =
            timerfd_settime(job->timer, TFD_TIMER_ABSTIME, &at, NULL) == 0 &&
            at_ns != 0;
}

/* Most deadlines are the latest when they come. */
static void enlist(warprsa_watched *job)
{
    warprsa_watched *before = last;

    while (before != NULL && before->until_ns > job->until_ns)
        before = before->earlier;
    job->earlier = before;
    job->later = before != NULL ? before->later : first;
    *(job->earlier != NULL ? &job->earlier->later : &first) = job;
    *(job->later != NULL ? &job->later->earlier : &last) = job;
    job->is_listed = true;
}

static void unlist(warprsa_watched *job)
{
    if (!job->is_listed)
        return;
    *(job->earlier != NULL ? &job->earlier->later : &first) = job->later;
    *(job->later != NULL ? &job->later->earlier : &last) = job->earlier;
    job->is_listed = false;
}

/* Makes a job the watcher, until look_ns or the first deadline. */
static void watch(warprsa_watched *job, uint64_t look_ns)
{
    watcher = job;
    watch_ns = first->until_ns < look_ns ? first->until_ns : look_ns;
    set_timer(job, watch_ns);
}

/* Has the jobs resumed for which the watcher, of this client, cannot look. */
static void wake_due(const void *client, uint64_t now_ns)
{
    warprsa_watched *later = NULL;

    for (warprsa_watched *job = first; job != NULL; job = later) {
        later = job->later;
        if (job->until_ns <= now_ns ||
            (job->client != client && job->look_ns <= now_ns)) {
            unlist(job);
            set_timer(job, now_ns);
        }
    }
}

void warprsa_use_watch_add(warprsa_watched *job, const void *client,
                           uint64_t look_ns, uint64_t until_ns)
{
    pthread_mutex_lock(&lock);
    job->client = client;
    job->look_ns = look_ns;
    job->until_ns = until_ns;
    enlist(job);
    /* A watcher that is late by LOOK_NS has not been resumed: look_ns is that
     * long from now. */
    if (watcher == NULL || look_ns > watch_ns + 2 * LOOK_NS) {
        watch(job, look_ns);
    } else {
        /* A program may never resume the watcher, as one that waits for one
         * job after the other. */
        set_timer(job, until_ns);
        if (until_ns < watch_ns)
            watch(watcher, watch_ns);
    }
    pthread_mutex_unlock(&lock);
}

void warprsa_use_watch_alone(warprsa_watched *job, uint64_t wake_ns)
{
    pthread_mutex_lock(&lock);
    set_timer(job, wake_ns);
    pthread_mutex_unlock(&lock);
}

/* With the lock held: the watcher is gone, maybe since its timer has expired.
 * The time for which the timer was set stays otherwise, so that somebody looks
 * in time however often the watcher changes. */
static void pass_on(const void *client)
{
    const uint64_t now_ns = warprsa_clock_ns();
    uint64_t look_ns = watch_ns;

    watcher = NULL;
    if (now_ns >= watch_ns) {
        wake_due(client, now_ns);
        look_ns = now_ns + LOOK_NS;
    }
    if (last != NULL)
        watch(last, look_ns);
}

void warprsa_use_watch_remove(warprsa_watched *job)
{
    pthread_mutex_lock(&lock);
    unlist(job);
    if (job == watcher)
        pass_on(job->client);
    set_timer(job, 0);
    pthread_mutex_unlock(&lock);
}
