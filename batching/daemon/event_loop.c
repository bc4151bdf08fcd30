/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread that does everything for some of the clients: one loop around one
 * epoll instance. It never waits for a client.
 */
#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "batching/base/futex.h"
#include "batching/daemon/server_private.h"

enum {
    EVENTS = 256,
    HEARTBEAT_MS = 500, /* comes round at least so often */
    STARTING_HEARTBEAT_MS =
        10,          /* while devices are being opened, or stopping */
    PUBLISH_MS = 20, /* what has not changed much */
};

static void woken(warprsa_source *source)
{
    warprsa_event_loop *a =
        (warprsa_event_loop *)((char *)source -
                               offsetof(warprsa_event_loop, wake_source));
    uint64_t count;

    while (read(a->eventfd, &count, sizeof(count)) < 0 && errno == EINTR)
        ;
}

bool warprsa_event_loop_init(warprsa_event_loop *a, warprsa_server *server)
{
    a->server = server;
    a->wake_source.ready = woken;
    TAILQ_INIT(&a->arriving);
    TAILQ_INIT(&a->sessions);
    a->state = WARPRSA_QUEUE_STARTING;
    atomic_store(&a->heartbeat_ns, warprsa_now_ns());
    a->epoll = epoll_create1(EPOLL_CLOEXEC);
    a->eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (a->epoll >= 0 && a->eventfd >= 0 &&
        warprsa_server_watch(a->epoll, a->eventfd, EPOLLIN, &a->wake_source) &&
        pthread_mutex_init(&a->lock, NULL) == 0)
        return true;
    if (a->epoll >= 0)
        close(a->epoll);
    if (a->eventfd >= 0)
        close(a->eventfd);
    return false;
}

void warprsa_event_loop_free(warprsa_event_loop *a)
{
    close(a->epoll);
    close(a->eventfd);
    pthread_mutex_destroy(&a->lock);
}

void warprsa_event_loop_wake(warprsa_event_loop *a)
{
    static const uint64_t one = 1;

    /* Can only fail with the counter at its end, and then it is awake. */
    (void)!write(a->eventfd, &one, sizeof(one));
}

void warprsa_event_loop_give(warprsa_event_loop *a, warprsa_session *session)
{
    pthread_mutex_lock(&a->lock);
    TAILQ_INSERT_TAIL(&a->arriving, session, link);
    pthread_mutex_unlock(&a->lock);
    warprsa_event_loop_wake(a);
}

static void welcome_arriving(warprsa_event_loop *a)
{
    warprsa_session *s;

    pthread_mutex_lock(&a->lock);
    while ((s = TAILQ_FIRST(&a->arriving)) != NULL) {
        TAILQ_REMOVE(&a->arriving, s, link);
        TAILQ_INSERT_TAIL(&a->sessions, s, link);
        (void)warprsa_session_begin(s, a);
    }
    pthread_mutex_unlock(&a->lock);
}

static void complete_answered(warprsa_event_loop *a)
{
    warprsa_pending *p = atomic_exchange(&a->answered, NULL);
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
        while (!warprsa_session_complete(p))
            sched_yield(); /* the worker is about to say so */
    }
}

/* Where the queue stands, for all clients to see. */
static void publish(warprsa_event_loop *a)
{
    const warprsa_server *server = a->server;
    uint32_t state = atomic_load(&server->stopping)
                         ? WARPRSA_QUEUE_DOWN
                         : warprsa_queue_wait_ready(server->config.queue, 0);
    bool changed = state != a->state;
    uint64_t now_ns = warprsa_now_ns();
    warprsa_session *s;

    if (!changed && now_ns - a->published_ns < PUBLISH_MS * WARPRSA_NS_PER_MS)
        return;
    a->state = state;
    a->published_ns = now_ns;
    TAILQ_FOREACH(s, &a->sessions, link)
    if (!s->closed)
        warprsa_session_publish(s, changed);
}

static void read_rest(warprsa_event_loop *a)
{
    warprsa_session *s;

    a->unread = false;
    TAILQ_FOREACH(s, &a->sessions, link)
    warprsa_session_read_rest(s);
}

/* No event of this round points to these any more. */
static void free_ended(warprsa_event_loop *a, bool stopping)
{
    warprsa_session *next;

    for (warprsa_session *s = TAILQ_FIRST(&a->sessions); s != NULL; s = next) {
        next = TAILQ_NEXT(s, link);
        if (stopping && s->in_flight == 0)
            warprsa_session_end(s, "warprsad stops");
        if (!s->closed || s->in_flight != 0)
            continue;
        TAILQ_REMOVE(&a->sessions, s, link);
        warprsa_session_free(s);
    }
}

static int heartbeat_ms(const warprsa_event_loop *a)
{
    if (a->unread)
        return 0;
    return a->state == WARPRSA_QUEUE_STARTING ||
                   atomic_load(&a->server->stopping)
               ? STARTING_HEARTBEAT_MS
               : HEARTBEAT_MS;
}

void *warprsa_event_loop_run(void *arg)
{
    warprsa_event_loop *a = arg;
    struct epoll_event events[EVENTS];
    bool stopping = false;

    while (!stopping || !TAILQ_EMPTY(&a->sessions)) {
        int count = epoll_wait(a->epoll, events, EVENTS, heartbeat_ms(a));

        atomic_store_explicit(&a->heartbeat_ns, warprsa_now_ns(),
                              memory_order_relaxed);
        stopping = atomic_load(&a->server->stopping);
        for (int i = 0; i < count; i++) {
            warprsa_source *source = events[i].data.ptr;

            source->ready(source);
        }
        complete_answered(a);
        if (a->unread)
            read_rest(a);
        welcome_arriving(a);
        publish(a);
        free_ended(a, stopping);
    }
    return NULL;
}
