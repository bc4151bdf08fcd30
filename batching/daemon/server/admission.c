/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Control connections; see admission.h.
 */
#include "batching/daemon/server/admission.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "batching/base/container_of.h"
#include "batching/daemon/server/lookups.h"
#include "batching/daemon/wire/message.h"

enum {
    /* Refused control connections that are not closed yet. With more than
     * these, none is accepted. */
    REFUSED_MAX = 256,
};

typedef struct warprsa_control {
    warprsa_disposable socket;
    warprsa_event_source source;
    TAILQ_ENTRY(warprsa_control) link;
    warprsa_rounds_entry ready;
    warprsa_admission *owner;
    warprsa_applicant applicant;
    warprsa_lookup lookup; /* the next message is read once it is answered */
    bool has_ended;
} control_connection;

static void make_ready(control_connection *c)
{
    warprsa_rounds_add(&c->owner->ready, &c->ready, c->applicant.peer.uid);
}

/* Disposes of a control connection without offers. */
static void dispose(control_connection *c)
{
    warprsa_admission *a = c->owner;

    TAILQ_REMOVE(&a->open, c, link);
    TAILQ_INSERT_TAIL(&a->ended, c, link);
}

/* Its offers are withdrawn one by one, in turns of its user. */
static void end_control_connection(control_connection *c)
{
    warprsa_admission *a = c->owner;

    c->has_ended = true;
    (void)epoll_ctl(a->epoll, EPOLL_CTL_DEL, c->socket.fd, NULL);
    if (TAILQ_EMPTY(&c->applicant.offers))
        dispose(c);
    else
        make_ready(c);
}

/* Withdraws the next offer of a control connection that has ended. False: it
 * was overdue, too. */
static bool go_on_ending(control_connection *c)
{
    const bool withdrawn =
        warprsa_offers_withdraw_one(&c->owner->offers, &c->applicant);

    if (TAILQ_EMPTY(&c->applicant.offers))
        dispose(c);
    else
        make_ready(c);
    return withdrawn;
}

