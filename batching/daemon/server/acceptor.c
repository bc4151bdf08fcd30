/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The acceptor of the daemon; see acceptor.h.
 *
 * A program that loads the provider connects to a listening socket: its control
 * connection (protocol.h). Two messages are allowed there. CONNECT asks for a
 * session: it is offered one, and ATTACHED accepts the offer, upon which the
 * session goes to an event loop. Anything else ends the control connection.
 * About a client this file believes only what the kernel says: who made the
 * control connection, whose user the limits count, and which process sent a
 * message.
 *
 * A control connection is the only socket of the daemon's into which a client
 * can put descriptors. Linux 6.16 can switch that off (SO_PASSRIGHTS). On every
 * kernel messages with descriptors stay unread, and disposal.h closes the
 * connection.
 */
#include "batching/daemon/server/acceptor.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/daemon/process/process_limits.h"
#include "batching/daemon/server/disposal.h"
#include "batching/daemon/wire/message.h"

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
    /* Refused control connections that are not closed yet. With more than
     * these, none is accepted. */
    REFUSED_MAX = 256,
    OFFER_MS = 5000,       /* until a session must be attached */
    LOOK_MS = 500,         /* between two looks at the offers */
    IDENTITY_SLOTS = 8192, /* at least, for an identity of the network */
};

/* Owners that are identities; user ids have 32 bits. */
#define IDENTITIES (UINT64_C(1) << 63)

struct accepting;
struct control_connection;

/* A session between WELCOME and ATTACHED. */
typedef struct offer {
    TAILQ_ENTRY(offer) link, own_link;
    struct control_connection *to;
    uint32_t number;
    uint32_t generation; /* of the CONNECT */
    uint64_t since_ns;
    warprsa_session *session;
} offer;

TAILQ_HEAD(offer_list, offer);

typedef struct control_connection {
    warprsa_disposable socket;
    warprsa_event_source source;
    TAILQ_ENTRY(control_connection) link;
    warprsa_rounds_entry ready;
    struct accepting *owner;
    struct ucred peer; /* its user as warprsa_server_user() has it */
    uint32_t offered;  /* sessions, ever: the number of the last one */
    struct offer_list offers;
    bool is_gateway; /* it is believed about identities of the network */
    bool has_gone;   /* the client has closed its end; as of this turn */
    bool has_ended;
} control_connection;

TAILQ_HEAD(control_connection_list, control_connection);

typedef struct listener {
    warprsa_event_source source;
    int fd;
    bool is_ready; /* somebody may wait there */
} listener;

/* What the thread has, while it runs. */
typedef struct accepting {
    warprsa_acceptor *acceptor;
    warprsa_server_context *context;
    int epoll;
    warprsa_event_source wake_source;
    listener listeners[WARPRSA_LISTENERS_MAX];
    warprsa_rounds ready; /* control connections to be read, by user */
    struct control_connection_list open;
    struct control_connection_list ended; /* closed after a round's events */
    struct offer_list offers;             /* of all, the oldest first */
    bool has_more;              /* the last round has left something */
    bool is_paused;             /* nothing can be accepted for a moment */
    warprsa_disposal *disposal; /* with a seat for each control connection */
} accepting;

static void log_peer(warprsa_server_context *context, const struct ucred *peer,
                     const char *what, const char *why)
{
    warprsa_server_log_about(context, peer->uid, 1,
                             "process %d (user %d) %s: %s", (int)peer->pid,
                             (int)peer->uid, what, why);
}

static void end_offer(accepting *a, offer *o)
{
    TAILQ_REMOVE(&a->offers, o, link);
    TAILQ_REMOVE(&o->to->offers, o, own_link);
    free(o);
}

/* Withdraws an offer. */
static void withdraw(accepting *a, offer *o)
{
    warprsa_session_refuse(o->session);
    end_offer(a, o);
}

/* Withdraws the oldest offer if nobody has accepted it in time, and returns
 * whether it did. Freeing a session takes as long as making one, so the next
 * offer waits for the next round. */
static bool withdraw_overdue(accepting *a)
{
    offer *o = TAILQ_FIRST(&a->offers);

    if (o == NULL ||
        warprsa_clock_ns() <= o->since_ns + OFFER_MS * WARPRSA_NS_PER_MS)
        return false;
    withdraw(a, o);
    return true;
}

