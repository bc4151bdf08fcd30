/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sessions at warprsad; see upstream.h.
 */
#include "batching/remote/server/upstream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "batching/base/clock.h"
#include "batching/base/container_of.h"
#include "batching/daemon/wire/message.h"

enum {
    RETRY_MS = 250,
    REPLY_MS = 10000,  /* for a session that was asked for, until it is open */
    MARGIN_MS = 1000,  /* beyond the deadline, by which warprsad has answered */
    SILENT_MS = 3000,  /* without a heartbeat: warprsad hangs */
    NOTIFIER = 1,      /* the number of a session's one notifier */
    DRAIN_BYTES = 512, /* of a notifier, a byte for up to 32 answers */
    ANNOUNCED = 32,    /* requests that warprsad is told of at once */
};

static void lose(warprsa_upstream_session *s, const char *why)
{
    const warprsa_upstream_handlers *handlers = s->handlers;

    warprsa_upstream_session_forget(s);
    if (handlers != NULL)
        handlers->lost(s, why);
}

/* ---- Opening ---- */

static void notified(warprsa_event_source *source)
{
    warprsa_upstream_session *s =
        WARPRSA_CONTAINER_OF(source, warprsa_upstream_session, notifier_source);
    char bytes[DRAIN_BYTES];
    ssize_t got;

    if (!s->is_open)
        return;
    got = recv(s->notifier.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (got > 0)
        s->handlers->answered(s);
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        lose(s, "warprsad has gone");
}

/* The session's notifier has come, so the session is open. */
static void take_notifier(warprsa_upstream_session *s, int fd)
{
    s->notifier_source.ready = notified;
    if (!warprsa_own_fd_take(&s->notifier, fd) ||
        !warprsa_event_source_watch(s->upstream->epoll, s->notifier.fd, EPOLLIN,
                                    &s->notifier_source)) {
        lose(s, "warprsad or the gateway has no descriptor left");
        return;
    }
    s->is_open = true;
    TAILQ_REMOVE(&s->upstream->asked, s, link);
    s->handlers->opened(s);
}

/* The session's socket brings the notifier, once, and ends with the session.
 * warprsad sends the notifier after it has read ATTACHED. A session that opened
 * before ATTACHED was sent would never be over: accept_offers() sees only those
 * that are not open, and close() leaves it to accept_offers(). */
static void socket_ready(warprsa_event_source *source)
{
    warprsa_upstream_session *s =
        WARPRSA_CONTAINER_OF(source, warprsa_upstream_session, socket_source);
    int fds[WARPRSA_MESSAGE_FDS];
    warprsa_message message;

    if (s->connection == NULL)
        return;
    switch (warprsa_message_receive(s->connection->socket.fd, &message, fds)) {
    case WARPRSA_NOTHING_YET:
        return;
    case WARPRSA_RECEIVED:
        if (s->unaccepted != 0) {
            lose(s, "warprsad has opened the session before it was accepted");
        } else if (!s->is_open) {
            take_notifier(s, fds[0]);
            fds[0] = -1;
        }
        warprsa_message_close_fds(fds);
        return;
    default:
        lose(s, "warprsad has ended the session; its log says why");
    }
}

/* Asks for the session's one notifier, by which warprsad announces all
 * answers. */
static bool ask_for_notifier(warprsa_upstream_session *s)
{
    warprsa_connection *c = s->connection;

    c->message.type = WARPRSA_SHM_NOTIFIER;
    c->message.number = NOTIFIER;
    c->message.generation = ++c->notifier_generation[NOTIFIER];
    if (!warprsa_connection_send(c))
        return false;
    warprsa_connection_notify_message(c);
    return true;
}

/* Accepts the session of a WELCOME, now or once warprsad has read more. False:
 * warprsad has gone. */
static bool accept_offer(warprsa_upstream_session *s)
{
    warprsa_upstream *u = s->upstream;

    if (warprsa_control_connection_attached(&u->control, s->unaccepted))
        s->unaccepted = 0;
    return s->unaccepted == 0 || errno == EAGAIN;
}

/* The WELCOME of a session whose owner has closed it: it is accepted and ended,
 * since it would otherwise last for seconds. */
static void give_back(warprsa_upstream_session *s)
{
    if (!accept_offer(s) || s->unaccepted == 0)
        warprsa_upstream_session_forget(s);
}

/* Accepts what could not be accepted before. */
static void accept_offers(warprsa_upstream *u)
{
    warprsa_upstream_session *s, *next;

    for (s = TAILQ_FIRST(&u->asked); s != NULL; s = next) {
        next = TAILQ_NEXT(s, link);
        if (s->unaccepted != 0 && s->handlers == NULL)
            give_back(s);
        else if (s->unaccepted != 0)
            (void)accept_offer(s); /* the end of warprsad is an event */
    }
}

/* Takes a WELCOME: a session has come. */
static void welcome(warprsa_upstream_session *s, const warprsa_message *message,
                    int fds[WARPRSA_MESSAGE_FDS])
{
    warprsa_upstream *u = s->upstream;
    char why[WARPRSA_UPSTREAM_WHY] = "warprsad has gone";

    s->socket_source.ready = socket_ready;
    s->deadline_ms = message->deadline_ms;
    u->is_believed = message->identity != 0;
    s->connection = warprsa_connection_new(message, fds, 1, why, sizeof(why));
    if (!accept_offer(s) || s->connection == NULL ||
        s->connection->notifiers < NOTIFIER || !ask_for_notifier(s) ||
        !warprsa_event_source_watch(u->epoll, s->connection->socket.fd, EPOLLIN,
                                    &s->socket_source))
        lose(s, why);
}

/* ---- The control connection ---- */

static warprsa_upstream_session *find_asked(warprsa_upstream *u, uint32_t tag)
{
    warprsa_upstream_session *s;

    TAILQ_FOREACH (s, &u->asked, link)
        if (s->tag == tag && s->connection == NULL && s->unaccepted == 0)
            break;
    return s;
}

static void close_control(warprsa_upstream *u)
{
    if (u->watched)
        (void)epoll_ctl(u->epoll, EPOLL_CTL_DEL, u->control.socket.fd, NULL);
    u->watched = false;
    warprsa_control_connection_close(&u->control);
}

/* No reply will come any more. The handler of one lost session may close any
 * other, so this loop keeps no pointer to a session. */
static void lose_asked(warprsa_upstream *u, const char *why)
{
    warprsa_upstream_session *s;

    close_control(u);
    while ((s = TAILQ_FIRST(&u->asked)) != NULL)
        lose(s, why);
}

/* A reply may come so late that it is to none of these sessions. */
static void take_reply(warprsa_upstream *u, const warprsa_message *message,
                       int fds[WARPRSA_MESSAGE_FDS])
{
    warprsa_upstream_session *s = find_asked(u, message->generation);

    if (s != NULL && message->type == WARPRSA_MESSAGE_WELCOME) {
        s->unaccepted = message->number;
        if (s->handlers != NULL) {
            welcome(s, message, fds);
            return;
        }
    } else if (message->type == WARPRSA_MESSAGE_WELCOME) {
        (void)warprsa_control_connection_attached(&u->control, message->number);
    }
    warprsa_message_close_fds(fds);
    if (s == NULL)
        return;
    if (s->unaccepted != 0)
        give_back(s);
    else
        lose(s, "warprsad has no room for this session; its log says why");
}

/* Events are edges: room for messages to warprsad is one, too. */
static void control_ready(warprsa_event_source *source)
{
    warprsa_upstream *u =
        WARPRSA_CONTAINER_OF(source, warprsa_upstream, source);
    int fds[WARPRSA_MESSAGE_FDS];
    warprsa_message message;

    accept_offers(u);
    while (u->watched)
        switch (
            warprsa_control_connection_receive(&u->control, &message, fds)) {
        case WARPRSA_RECEIVED:
            take_reply(u, &message, fds);
            break;
        case WARPRSA_NOTHING_YET:
            return;
        case WARPRSA_OTHER_VERSION:
            lose_asked(u, "warprsad and the gateway must be of one release");
            return;
        default:
            lose_asked(u, "warprsad has gone, or its log says why it does not "
                          "take this for its gateway");
            return;
        }
}

/* Sends a CONNECT. A watched control connection is not opened again here, even
 * if warprsad has gone: the event of its end will come, and all sessions that
 * wait for a reply are told. */
static bool request(warprsa_upstream *u, warprsa_message *message,
                    char why[WARPRSA_UPSTREAM_WHY])
{
    if (!u->watched) {
        close_control(u);
        return warprsa_control_connection_request(&u->control, message, why,
                                                  WARPRSA_UPSTREAM_WHY);
    }
    message->type = WARPRSA_MESSAGE_CONNECT;
    if (warprsa_message_send(u->control.socket.fd, message, NULL, 0))
        return true;
    snprintf(why, WARPRSA_UPSTREAM_WHY, "warprsad %s",
             errno == EAGAIN ? "does not read" : "has gone");
    return false;
}

bool warprsa_upstream_ask(warprsa_upstream *u, warprsa_upstream_session *s,
                          const warprsa_upstream_handlers *handlers,
                          const warprsa_message *wanted,
                          char why[WARPRSA_UPSTREAM_WHY])
{
    warprsa_message message = *wanted;

    message.notifiers = NOTIFIER;
    message.generation = ++u->tags;
    if (!request(u, &message, why))
        return false;
    if (!u->watched)
        u->watched = warprsa_event_source_watch(u->epoll, u->control.socket.fd,
                                                EPOLLIN | EPOLLOUT | EPOLLET,
                                                &u->source);
    if (!u->watched) {
        snprintf(why, WARPRSA_UPSTREAM_WHY, "no memory");
        return false;
    }
    s->upstream = u;
    s->handlers = handlers;
    s->tag = message.generation;
    s->asked_ns = warprsa_clock_ns();
    s->notifier = WARPRSA_NO_FD;
    TAILQ_INSERT_TAIL(&u->asked, s, link);
    return true;
}

/* Lets go of what a session has of warprsad. */
static void release(warprsa_upstream_session *s)
{
    const int epoll = s->upstream->epoll;

    if (s->notifier.fd >= 0)
        (void)epoll_ctl(epoll, EPOLL_CTL_DEL, s->notifier.fd, NULL);
    warprsa_own_fd_close(&s->notifier);
    if (s->connection != NULL) {
        (void)epoll_ctl(epoll, EPOLL_CTL_DEL, s->connection->socket.fd, NULL);
        warprsa_connection_drop(s->connection);
    }
    s->connection = NULL;
}

void warprsa_upstream_session_forget(warprsa_upstream_session *s)
{
    if (s->upstream == NULL)
        return;
    release(s);
    if (!s->is_open)
        TAILQ_REMOVE(&s->upstream->asked, s, link);
    s->upstream = NULL;
    s->is_open = false;
}

void warprsa_upstream_session_close(warprsa_upstream_session *s)
{
    const bool has_come = s->is_open || s->connection != NULL;

    if (s->upstream == NULL)
        return;
    if (has_come && s->unaccepted == 0) {
        warprsa_upstream_session_forget(s);
        return;
    }
    release(s);
    s->handlers = NULL;
}

bool warprsa_upstream_session_is_over(const warprsa_upstream_session *s)
{
    return s->upstream == NULL;
}

/* ---- Whether warprsad is there ---- */

static warprsa_upstream *upstream_of(warprsa_upstream_session *own)
{
    return WARPRSA_CONTAINER_OF(own, warprsa_upstream, own);
}

static void own_opened(warprsa_upstream_session *s)
{
    warprsa_upstream *u = upstream_of(s);

    snprintf(u->why, sizeof(u->why), "%s",
             u->is_believed ? ""
                            : "warprsad does not take this user for its "
                              "gateway (its option gateway_user)");
}

static void own_answered(warprsa_upstream_session *s)
{
    (void)s;
}

static void own_lost(warprsa_upstream_session *s, const char *why)
{
    warprsa_upstream *u = upstream_of(s);

    snprintf(u->why, sizeof(u->why), "%s", why);
    u->retry_ns = warprsa_clock_ns() + RETRY_MS * WARPRSA_NS_PER_MS;
}

static const warprsa_upstream_handlers own_handlers = {
    .opened = own_opened,
    .answered = own_answered, /* it submits nothing */
    .lost = own_lost,
};

static void ask_for_own(warprsa_upstream *u, uint64_t now_ns)
{
    const warprsa_message wanted = {.slots = 1, .keys = 1};

    if (u->own.upstream != NULL || now_ns < u->retry_ns)
        return;
    u->retry_ns = now_ns + RETRY_MS * WARPRSA_NS_PER_MS;
    memset(&u->own, 0, sizeof(u->own));
    (void)warprsa_upstream_ask(u, &u->own, &own_handlers, &wanted, u->why);
}

void warprsa_upstream_init(warprsa_upstream *u, int epoll, const char *socket)
{
    memset(u, 0, sizeof(*u));
    u->epoll = epoll;
    u->source.ready = control_ready;
    TAILQ_INIT(&u->asked);
    (void)warprsa_control_connection_open(&u->control, socket, u->why,
                                          sizeof(u->why));
    ask_for_own(u, warprsa_clock_ns());
}

void warprsa_upstream_close(warprsa_upstream *u)
{
    warprsa_upstream_session_forget(&u->own);
    close_control(u);
}

void warprsa_upstream_tick(warprsa_upstream *u, uint64_t now_ns)
{
    warprsa_upstream_session *s;

    /* The list is in the order of asking. */
    while ((s = TAILQ_FIRST(&u->asked)) != NULL &&
           now_ns > s->asked_ns + REPLY_MS * WARPRSA_NS_PER_MS)
        lose(s, "warprsad does not answer");
    ask_for_own(u, now_ns);
}

bool warprsa_upstream_is_ready(const warprsa_upstream *u)
{
    const warprsa_shm_head *head;

    if (!u->own.is_open || !u->is_believed)
        return false;
    head = u->own.connection->shm.head;
    return atomic_load_explicit(&head->state, memory_order_relaxed) ==
               WARPRSA_QUEUE_READY &&
           warprsa_clock_ns() <
               atomic_load_explicit(&head->heartbeat_ns, memory_order_relaxed) +
                   SILENT_MS * WARPRSA_NS_PER_MS;
}

/* ---- Keys and requests ---- */

bool warprsa_upstream_has_room(warprsa_upstream_session *s)
{
    if (warprsa_shm_has_room(&s->connection->shm,
                             s->connection->messages_offset))
        return true;
    warprsa_connection_notify_message(s->connection);
    return false;
}

void warprsa_upstream_load_key(warprsa_upstream_session *s, uint32_t number,
                               const warprsa_private_key *key)
{
    warprsa_connection *c = s->connection;

    c->message.type = WARPRSA_SHM_KEY;
    c->message.number = number;
    c->message.generation = ++c->key_generation[number];
    c->message.key = *key;
    (void)warprsa_connection_send(c);
    explicit_bzero(&c->message.key, sizeof(c->message.key));
}

bool warprsa_upstream_has_uses(const warprsa_upstream_session *s)
{
    return s->connection->shm.use != NULL;
}

void warprsa_upstream_name_key(
    warprsa_upstream_session *s, uint32_t number,
    const uint8_t spki_sha256[WARPRSA_KEY_SPKI_BYTES])
{
    warprsa_connection *c = s->connection;

    c->message.type = WARPRSA_SHM_KEY_USE;
    c->message.number = number;
    c->message.generation = ++c->key_generation[number];
    memcpy(c->message.spki_sha256, spki_sha256, sizeof(c->message.spki_sha256));
    (void)warprsa_connection_send(c);
}

void warprsa_upstream_free_key(warprsa_upstream_session *s, uint32_t number)
{
    warprsa_connection *c = s->connection;

    c->message.type = WARPRSA_SHM_KEY_FREE;
    c->message.number = number;
    c->message.generation = c->key_generation[number];
    (void)warprsa_connection_send(c);
    warprsa_connection_notify_message(c);
}

/* Fills a free slot, but for the input. False: there is none. */
static bool begin_request(warprsa_upstream_session *s, uint32_t key,
                          uint64_t now_ns, warprsa_ticket *ticket)
{
    warprsa_connection *c = s->connection;
    warprsa_shm_request *request;

    if (!warprsa_connection_acquire(c, now_ns, UINT64_MAX / 2, &ticket->slot))
        return false;
    if (++s->generations == 0)
        s->generations = 1;
    ticket->generation = s->generations;
    c->slot[ticket->slot].submitted_ns = now_ns;
    request = &c->shm.slot[ticket->slot].request;
    request->key = key;
    request->key_generation = c->key_generation[key];
    request->notifier = NOTIFIER;
    request->notifier_generation = c->notifier_generation[NOTIFIER];
    return true;
}

void warprsa_upstream_announce(warprsa_upstream_session *s)
{
    if (s->unannounced > 0)
        warprsa_connection_announce(s->connection);
    s->unannounced = 0;
}

/* warprsad begins with the first requests of a long message while the others
 * are read. */
static void put(warprsa_upstream_session *s, const warprsa_ticket *ticket)
{
    warprsa_connection_put(s->connection, ticket->slot, ticket->generation);
    if (++s->unannounced == ANNOUNCED)
        warprsa_upstream_announce(s);
}

bool warprsa_upstream_submit(warprsa_upstream_session *s, uint32_t key,
                             const uint8_t *input, uint32_t bytes,
                             uint64_t now_ns, warprsa_ticket *ticket)
{
    warprsa_connection *c = s->connection;
    warprsa_shm_request *request;

    if (!begin_request(s, key, now_ns, ticket))
        return false;
    c->slot[ticket->slot].is_use = false;
    c->slot[ticket->slot].bytes = bytes;
    request = &c->shm.slot[ticket->slot].request;
    request->bytes = bytes;
    memcpy(request->number, input, bytes);
    put(s, ticket);
    return true;
}

bool warprsa_upstream_submit_use(warprsa_upstream_session *s, uint32_t key,
                                 const warprsa_key_use *use,
                                 const uint8_t *input, uint64_t now_ns,
                                 warprsa_ticket *ticket)
{
    warprsa_connection *c = s->connection;
    warprsa_shm_use *to;

    if (!begin_request(s, key, now_ns, ticket))
        return false;
    /* Only warprsad knows how long the modulus is. */
    c->slot[ticket->slot].is_use = true;
    c->slot[ticket->slot].bytes = sizeof(to->number);
    c->shm.slot[ticket->slot].request.bytes = 0;
    to = &c->shm.use[ticket->slot];
    to->header = *use;
    if (use->input_bytes > 0)
        memcpy(to->number, input, use->input_bytes);
    put(s, ticket);
    return true;
}

bool warprsa_upstream_is_answered(const warprsa_upstream_session *s,
                                  warprsa_ticket ticket)
{
    return warprsa_connection_is_answered(s->connection, ticket);
}

warprsa_answer warprsa_upstream_collect(warprsa_upstream_session *s,
                                        warprsa_ticket ticket, uint8_t *output,
                                        warprsa_connection_answer *how)
{
    warprsa_connection *c = s->connection;
    const uint64_t deadline_ns =
        (s->deadline_ms + (uint64_t)MARGIN_MS) * WARPRSA_NS_PER_MS;
    warprsa_answer answer =
        warprsa_connection_poll(c, ticket, deadline_ns, output, how);

    if (how->owned)
        warprsa_connection_release(c, ticket.slot);
    return answer;
}
