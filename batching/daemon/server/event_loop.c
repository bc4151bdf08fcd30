/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An event loop of the daemon; see event_loop.h. It never waits for a client
 * and never reads a client's bytes: the session does.
 */
#include "batching/daemon/server/event_loop.h"

#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/base/container_of.h"
#include "batching/daemon/server/session_answers.h"
#include "batching/daemon/server/session_leave.h"
#include "batching/daemon/server/session_turns.h"

enum {
    /* Events in a round: so many that a notified session is found in this round
     * or the next, however many others were notified. Each takes some 0.2
     * us. */
    EVENTS = 1024,
    /* Per round. An arrival takes some 20 us, a publication 1 us. */
    ARRIVALS_AT_ONCE = 4,
    PUBLISHED_AT_ONCE = 16,
    LEAVING_AT_ONCE = 16, /* sessions looked at */
    HEARTBEAT_MS = 500,   /* between two heartbeats at most */
    /* While devices are being opened, stopping, or waiting for other threads to
     * let go of a session. */
    STARTING_HEARTBEAT_MS = 10,
    PUBLISH_MS = 20, /* between two times, if nothing changed */
};

static void woken(warprsa_event_source *source)
{
    warprsa_event_loop *loop =
        WARPRSA_CONTAINER_OF(source, warprsa_event_loop, wake_source);
    uint64_t count;

    while (read(loop->eventfd, &count, sizeof(count)) < 0 && errno == EINTR)
        ;
}

/* Runs on a worker of the queue, or a thread of the vault. */
static void push_answered(warprsa_taker *taker, warprsa_pending *pending)
{
    warprsa_event_loop *loop =
        WARPRSA_CONTAINER_OF(taker, warprsa_event_loop, host.taker);
    warprsa_pending *top = NULL;

    /* Before the push: from then on the session may end, and so the loop. */
    atomic_fetch_add(&loop->pushing, 1);
    top = atomic_load(&loop->answered);
    do
        pending->next = top;
    while (!atomic_compare_exchange_weak(&loop->answered, &top, pending));
    /* The worker that finds the stack empty wakes the loop, which then takes
     * the whole stack. */
    if (top == NULL)
        warprsa_event_loop_wake(loop);
    atomic_fetch_sub(&loop->pushing, 1);
}

bool warprsa_event_loop_init(warprsa_event_loop *loop,
                             warprsa_server_context *context)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC);

    loop->host = (warprsa_session_host){.context = context,
                                        .epoll = epoll,
                                        .state = WARPRSA_QUEUE_STARTING,
                                        .answering.is_loop = true,
                                        .taker.push = push_answered};
    warprsa_rounds_init(&loop->host.ready);
    loop->wake_source.ready = woken;
    TAILQ_INIT(&loop->arriving);
    TAILQ_INIT(&loop->host.open);
    TAILQ_INIT(&loop->host.leaving);
    TAILQ_INIT(&loop->host.over);
    atomic_store(&loop->heartbeat_ns, warprsa_clock_ns());
    loop->eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (epoll >= 0 && loop->eventfd >= 0 &&
        warprsa_event_source_watch(epoll, loop->eventfd, EPOLLIN,
                                   &loop->wake_source) &&
        pthread_mutex_init(&loop->lock, NULL) == 0)
        return true;
    if (epoll >= 0)
        close(epoll);
    if (loop->eventfd >= 0)
        close(loop->eventfd);
    return false;
}

void warprsa_event_loop_free(warprsa_event_loop *loop)
{
    while (atomic_load(&loop->pushing) != 0)
        sched_yield();
    close(loop->host.epoll);
    close(loop->eventfd);
    pthread_mutex_destroy(&loop->lock);
}

void warprsa_event_loop_wake(warprsa_event_loop *loop)
{
    static const uint64_t one = 1;

    /* This fails only if the counter is at its maximum, and then the loop is
     * awake. */
    (void)!write(loop->eventfd, &one, sizeof(one));
}

void warprsa_event_loop_add(warprsa_event_loop *loop, warprsa_session *session)
{
    pthread_mutex_lock(&loop->lock);
    TAILQ_INSERT_TAIL(&loop->arriving, session, link);
    pthread_mutex_unlock(&loop->lock);
    warprsa_event_loop_wake(loop);
}

/* Begins a few sessions. Returns whether there are more. */
static bool begin_arriving(warprsa_event_loop *loop)
{
    unsigned left = ARRIVALS_AT_ONCE;
    warprsa_session *s;

    pthread_mutex_lock(&loop->lock);
    while ((s = TAILQ_FIRST(&loop->arriving)) != NULL && left-- > 0) {
        TAILQ_REMOVE(&loop->arriving, s, link);
        warprsa_session_begin(s, &loop->host);
    }
    pthread_mutex_unlock(&loop->lock);
    return s != NULL;
}

