/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The closing of clients' control connections; see disposal.h.
 */
#include "batching/daemon/server/disposal.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid /* glibc before 2.37 */
#endif

enum {
    THREADS_MAX = 16,
    STACK_SIZE = 256 * 1024, /* close() and free() alone */
    INTERRUPT_NS = 1000000,
};

TAILQ_HEAD(disposable_list, warprsa_disposable);

/* A thread, or room for one. */
typedef struct closer {
    warprsa_disposal *owner;
    bool runs;
    uid_t uid; /* whose socket it closes */
} closer;

struct warprsa_disposal {
    atomic_uint references; /* the opener's, each thread's */
    warprsa_user_quota seats;
    pthread_mutex_t lock; /* of what follows */
    struct disposable_list waiting;
    unsigned unseated; /* waiting, or being closed */
    closer closers[THREADS_MAX];
};

static void interrupt(int signal)
{
    (void)signal;
}

warprsa_disposal *warprsa_disposal_new(void)
{
    const struct sigaction action = {.sa_handler = interrupt};
    warprsa_disposal *d = calloc(1, sizeof(*d));

    if (d == NULL)
        return NULL;
    atomic_init(&d->references, 1);
    TAILQ_INIT(&d->waiting);
    if (sigaction(SIGALRM, &action, NULL) == 0 &&
        warprsa_user_quota_init(&d->seats)) {
        if (pthread_mutex_init(&d->lock, NULL) == 0)
            return d;
        warprsa_user_quota_free(&d->seats);
    }
    free(d);
    return NULL;
}

void warprsa_disposal_drop(warprsa_disposal *d)
{
    warprsa_disposable *what;

    if (d == NULL || atomic_fetch_sub(&d->references, 1) != 1)
        return;
    /* No thread is left to close them; the end of the process does. */
    while ((what = TAILQ_FIRST(&d->waiting)) != NULL) {
        TAILQ_REMOVE(&d->waiting, what, link);
        free(what);
    }
    warprsa_user_quota_free(&d->seats);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

/* With the lock held. */
static bool is_being_served(const warprsa_disposal *d, uid_t uid)
{
    for (unsigned i = 0; i < THREADS_MAX; i++)
        if (d->closers[i].runs && d->closers[i].uid == uid)
            return true;
    return false;
}

/* With the lock held: the oldest socket of this user. With `any`: the oldest of
 * a user whom no thread serves, since none could be started. NULL: none. */
static warprsa_disposable *oldest(const warprsa_disposal *d, uid_t uid,
                                  bool any)
{
    warprsa_disposable *what;

    TAILQ_FOREACH (what, &d->waiting, link)
        if (any ? !is_being_served(d, what->uid) : what->uid == uid)
            break;
    return what;
}

/* The next socket that this thread closes; NULL: the thread ends. */
static warprsa_disposable *take(closer *c)
{
    warprsa_disposal *d = c->owner;
    warprsa_disposable *what;

    pthread_mutex_lock(&d->lock);
    what = oldest(d, c->uid, false);
    if (what == NULL)
        what = oldest(d, c->uid, true);
    c->runs = what != NULL;
    if (what != NULL) {
        TAILQ_REMOVE(&d->waiting, what, link);
        c->uid = what->uid;
    }
    pthread_mutex_unlock(&d->lock);
    return what;
}

/* A timer that sends this thread SIGALRM. False: there is none. */
static bool make_timer(timer_t *timer)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
                             .sigev_signo = SIGALRM};
    sigset_t set;

    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    return pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0 &&
           timer_create(CLOCK_MONOTONIC, &event, timer) == 0;
}

static void close_within(timer_t *timer, int fd)
{
    const struct timespec every = {0, INTERRUPT_NS};
    const struct itimerspec on = {every, every}, off = {{0, 0}, {0, 0}};

    if (timer != NULL)
        (void)timer_settime(*timer, 0, &on, NULL);
    close(fd);
    if (timer != NULL)
        (void)timer_settime(*timer, 0, &off, NULL);
}

static void *run(void *arg)
{
    closer *c = arg;
    warprsa_disposal *d = c->owner;
    warprsa_disposable *what;
    timer_t timer;
    bool has_timer = make_timer(&timer);

    while ((what = take(c)) != NULL) {
        close_within(has_timer ? &timer : NULL, what->fd);
        if (what->has_seat) {
            warprsa_user_quota_release(&d->seats, what->uid);
        } else {
            pthread_mutex_lock(&d->lock);
            d->unseated--;
            pthread_mutex_unlock(&d->lock);
        }
        free(what);
    }
    if (has_timer)
        timer_delete(timer);
    warprsa_disposal_drop(d);
    return NULL;
}

/* A default stack would take 8 MiB of address space, which may be limited. */
static bool create_thread(closer *c)
{
    pthread_attr_t attributes;
    pthread_t thread;
    bool created = false;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    created = pthread_attr_setstacksize(&attributes, STACK_SIZE) == 0 &&
              pthread_attr_setdetachstate(&attributes,
                                          PTHREAD_CREATE_DETACHED) == 0 &&
              pthread_create(&thread, &attributes, run, c) == 0;
    pthread_attr_destroy(&attributes);
    return created;
}

/* With the lock held: without a thread the sockets wait for the next add(). */
static void start_thread(warprsa_disposal *d, uid_t uid)
{
    closer *c = d->closers;

    while (c < d->closers + THREADS_MAX && c->runs)
        c++;
    if (c == d->closers + THREADS_MAX || is_being_served(d, uid))
        return;
    *c = (closer){.owner = d, .runs = true, .uid = uid};
    atomic_fetch_add(&d->references, 1);
    if (create_thread(c))
        return;
    c->runs = false;
    atomic_fetch_sub(&d->references, 1);
}

void warprsa_disposal_add(warprsa_disposal *d, warprsa_disposable *what)
{
    pthread_mutex_lock(&d->lock);
    TAILQ_INSERT_TAIL(&d->waiting, what, link);
    d->unseated += !what->has_seat;
    start_thread(d, what->uid);
    pthread_mutex_unlock(&d->lock);
}

warprsa_user_quota *warprsa_disposal_seats(warprsa_disposal *d)
{
    return &d->seats;
}

unsigned warprsa_disposal_unseated(warprsa_disposal *d)
{
    unsigned unseated;

    pthread_mutex_lock(&d->lock);
    unseated = d->unseated;
    pthread_mutex_unlock(&d->lock);
    return unseated;
}