/* Disposes of a control connection without offers. */
static void dispose(control_connection *c)
{
    accepting *a = c->owner;

    TAILQ_REMOVE(&a->open, c, link);
    TAILQ_INSERT_TAIL(&a->ended, c, link);
}

/* Its offers are withdrawn one by one, in turns of its user. */
static void end_control_connection(control_connection *c)
{
    accepting *a = c->owner;

    c->has_ended = true;
    (void)epoll_ctl(a->epoll, EPOLL_CTL_DEL, c->socket.fd, NULL);
    if (TAILQ_EMPTY(&c->offers))
        dispose(c);
    else
        warprsa_rounds_add(&a->ready, &c->ready, c->peer.uid);
}

/* Withdraws the next offer of a control connection that has ended. False: it
 * was overdue, too. */
static bool go_on_ending(control_connection *c)
{
    offer *o = TAILQ_FIRST(&c->offers);

    if (o != NULL)
        withdraw(c->owner, o);
    if (TAILQ_EMPTY(&c->offers))
        dispose(c);
    else
        warprsa_rounds_add(&c->owner->ready, &c->ready, c->peer.uid);
    return o != NULL;
}

/* The user that a CONNECT is for. NULL, or how the client broke the protocol:
 * only the gateway speaks for others. The gateway's process is part of an
 * identity's number, since two gateways number their identities
 * independently. */
static const char *user_of(const control_connection *c,
                           const warprsa_message *wanted,
                           warprsa_session_user *user)
{
    *user = (warprsa_session_user){.uid = c->peer.uid, .owner = c->peer.uid};
    if (wanted->identity == 0)
        return NULL;
    if (!c->is_gateway)
        return "it broke the protocol: it is not the gateway, and names an "
               "identity";
    if (wanted->name[0] == '\0' ||
        memchr(wanted->name, '\0', sizeof(wanted->name)) == NULL)
        return "it broke the protocol: an identity without a name";
    user->owner =
        IDENTITIES | (uint64_t)(uint32_t)c->peer.pid << 32 | wanted->identity;
    strcpy(user->identity, wanted->name);
    return NULL;
}

/* The limits of one session. */
static void get_limits(warprsa_server_context *context,
                       const warprsa_session_user *user,
                       warprsa_server_limits *limits)
{
    warprsa_server_context_get_limits(context, limits);
    /* A host of the network has many programs behind it. */
    if (user->identity[0] != '\0' && limits->slots < IDENTITY_SLOTS)
        limits->slots = IDENTITY_SLOTS;
}

/* The session that a CONNECT is granted, or NULL and *why_not. */
static warprsa_session *new_session(const control_connection *c,
                                    const warprsa_session_user *user,
                                    const warprsa_message *wanted, int *end,
                                    const char **why_not)
{
    warprsa_server_context *context = c->owner->context;
    warprsa_server_limits limits;
    warprsa_session *session;

    get_limits(context, user, &limits);
    *why_not = warprsa_session_take_seat(context, user, &limits);
    if (*why_not != NULL)
        return NULL;
    session = warprsa_session_new(context, user, wanted, &limits, end);
    if (session == NULL)
        *why_not = "no memory or descriptor";
    return session;
}

/* Why a message to a client was not sent. */
static const char *why_not_sent(int error)
{
    switch (error) {
    case EPIPE:
    case ECONNRESET:
        return "it has gone";
    case EAGAIN:
        return "it does not read";
    case ETOOMANYREFS:
        return "too many descriptors are on their way";
    }
    return strerror(error);
}

/* Sends WELCOME with all that the client needs of a session. NULL, or why it
 * was not sent. */
static const char *send_offer(const offer *o, int fd, int end)
{
    const warprsa_session *s = o->session;
    const int fds[WARPRSA_MESSAGE_FDS] = {end, s->memory, s->eventfd};
    warprsa_message welcome = {.type = WARPRSA_MESSAGE_WELCOME,
                               .number = o->number,
                               .generation = o->generation,
                               .slots = s->shm.slots,
                               .keys = s->keys_max,
                               .notifiers = s->notifiers_max,
                               .deadline_ms = s->context->config.deadline_ms,
                               .identity = o->to->is_gateway};

    return warprsa_message_send(fd, &welcome, fds, WARPRSA_MESSAGE_FDS)
               ? NULL
               : why_not_sent(errno);
}