/* Hands the answered requests to their sessions, the oldest first. */
static void take_answered(warprsa_event_loop *loop)
{
    warprsa_pending *p = atomic_exchange(&loop->answered, NULL);
    warprsa_pending *oldest_first = NULL;

    while (p != NULL) {
        warprsa_pending *next = p->next;

        p->next = oldest_first;
        oldest_first = p;
        p = next;
    }
    while (oldest_first != NULL) {
        p = oldest_first;
        oldest_first = p->next;
        warprsa_session_answered(p);
    }
}

/* Looks at the state of the queue. */
static void note_state(warprsa_event_loop *loop)
{
    warprsa_session_host *host = &loop->host;
    const uint32_t state =
        atomic_load(&host->context->stopping)
            ? WARPRSA_QUEUE_DOWN
            : warprsa_queue_wait_ready(host->context->config.queue, 0);

    host->changes += state != host->state;
    host->state = state;
}

/* Shows a few clients the state of the queue, if it has changed or it is time.
 * Returns whether there are more. */
static bool publish_some(warprsa_event_loop *loop)
{
    const warprsa_session_host *host = &loop->host;
    const uint64_t now_ns = warprsa_clock_ns();
    warprsa_session *s;

    for (unsigned i = 0; i < PUBLISHED_AT_ONCE; i++) {
        s = TAILQ_FIRST(&host->open);
        if (s == NULL ||
            (s->published_change == host->changes &&
             now_ns < s->published_ns + PUBLISH_MS * WARPRSA_NS_PER_MS))
            return false;
        warprsa_session_publish(s);
    }
    return true;
}

static void end_all(warprsa_event_loop *loop)
{
    warprsa_session *next;

    for (warprsa_session *s = TAILQ_FIRST(&loop->host.open); s != NULL;
         s = next) {
        next = TAILQ_NEXT(s, link);
        if (s->in_flight != 0)
            continue;
        warprsa_session_publish(s);
        warprsa_session_end(s, "warprsad stops");
    }
}

/* Looks at some closed sessions that other threads have had uses of. Returns
 * whether it let go of one and there are more. If thousands are closed at once,
 * their users get their seats back before the next heartbeat. */
static bool let_go_of_some(warprsa_event_loop *loop)
{
    warprsa_session_host *host = &loop->host;
    warprsa_session *last = TAILQ_LAST(&host->leaving, warprsa_sessions), *s;
    bool is_last = last == NULL, any = false;

    for (unsigned i = 0; i < LEAVING_AT_ONCE && !is_last; i++) {
        s = TAILQ_FIRST(&host->leaving);
        is_last = s == last;
        TAILQ_REMOVE(&host->leaving, s, link);
        if (warprsa_session_is_left(s)) {
            TAILQ_INSERT_TAIL(&host->over, s, link);
            any = true;
        } else {
            TAILQ_INSERT_TAIL(&host->leaving, s, link);
        }
    }
    return any && !is_last;
}

/* Runs after the events of this round, so that no event points to a session
 * freed here. */
static void free_over(warprsa_event_loop *loop)
{
    warprsa_session *s;

    while ((s = TAILQ_FIRST(&loop->host.over)) != NULL)
        warprsa_session_free(s);
}

static int timeout_ms(const warprsa_event_loop *loop)
{
    if (loop->has_more || loop->host.ready.count > 0)
        return 0;
    return loop->host.state == WARPRSA_QUEUE_STARTING ||
                   !TAILQ_EMPTY(&loop->host.leaving) ||
                   atomic_load(&loop->host.context->stopping)
               ? STARTING_HEARTBEAT_MS
               : HEARTBEAT_MS;
}

bool warprsa_event_loop_round(warprsa_event_loop *loop)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(loop->host.epoll, events, EVENTS, timeout_ms(loop));
    const bool stopping = atomic_load(&loop->host.context->stopping);

    atomic_store_explicit(&loop->heartbeat_ns, warprsa_clock_ns(),
                          memory_order_relaxed);
    warprsa_event_source_dispatch(events, count);
    take_answered(loop);
    warprsa_session_run_ready(&loop->host);
    note_state(loop); /* before it is shown to clients that arrive */
    loop->has_more = publish_some(loop);
    loop->has_more |= begin_arriving(loop);
    if (stopping)
        end_all(loop);
    loop->has_more |= let_go_of_some(loop);
    free_over(loop);
    return !stopping || loop->has_more || loop->host.sessions > 0;
}

void *warprsa_event_loop_run(void *arg)
{
    while (warprsa_event_loop_round(arg))
        ;
    return NULL;
}
