/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The thread that accepts connections. What connects is a control_connection: all it may say
 * is CONNECT.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "batching/daemon/server_private.h"
#include "batching/ipc/message.h"

enum {
    EVENTS = 64,
    MESSAGES_AT_ONCE = 64,
};

typedef struct control_connection {
    warprsa_source source;
    TAILQ_ENTRY(control_connection) link;
    struct acceptor *acceptor;
    uid_t uid;
    int fd;
} control_connection;

TAILQ_HEAD(control_connection_list, control_connection);

typedef struct listener {
    warprsa_source source;
    struct acceptor *acceptor;
    int fd;
} listener;

typedef struct acceptor {
    warprsa_server *server;
    int epoll;
    warprsa_source wake_source;
    listener listeners[WARPRSA_LISTENERS_MAX];
    struct control_connection_list control_connections;
    warprsa_user_quota control_connection_quota;
    struct control_connection_list
        ended; /* freed once no event can point there */
} acceptor;

static void log_peer(const warprsa_server *server, const struct ucred *peer,
                     const char *what, const char *why)
{
    warprsa_server_log(server, 1, "process %d (user %d) %s: %s", (int)peer->pid,
                       (int)peer->uid, what, why);
}

static void end_control_connection(control_connection *d)
{
    acceptor *a = d->acceptor;

    warprsa_server_unwatch(a->epoll, &d->fd);
    TAILQ_REMOVE(&a->control_connections, d, link);
    TAILQ_INSERT_TAIL(&a->ended, d, link);
    warprsa_user_quota_leave(&a->control_connection_quota, d->uid);
}

/* A process has made itself a connection. */
static void admit(acceptor *a, const warprsa_message *wanted, int socket)
{
    warprsa_server *server = a->server;
    warprsa_server_limits limits;
    warprsa_session *session;
    struct ucred peer;
    const char *why_not;

    if (socket < 0) {
        warprsa_server_log(server, 1, "a client is refused: no descriptor");
        return;
    }
    peer = warprsa_server_peer(socket);
    warprsa_server_limits_now(server, &limits);
    why_not = warprsa_user_quota_enter(&server->clients, peer.uid,
                                       limits.clients, limits.user_clients);
    if (why_not != NULL) {
        log_peer(server, &peer, "is refused", why_not);
        close(socket);
        return;
    }
    session = warprsa_session_new(socket, &peer, wanted, &limits);
    if (session == NULL) {
        warprsa_user_quota_leave(&server->clients, peer.uid);
        log_peer(server, &peer, "is refused", "no memory or descriptor");
        return;
    }
    warprsa_event_loop_give(
        &server->event_loops[server->next++ % server->config.threads], session);
}

/* False: nothing more to read now, or the control_connection has ended. */
static bool read_control_connection(control_connection *d)
{
    warprsa_message message;
    int fds[WARPRSA_MESSAGE_FDS];
    warprsa_received received = warprsa_message_receive(d->fd, &message, fds);
    bool ok = false;

    switch (received) {
    case WARPRSA_NOTHING_YET:
        return false;
    case WARPRSA_RECEIVED:
        ok = message.type == WARPRSA_MESSAGE_CONNECT &&
             (fds[0] < 0 || warprsa_server_is_socket(fds[0], SOCK_SEQPACKET));
        if (ok) {
            admit(d->acceptor, &message, fds[0]);
            fds[0] = -1;
        }
        break;
    case WARPRSA_MALFORMED:
    case WARPRSA_CLOSED:
        break;
    }
    if (!ok && received != WARPRSA_CLOSED)
        warprsa_server_log(d->acceptor->server, 1,
                           "a control connection is closed: it broke the "
                           "protocol, or is of another version");
    for (unsigned i = 0; i < WARPRSA_MESSAGE_FDS; i++)
        if (fds[i] >= 0)
            warprsa_server_dispose(fds[i]);
    if (!ok)
        end_control_connection(d);
    return ok;
}