/* Whether the client has closed its end of the connection. */
static bool has_gone(const control_connection *c)
{
    struct pollfd end = {.fd = c->socket.fd, .events = POLLRDHUP};

    return poll(&end, 1, 0) > 0 &&
           (end.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/* A number that is not on offer belonged to an offer that was withdrawn. */
static void attach(control_connection *c, uint32_t number,
                   const struct ucred *sender)
{
    warprsa_admission *a = c->owner;
    warprsa_session *session =
        warprsa_offers_attach(&a->offers, &c->applicant, number, sender);

    if (session == NULL)
        return;
    a->attachments++;
    a->attached(a->arg, session);
}

/* NULL, or how the client broke the protocol. */
static const char *handle_message(control_connection *c,
                                  const warprsa_message *message,
                                  const struct ucred *sender)
{
    switch (message->type) {
    case WARPRSA_MESSAGE_CONNECT:
        return warprsa_offers_connect(&c->owner->offers, &c->applicant,
                                      message);
    case WARPRSA_MESSAGE_ATTACHED:
        if (message->number == 0 || message->number > c->applicant.offered)
            return "it broke the protocol: a session it was not offered";
        attach(c, message->number, sender);
        return NULL;
    case WARPRSA_MESSAGE_LOOKUP:
    case WARPRSA_MESSAGE_LIST:
        return warprsa_lookup_begin(&c->lookup,
                                    c->owner->offers.context->config.vault,
                                    c->socket.fd, message, sender);
    }
    return "it broke the protocol: an unknown message";
}

static void lose_control_connection(control_connection *c, const char *why)
{
    warprsa_offers_log(&c->owner->offers, &c->applicant,
                       "loses its control connection", why);
    end_control_connection(c);
}

/* Goes on with a question. False: the control connection has ended. */
static bool go_on_looking_up(control_connection *c)
{
    const char *wrong = warprsa_lookup_go_on(
        &c->lookup, c->owner->offers.context->config.vault, c->socket.fd);

    if (wrong != NULL)
        lose_control_connection(c, wrong);
    return wrong == NULL;
}

/* Reads a message. False: there is none now, or the control connection has
 * ended. */
static bool read_control_connection(control_connection *c)
{
    warprsa_message message;
    struct ucred sender;
    char text[120];
    const char *wrong = NULL;

    switch (
        warprsa_message_receive_of_client(c->socket.fd, &message, &sender)) {
    case WARPRSA_NOTHING_YET:
        return false;
    case WARPRSA_RECEIVED:
        wrong = handle_message(c, &message, &sender);
        break;
    case WARPRSA_OTHER_VERSION:
        snprintf(text, sizeof(text),
                 "its module speaks version %u of the protocol, and this "
                 "warprsad version %u",
                 (unsigned)message.version, (unsigned)WARPRSA_PROTOCOL);
        wrong = text;
        warprsa_offers_refuse(&c->applicant, 0);
        break;
    case WARPRSA_MALFORMED:
        wrong = "it broke the protocol: a message of another size, or with "
                "descriptors";
        break;
    case WARPRSA_CLOSED:
        end_control_connection(c);
        return false;
    }
    if (wrong != NULL)
        lose_control_connection(c, wrong);
    return wrong == NULL;
}

static void control_connection_ready(warprsa_event_source *source)
{
    control_connection *c =
        WARPRSA_CONTAINER_OF(source, control_connection, source);

    if (!c->has_ended)
        make_ready(c);
}

/* Goes on with a question, or else reads one message. Messages of a peer that
 * has gone matter only if it was offered a session: they may say that it has
 * attached. False: the turn cost next to nothing. */
static bool read_one(control_connection *c)
{
    const unsigned attachments = c->owner->attachments;
    const bool looks_up = c->lookup.is_open;
    warprsa_applicant *applicant = &c->applicant;

    applicant->has_gone = has_gone(c);
    if (applicant->has_gone && TAILQ_EMPTY(&applicant->offers)) {
        end_control_connection(c);
        return false;
    }
    if (!(looks_up ? go_on_looking_up(c) : read_control_connection(c)))
        return false;
    make_ready(c);
    return !applicant->has_gone || looks_up ||
           c->owner->attachments != attachments;
}

bool warprsa_admission_run_ready(warprsa_admission *a)
{
    warprsa_rounds_entry *entry;
    bool costly = false;

    warprsa_rounds_begin(&a->ready);
    while ((entry = warprsa_rounds_next(&a->ready)) != NULL) {
        control_connection *c =
            WARPRSA_CONTAINER_OF(entry, control_connection, ready);

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
static const char *take_seat(warprsa_admission *a, control_connection *c)
{
    warprsa_server_context *context = a->offers.context;
    warprsa_applicant *applicant = &c->applicant;
    socklen_t length = sizeof(applicant->peer);
    warprsa_server_limits limits;
    const char *why_not;

    applicant->peer =
        (struct ucred){.pid = -1, .uid = (uid_t)-1, .gid = (gid_t)-1};
    (void)getsockopt(c->socket.fd, SOL_SOCKET, SO_PEERCRED, &applicant->peer,
                     &length);
    /* By the user id itself: a subordinate id is never the gateway. */
    applicant->is_gateway =
        applicant->peer.uid == context->config.gateway_uid ||
        applicant->peer.uid == geteuid();
    applicant->peer.uid = warprsa_server_user(context, applicant->peer.uid);
    c->socket.uid = applicant->peer.uid;
    warprsa_server_context_get_limits(context, &limits);
    why_not = warprsa_user_quota_acquire(
        warprsa_disposal_seats(a->disposal), applicant->peer.uid,
        limits.control_connections, limits.user_control_connections);
    c->socket.has_seat = why_not == NULL;
    return why_not;
}

/* NULL, or why the connection is refused. The connection has a turn at once:
 * mostly its first message is already there. */
static const char *open_control_connection(warprsa_admission *a,
                                           control_connection *c)
{
    const struct ucred *peer = &c->applicant.peer;

    c->source.ready = control_connection_ready;
    if (!ask_for_senders(c->socket.fd) ||
        !warprsa_event_source_watch(a->epoll, c->socket.fd, EPOLLIN | EPOLLET,
                                    &c->source))
        return "no memory";
    TAILQ_INSERT_TAIL(&a->open, c, link);
    make_ready(c);
    /* If the provider is on for the whole system, each process that starts has
     * a control connection, and few processes ever make an operation. */
    warprsa_server_log_about(a->offers.context, peer->uid, 2,
                             "process %d (user %u) has a control connection",
                             (int)peer->pid, (unsigned)peer->uid);
    return NULL;
}

/* Takes a socket that was accepted. A peer that has already gone was offered
 * nothing, so none of its messages matters. */
static void take_socket(warprsa_admission *a, control_connection *c)
{
    const char *why_not = take_seat(a, c);

    if (why_not == NULL && !has_gone(c)) {
        why_not = open_control_connection(a, c);
        if (why_not == NULL)
            return;
    }
    if (why_not != NULL)
        warprsa_offers_log(&a->offers, &c->applicant,
                           "gets no control connection", why_not);
    warprsa_disposal_add(a->disposal, &c->socket);
}

int warprsa_admission_accept(warprsa_admission *a, int listener)
{
    control_connection *c = NULL;
    int error;

    if (warprsa_disposal_unseated(a->disposal) < REFUSED_MAX)
        c = calloc(1, sizeof(*c));
    if (c == NULL)
        return ENOMEM;
    c->owner = a;
    TAILQ_INIT(&c->applicant.offers);
    c->socket.fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (c->socket.fd >= 0) {
        c->applicant.socket = c->socket.fd;
        take_socket(a, c);
        return 0;
    }
    error = errno;
    free(c);
    return error;
}

void warprsa_admission_close_ended(warprsa_admission *a)
{
    control_connection *c;

    while ((c = TAILQ_FIRST(&a->ended)) != NULL) {
        TAILQ_REMOVE(&a->ended, c, link);
        warprsa_disposal_add(a->disposal, &c->socket);
    }
}

bool warprsa_admission_init(warprsa_admission *a,
                            warprsa_server_context *context)
{
    a->offers.context = context;
    TAILQ_INIT(&a->offers.all);
    TAILQ_INIT(&a->open);
    TAILQ_INIT(&a->ended);
    warprsa_rounds_init(&a->ready);
    a->disposal = warprsa_disposal_new();
    return a->disposal != NULL;
}

void warprsa_admission_free(warprsa_admission *a)
{
    control_connection *c;

    warprsa_offers_withdraw_all(&a->offers);
    while ((c = TAILQ_FIRST(&a->open)) != NULL) {
        warprsa_rounds_remove(&a->ready, &c->ready);
        (void)epoll_ctl(a->epoll, EPOLL_CTL_DEL, c->socket.fd, NULL);
        dispose(c);
    }
    warprsa_admission_close_ended(a);
    warprsa_disposal_drop(a->disposal);
}