static const char *make_offer(control_connection *c,
                              const warprsa_session_user *user,
                              const warprsa_message *wanted)
{
    offer *o = calloc(1, sizeof(*o));
    const char *why_not = NULL;
    int end;

    if (o == NULL)
        return "no memory";
    o->session = new_session(c, user, wanted, &end, &why_not);
    if (o->session == NULL) {
        free(o);
        return why_not;
    }
    o->to = c;
    o->number = ++c->offered;
    o->generation = wanted->generation;
    o->since_ns = warprsa_clock_ns();
    TAILQ_INSERT_TAIL(&c->owner->offers, o, link);
    TAILQ_INSERT_TAIL(&c->offers, o, own_link);
    why_not = send_offer(o, c->socket.fd, end);
    close(end);
    if (why_not != NULL)
        withdraw(c->owner, o);
    return why_not;
}

static void refuse(const control_connection *c, uint32_t generation)
{
    warprsa_message refused = {.type = WARPRSA_MESSAGE_REFUSED,
                               .generation = generation};

    (void)warprsa_message_send(c->socket.fd, &refused, NULL, 0);
}

/* Whether the client has closed its end of the connection. */
static bool has_gone(const control_connection *c)
{
    struct pollfd end = {.fd = c->socket.fd, .events = POLLRDHUP};

    return poll(&end, 1, 0) > 0 &&
           (end.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/* A session costs memory and three descriptors, so a client that has gone gets
 * none. */
static const char *connect_client(control_connection *c,
                                  const warprsa_message *wanted)
{
    warprsa_session_user user;
    const char *wrong = user_of(c, wanted, &user), *why_not;
    char what[WARPRSA_IDENTITY_NAME + 32] = "is refused";

    if (wrong != NULL || c->has_gone)
        return wrong;
    why_not = make_offer(c, &user, wanted);
    if (why_not == NULL)
        return NULL;
    if (user.identity[0] != '\0')
        snprintf(what, sizeof(what), "is refused for %s", user.identity);
    log_peer(c->owner->context, &c->peer, what, why_not);
    refuse(c, wanted->generation);
    return NULL;
}

/* A number that is not on offer belonged to an offer that was withdrawn. */
static void attach(control_connection *c, uint32_t number, pid_t sender)
{
    accepting *a = c->owner;
    warprsa_acceptor *acceptor = a->acceptor;
    warprsa_session *session;
    offer *o;

    TAILQ_FOREACH (o, &c->offers, own_link)
        if (o->number == number)
            break;
    if (o == NULL)
        return;
    session = o->session;
    if (!warprsa_session_attach(session, sender)) {
        log_peer(a->context, &c->peer, "is refused",
                 "its shared memory can't be sealed");
        withdraw(a, o);
        return;
    }
    end_offer(a, o);
    warprsa_event_loop_add(
        &acceptor->event_loops[acceptor->next++ % a->context->config.threads],
        session);
}

/* NULL, or how the client broke the protocol. */
static const char *handle_message(control_connection *c,
                                  const warprsa_message *message, pid_t sender)
{
    switch (message->type) {
    case WARPRSA_MESSAGE_CONNECT:
        return connect_client(c, message);
    case WARPRSA_MESSAGE_ATTACHED:
        if (message->number == 0 || message->number > c->offered)
            return "it broke the protocol: a session it was not offered";
        attach(c, message->number, sender);
        return NULL;
    }
    return "it broke the protocol: an unknown message";
}

/* Reads a message. False: there is none now, or the control connection has
 * ended. */
static bool read_control_connection(control_connection *c)
{
    warprsa_message message;
    pid_t sender;
    char text[120];
    const char *wrong = NULL;

    switch (
        warprsa_message_receive_of_client(c->socket.fd, &message, &sender)) {
    case WARPRSA_NOTHING_YET:
        return false;
    case WARPRSA_RECEIVED:
        wrong = handle_message(c, &message, sender);
        break;
    case WARPRSA_OTHER_VERSION:
        snprintf(text, sizeof(text),
                 "its module speaks version %u of the protocol, and this "
                 "warprsad version %u",
                 (unsigned)message.version, (unsigned)WARPRSA_PROTOCOL);
        wrong = text;
        refuse(c, 0);
        break;
    case WARPRSA_MALFORMED:
        wrong = "it broke the protocol: a message of another size, or with "
                "descriptors";
        break;
    case WARPRSA_CLOSED:
        end_control_connection(c);
        return false;
    }
    if (wrong == NULL)
        return true;
    log_peer(c->owner->context, &c->peer, "loses its control connection",
             wrong);
    end_control_connection(c);
    return false;
}

static void control_connection_ready(warprsa_event_source *source)
{
    control_connection *c =
        (control_connection *)((char *)source -
                               offsetof(control_connection, source));

    if (!c->has_ended)
        warprsa_rounds_add(&c->owner->ready, &c->ready, c->peer.uid);
}

/* Reads one message. Messages of a peer that has gone matter only if it was
 * offered a session: they may say that it has attached. False: the turn cost
 * next to nothing. */
static bool read_one(control_connection *c)
{
    const warprsa_acceptor *acceptor = c->owner->acceptor;
    const unsigned attached = acceptor->next;

    c->has_gone = has_gone(c);
    if (c->has_gone && TAILQ_EMPTY(&c->offers)) {
        end_control_connection(c);
        return false;
    }
    if (!read_control_connection(c))
        return false;
    warprsa_rounds_add(&c->owner->ready, &c->ready, c->peer.uid);
    return !c->has_gone || acceptor->next != attached;
}

/* Gives each user one turn. So others wait for one session of a user who
 * connects without end to be made or freed, not for all. False: the turns cost
 * next to nothing. */
static bool run_ready(accepting *a)
{
    warprsa_rounds_entry *entry;
    bool costly = false;

    warprsa_rounds_begin(&a->ready);
    while ((entry = warprsa_rounds_next(&a->ready)) != NULL) {
        control_connection *c =
            (control_connection *)((char *)entry -
                                   offsetof(control_connection, ready));

        costly |= c->has_ended ? go_on_ending(c) : read_one(c);
    }
    return costly;
}

/* Has the kernel name the sender of each message. */
static bool ask_for_senders(int fd)
{
    static const int on = 1;

    return setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0;
}

/* NULL, or why there is no seat for the connection's user. */
static const char *take_seat(accepting *a, control_connection *c)
{
    socklen_t length = sizeof(c->peer);
    warprsa_server_limits limits;
    const char *why_not;

    c->peer = (struct ucred){.pid = -1, .uid = (uid_t)-1, .gid = (gid_t)-1};
    (void)getsockopt(c->socket.fd, SOL_SOCKET, SO_PEERCRED, &c->peer, &length);
    /* By the user id itself: a subordinate id is never the gateway. */
    c->is_gateway = c->peer.uid == a->context->config.gateway_uid ||
                    c->peer.uid == geteuid();
    c->peer.uid = warprsa_server_user(a->context, c->peer.uid);
    c->socket.uid = c->peer.uid;
    warprsa_server_context_get_limits(a->context, &limits);
    why_not = warprsa_user_quota_acquire(
        warprsa_disposal_seats(a->disposal), c->peer.uid,
        limits.control_connections, limits.user_control_connections);
    c->socket.has_seat = why_not == NULL;
    return why_not;
}

/* NULL, or why the connection is refused. The connection has a turn at once:
 * mostly its first message is already there. */
static const char *open_control_connection(accepting *a, control_connection *c)
{
    c->source.ready = control_connection_ready;
    c->owner = a;
    TAILQ_INIT(&c->offers);
    if (!ask_for_senders(c->socket.fd) ||
        !warprsa_event_source_watch(a->epoll, c->socket.fd, EPOLLIN | EPOLLET,
                                    &c->source))
        return "no memory";
    TAILQ_INSERT_TAIL(&a->open, c, link);
    warprsa_rounds_add(&a->ready, &c->ready, c->peer.uid);
    /* If the provider is on for the whole system, each process that starts has
     * a control connection, and few processes ever make an operation. */
    warprsa_server_log_about(a->context, c->peer.uid, 2,
                             "process %d (user %d) has a control connection",
                             (int)c->peer.pid, (int)c->peer.uid);
    return NULL;
}

/* Takes a socket that was accepted. A peer that has already gone was offered
 * nothing, so none of its messages matters. */
static void take_socket(accepting *a, control_connection *c)
{
    const char *why_not = take_seat(a, c);

    if (why_not == NULL && !has_gone(c)) {
        why_not = open_control_connection(a, c);
        if (why_not == NULL)
            return;
    }
    if (why_not != NULL)
        log_peer(a->context, &c->peer, "gets no control connection", why_not);
    warprsa_disposal_add(a->disposal, &c->socket);
}

/* Accepts a connection. False: none waits, or none can be accepted for a
 * moment. */
static bool accept_one(accepting *a, listener *l)
{
    control_connection *c = NULL;

    if (warprsa_disposal_unseated(a->disposal) < REFUSED_MAX)
        c = calloc(1, sizeof(*c));
    a->is_paused = c == NULL;
    if (a->is_paused)
        return false;
    c->socket.fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (c->socket.fd >= 0) {
        take_socket(a, c);
        return true;
    }
    free(c);
    /* Without descriptors the connections keep waiting. */
    a->is_paused = warprsa_process_lacks_room(errno);
    l->is_ready = a->is_paused;
    return false;
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

/* Has the kernel keep descriptors out if it can; connections inherit this.
 * Calls listen() again, so that the kernel names this process to clients even
 * if another process made the socket (daemon/client/busy.h). */
static void prepare_listener(int fd)
{
    static const int off = 0;

    (void)setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
    (void)listen(fd, SOMAXCONN);
}

static bool watch_all(accepting *a)
{
    const warprsa_server_config *config = &a->context->config;
    bool ok = warprsa_event_source_watch(a->epoll, a->acceptor->wake, EPOLLIN,
                                         &a->wake_source);

    a->wake_source.ready = woken;
    for (unsigned i = 0; i < config->listeners_count; i++) {
        listener *l = &a->listeners[i];

        l->source.ready = listener_ready;
        l->fd = config->listeners[i];
        prepare_listener(l->fd);
        ok = ok && warprsa_event_source_watch(a->epoll, l->fd,
                                              EPOLLIN | EPOLLET, &l->source);
    }
    return ok;
}

static void close_ended(accepting *a)
{
    control_connection *c;

    while ((c = TAILQ_FIRST(&a->ended)) != NULL) {
        TAILQ_REMOVE(&a->ended, c, link);
        warprsa_disposal_add(a->disposal, &c->socket);
    }
}

static int timeout_ms(const accepting *a)
{
    if (a->ready.count > 0 || (a->has_more && !a->is_paused))
        return 0;
    if (a->has_more)
        return PAUSE_MS;
    return TAILQ_EMPTY(&a->offers) ? -1 : LOOK_MS;
}

/* Events are edges. What an event says is remembered until it has been handled,
 * and costs nothing in the rounds until then. */
static void serve(accepting *a)
{
    struct epoll_event events[EVENTS];

    while (!atomic_load(&a->context->closing)) {
        int count = epoll_wait(a->epoll, events, EVENTS, timeout_ms(a));
        unsigned turns = 0;

        warprsa_event_source_dispatch(events, count);
        a->has_more = accept_some(a);
        while (!run_ready(a) && a->ready.count > 0 && turns < TURNS_AT_ONCE)
            turns++;
        a->has_more |= withdraw_overdue(a);
        close_ended(a);
    }
}

/* Ends everything at once, without turns. */
static void end_all(accepting *a)
{
    control_connection *c;
    offer *o;

    while ((o = TAILQ_FIRST(&a->offers)) != NULL)
        withdraw(a, o);
    while ((c = TAILQ_FIRST(&a->open)) != NULL) {
        warprsa_rounds_remove(&a->ready, &c->ready);
        (void)epoll_ctl(a->epoll, EPOLL_CTL_DEL, c->socket.fd, NULL);
        dispose(c);
    }
    close_ended(a);
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
                   .disposal = warprsa_disposal_new()};

    TAILQ_INIT(&a.open);
    TAILQ_INIT(&a.ended);
    TAILQ_INIT(&a.offers);
    warprsa_rounds_init(&a.ready);
    a.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (a.disposal != NULL && a.epoll >= 0 && watch_all(&a))
        serve(&a);
    else
        log_none_accepted(a.context);
    end_all(&a);
    warprsa_disposal_drop(a.disposal);
    if (a.epoll >= 0)
        close(a.epoll);
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
