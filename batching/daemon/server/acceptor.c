/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The acceptor of the daemon; see acceptor.h.
 *
 * A program that loads the provider connects to a listening socket, and gets a
 * control connection (admission.h). Its sessions go to the event loops.
 *
 * Linux 6.16 can keep descriptors out of control connections (SO_PASSRIGHTS).
 */
#include "batching/daemon/server/acceptor.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "batching/daemon/process/process_limits.h"
#include "batching/daemon/server/admission.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16, later than most headers */
#endif

enum {
    /* Events in a round, so that no event waits behind many of other
     * clients. */
    EVENTS = 1024,
    ACCEPTS_AT_ONCE = 64, /* a connection is cheap; what it asks for is not */
    /* Cheap turns of each user in a round, as for peers that have gone. */
    TURNS_AT_ONCE = 64,
    PAUSE_MS = 10, /* until it is tried to accept again */
    LOOK_MS = 500, /* between two looks at the offers */
};

typedef struct listener {
    warprsa_event_source source;
    int fd;
    bool is_ready; /* somebody may wait there */
} listener;

/* What the thread has, while it runs. */
typedef struct accepting {
    warprsa_acceptor *acceptor;
    warprsa_server_context *context;
    warprsa_admission admission;
    warprsa_event_source wake_source;
    listener listeners[WARPRSA_LISTENERS_MAX];
    bool has_more;  /* the last round has left something */
    bool is_paused; /* nothing can be accepted for a moment */
} accepting;

/* Gives a session to an event loop, to each in turn. */
static void attached(void *arg, warprsa_session *session)
{
    warprsa_acceptor *acceptor = arg;

    warprsa_event_loop_add(
        &acceptor->event_loops[acceptor->next++ %
                               acceptor->context->config.threads],
        session);
}

/* Accepts a connection. False: none waits, or none can be accepted for a
 * moment. */
static bool accept_one(accepting *a, listener *l)
{
    const int error = warprsa_admission_accept(&a->admission, l->fd);

    /* Without descriptors or memory the connections keep waiting. */
    a->is_paused = warprsa_process_lacks_room(error);
    l->is_ready = error == 0 || a->is_paused;
    return error == 0;
}

/* Accepts some of each listener's waiting connections. Returns whether there
 * are more. */
static bool accept_some(accepting *a)
{
    bool more = false;

    for (unsigned i = 0; i < a->context->config.listeners_count; i++) {
        listener *l = &a->listeners[i];
        unsigned left = ACCEPTS_AT_ONCE;

        while (l->is_ready && left > 0 && accept_one(a, l))
            left--;
        more |= l->is_ready;
    }
    return more;
}

static void listener_ready(warprsa_event_source *source)
{
    ((listener *)source)->is_ready = true;
}

/* Only ever woken to stop: serve() looks at `closing`. */
static void woken(warprsa_event_source *source)
{
    (void)source;
}

/* Has the kernel keep descriptors out if it can, and name the sender of each
 * message. Connections inherit both: a client may send its first message before
 * the acceptor has set anything on its connection. Calls listen() again, so
 * that the kernel names this process to clients even if another process made
 * the socket (daemon/client/busy.h). */
static void prepare_listener(int fd)
{
    static const int off = 0, on = 1;

    (void)setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
    (void)setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
    (void)listen(fd, SOMAXCONN);
}

static bool watch_all(accepting *a)
{
    const warprsa_server_config *config = &a->context->config;
    bool ok = warprsa_event_source_watch(a->admission.epoll, a->acceptor->wake,
                                         EPOLLIN, &a->wake_source);

    a->wake_source.ready = woken;
    for (unsigned i = 0; i < config->listeners_count; i++) {
        listener *l = &a->listeners[i];

        l->source.ready = listener_ready;
        l->fd = config->listeners[i];
        prepare_listener(l->fd);
        ok = ok && warprsa_event_source_watch(a->admission.epoll, l->fd,
                                              EPOLLIN | EPOLLET, &l->source);
    }
    return ok;
}

static int timeout_ms(const accepting *a)
{
    if (a->admission.ready.count > 0 || (a->has_more && !a->is_paused))
        return 0;
    if (a->has_more)
        return PAUSE_MS;
    return TAILQ_EMPTY(&a->admission.offers.all) ? -1 : LOOK_MS;
}

/* Events are edges. What an event says is remembered until it has been handled,
 * and costs nothing in the rounds until then. */
static void serve(accepting *a)
{
    warprsa_admission *admission = &a->admission;
    struct epoll_event events[EVENTS];

    while (!atomic_load(&a->context->closing)) {
        int count = epoll_wait(admission->epoll, events, EVENTS, timeout_ms(a));
        unsigned turns = 0;

        warprsa_event_source_dispatch(events, count);
        a->has_more = accept_some(a);
        while (!warprsa_admission_run_ready(admission) &&
               admission->ready.count > 0 && turns < TURNS_AT_ONCE)
            turns++;
        a->has_more |= warprsa_offers_withdraw_overdue(&admission->offers);
        warprsa_admission_close_ended(admission);
    }
}

static void log_none_accepted(warprsa_server_context *context)
{
    warprsa_server_log(context, "no connection can be accepted: no descriptor "
                                "or memory");
}

static void *run(void *arg)
{
    warprsa_acceptor *acceptor = arg;
    accepting a = {.acceptor = acceptor,
                   .context = acceptor->context,
                   .admission = {.epoll = epoll_create1(EPOLL_CLOEXEC),
                                 .attached = attached,
                                 .arg = acceptor}};

    if (warprsa_admission_init(&a.admission, a.context) &&
        a.admission.epoll >= 0 && watch_all(&a))
        serve(&a);
    else
        log_none_accepted(a.context);
    warprsa_admission_free(&a.admission);
    if (a.admission.epoll >= 0)
        close(a.admission.epoll);
    return NULL;
}

bool warprsa_acceptor_init(warprsa_acceptor *acceptor,
                           warprsa_server_context *context,
                           warprsa_event_loop *event_loops)
{
    acceptor->context = context;
    acceptor->event_loops = event_loops;
    acceptor->next = 0;
    acceptor->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return acceptor->wake >= 0;
}

void warprsa_acceptor_free(warprsa_acceptor *acceptor)
{
    if (acceptor->wake >= 0)
        close(acceptor->wake);
}

bool warprsa_acceptor_start(warprsa_acceptor *acceptor)
{
    return pthread_create(&acceptor->thread, NULL, run, acceptor) == 0;
}

void warprsa_acceptor_stop(warprsa_acceptor *acceptor)
{
    static const uint64_t one = 1;

    atomic_store(&acceptor->context->closing, true);
    (void)!write(acceptor->wake, &one, sizeof(one));
    pthread_join(acceptor->thread, NULL);
}