static void control_connection_ready(warprsa_source *source)
{
    control_connection *d = (control_connection *)source;

    for (unsigned i = 0; i < MESSAGES_AT_ONCE && d->fd >= 0; i++)
        if (!read_control_connection(d))
            return;
}

static bool open_control_connection(acceptor *a, int fd, uid_t uid)
{
    control_connection *d = calloc(1, sizeof(*d));

    if (d == NULL)
        return false;
    d->source.ready = control_connection_ready;
    d->acceptor = a;
    d->uid = uid;
    d->fd = fd;
    if (!warprsa_server_watch(a->epoll, fd, EPOLLIN, &d->source)) {
        free(d);
        return false;
    }
    TAILQ_INSERT_TAIL(&a->control_connections, d, link);
    return true;
}

static void listener_ready(warprsa_source *source)
{
    const listener *l = (const listener *)source;
    acceptor *a = l->acceptor;
    warprsa_server_limits limits;
    struct ucred peer;
    const char *why_not;
    int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0) {
        /* Out of descriptors, the connection waits and this would spin. */
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
            (void)usleep(10000);
        return;
    }
    peer = warprsa_server_peer(fd);
    warprsa_server_limits_now(a->server, &limits);
    why_not = warprsa_user_quota_enter(&a->control_connection_quota, peer.uid,
                                       limits.control_connections,
                                       limits.user_control_connections);
    if (why_not == NULL && !open_control_connection(a, fd, peer.uid)) {
        warprsa_user_quota_leave(&a->control_connection_quota, peer.uid);
        why_not = "no memory";
    }
    if (why_not == NULL) {
        warprsa_server_log(a->server, 1,
                           "process %d (user %d) has a control connection",
                           (int)peer.pid, (int)peer.uid);
        return;
    }
    log_peer(a->server, &peer, "has its control connection turned away",
             why_not);
    close(fd);
}

/* Woken to stop. */
static void woken(warprsa_source *source)
{
    (void)source;
}

static bool watch_all(acceptor *a)
{
    const warprsa_server_config *config = &a->server->config;
    bool ok = warprsa_server_watch(a->epoll, a->server->wake, EPOLLIN,
                                   &a->wake_source);

    a->wake_source.ready = woken;
    for (unsigned i = 0; i < config->listeners_count; i++) {
        listener *l = &a->listeners[i];

        l->source.ready = listener_ready;
        l->acceptor = a;
        l->fd = config->listeners[i];
        ok = ok && warprsa_server_watch(a->epoll, l->fd, EPOLLIN, &l->source);
    }
    return ok;
}

static void free_ended(acceptor *a)
{
    control_connection *d;

    while ((d = TAILQ_FIRST(&a->ended)) != NULL) {
        TAILQ_REMOVE(&a->ended, d, link);
        free(d);
    }
}

static void serve(acceptor *a)
{
    struct epoll_event events[EVENTS];

    while (!atomic_load(&a->server->closing)) {
        int count = epoll_wait(a->epoll, events, EVENTS, -1);

        for (int i = 0; i < count; i++) {
            warprsa_source *source = events[i].data.ptr;

            source->ready(source);
        }
        free_ended(a);
    }
}

static void say_none_can_be(const warprsa_server *server)
{
    warprsa_server_log(server, 0,
                       "no connection can be accepted: no descriptor or "
                       "memory");
}

void *warprsa_acceptor_run(void *arg)
{
    acceptor a = {.server = arg};

    TAILQ_INIT(&a.control_connections);
    TAILQ_INIT(&a.ended);
    if (!warprsa_user_quota_init(&a.control_connection_quota)) {
        say_none_can_be(a.server);
        return NULL;
    }
    a.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (a.epoll >= 0 && watch_all(&a))
        serve(&a);
    else
        say_none_can_be(a.server);
    while (!TAILQ_EMPTY(&a.control_connections))
        end_control_connection(TAILQ_FIRST(&a.control_connections));
    free_ended(&a);
    warprsa_user_quota_free(&a.control_connection_quota);
    if (a.epoll >= 0)
        close(a.epoll);
    return NULL;
}
