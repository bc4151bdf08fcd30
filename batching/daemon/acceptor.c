/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The acceptor of the daemon; see acceptor.h.
 *
 * A program that loads the provider connects to a listening socket: its control
 * connection (protocol.h). The only message allowed there is CONNECT, with a
 * socket that the process and the daemon will talk over from then on. Anything
 * else ends the control connection. Of a client this file believes nothing but
 * what the kernel says of its sockets: their kind, and who made them.
 */
#include "batching/daemon/acceptor.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "batching/daemon/client_descriptor.h"
#include "batching/ipc/message.h"

enum {
    EVENTS = 64,
    MESSAGES_AT_ONCE = 64, /* of one client, before the others' turn */
    OUT_OF_DESCRIPTORS_US = 10000,
};

struct accepting;

typedef struct control_connection {
    warprsa_event_source source;
    TAILQ_ENTRY(control_connection) link;
    struct accepting *owner;
    uid_t uid;
    int fd;
} control_connection;

TAILQ_HEAD(control_connection_list, control_connection);

typedef struct listener {
    warprsa_event_source source;
    struct accepting *owner;
    int fd;
} listener;

/* What the thread has, while it runs. */
typedef struct accepting {
    warprsa_acceptor *acceptor;
    warprsa_server_context *context;
    int epoll;
    warprsa_event_source wake_source;
    listener listeners[WARPRSA_LISTENERS_MAX];
    struct control_connection_list open;
    struct control_connection_list ended; /* freed after a round's events */
    warprsa_user_quota quota; /* a seat for each control connection */
} accepting;

static void log_peer(const warprsa_server_context *context,
                     const struct ucred *peer, const char *what,
                     const char *why)
{
    warprsa_server_log(context, 1, "process %d (user %d) %s: %s",
                       (int)peer->pid, (int)peer->uid, what, why);
}

static void end_control_connection(control_connection *c)
{
    accepting *a = c->owner;

    warprsa_event_source_close(a->epoll, &c->fd);
    TAILQ_REMOVE(&a->open, c, link);
    TAILQ_INSERT_TAIL(&a->ended, c, link);
    warprsa_user_quota_release(&a->quota, c->uid);
}

/* Makes a session of the socket that came with a CONNECT; -1: the process had
 * no descriptor left for it here. */
static void admit(accepting *a, const warprsa_message *wanted, int socket)
{
    warprsa_acceptor *acceptor = a->acceptor;
    warprsa_server_context *context = a->context;
    warprsa_server_limits limits;
    warprsa_session *session;
    struct ucred peer;
    const char *why_not;

    if (socket < 0) {
        warprsa_server_log(context, 1, "a client is refused: no descriptor");
        return;
    }
    peer = warprsa_client_descriptor_peer(socket);
    warprsa_server_context_get_limits(context, &limits);
    why_not = warprsa_user_quota_acquire(&context->clients, peer.uid,
                                         limits.clients, limits.user_clients);
    if (why_not != NULL) {
        log_peer(context, &peer, "is refused", why_not);
        close(socket);
        return;
    }
    session = warprsa_session_new(socket, &peer, wanted, &limits);
    if (session == NULL) {
        warprsa_user_quota_release(&context->clients, peer.uid);
        log_peer(context, &peer, "is refused", "no memory or descriptor");
        return;
    }
    warprsa_event_loop_add(
        &acceptor->event_loops[acceptor->next++ % context->config.threads],
        session);
}

static bool is_connect(const warprsa_message *message, int fd)
{
    return message->type == WARPRSA_MESSAGE_CONNECT &&
           (fd < 0 || warprsa_client_descriptor_is_socket(fd, SOCK_SEQPACKET));
}

/* False: nothing more to read now, or the control connection has ended. */
static bool read_control_connection(control_connection *c)
{
    warprsa_message message;
    int fds[WARPRSA_MESSAGE_FDS];
    warprsa_received received = warprsa_message_receive(c->fd, &message, fds);
    bool ok = false;

    switch (received) {
    case WARPRSA_NOTHING_YET:
        return false;
    case WARPRSA_RECEIVED:
        ok = is_connect(&message, fds[0]);
        if (ok) {
            admit(c->owner, &message, fds[0]);
            fds[0] = -1;
        }
        break;
    case WARPRSA_MALFORMED:
    case WARPRSA_CLOSED:
        break;
    }
    if (!ok && received != WARPRSA_CLOSED)
        warprsa_server_log(c->owner->context, 1,
                           "a control connection is closed: it broke the "
                           "protocol, or is of another version");
    for (unsigned i = 0; i < WARPRSA_MESSAGE_FDS; i++)
        if (fds[i] >= 0)
            warprsa_client_descriptor_dispose(fds[i]);
    if (!ok)
        end_control_connection(c);
    return ok;
}

static void control_connection_ready(warprsa_event_source *source)
{
    control_connection *c = (control_connection *)source;

    for (unsigned i = 0; i < MESSAGES_AT_ONCE && c->fd >= 0; i++)
        if (!read_control_connection(c))
            return;
}

static bool open_control_connection(accepting *a, int fd, uid_t uid)
{
    control_connection *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return false;
    c->source.ready = control_connection_ready;
    c->owner = a;
    c->uid = uid;
    c->fd = fd;
    if (!warprsa_event_source_watch(a->epoll, fd, EPOLLIN, &c->source)) {
        free(c);
        return false;
    }
    TAILQ_INSERT_TAIL(&a->open, c, link);
    return true;
}

static void listener_ready(warprsa_event_source *source)
{
    const listener *l = (const listener *)source;
    accepting *a = l->owner;
    warprsa_server_limits limits;
    struct ucred peer;
    const char *why_not;
    int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0) {
        /* Without descriptors the connection stays ready to be accepted, and
         * the thread would spin. */
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
            (void)usleep(OUT_OF_DESCRIPTORS_US);
        return;
    }
    peer = warprsa_client_descriptor_peer(fd);
    warprsa_server_context_get_limits(a->context, &limits);
    why_not = warprsa_user_quota_acquire(&a->quota, peer.uid,
                                         limits.control_connections,
                                         limits.user_control_connections);
    if (why_not == NULL && !open_control_connection(a, fd, peer.uid)) {
        warprsa_user_quota_release(&a->quota, peer.uid);
        why_not = "no memory";
    }
    if (why_not == NULL) {
        warprsa_server_log(a->context, 1,
                           "process %d (user %d) has a control connection",
                           (int)peer.pid, (int)peer.uid);
        return;
    }
    log_peer(a->context, &peer, "gets no control connection", why_not);
    close(fd);
}

/* Only ever woken to stop: serve() looks at `closing`. */
static void woken(warprsa_event_source *source)
{
    (void)source;
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
        l->owner = a;
        l->fd = config->listeners[i];
        ok = ok &&
             warprsa_event_source_watch(a->epoll, l->fd, EPOLLIN, &l->source);
    }
    return ok;
}

static void free_ended(accepting *a)
{
    control_connection *c;

    while ((c = TAILQ_FIRST(&a->ended)) != NULL) {
        TAILQ_REMOVE(&a->ended, c, link);
        free(c);
    }
}

static void serve(accepting *a)
{
    struct epoll_event events[EVENTS];

    while (!atomic_load(&a->context->closing)) {
        int count = epoll_wait(a->epoll, events, EVENTS, -1);

        warprsa_event_source_dispatch(events, count);
        free_ended(a);
    }
}

static void log_none_accepted(const warprsa_server_context *context)
{
    warprsa_server_log(context, 0,
                       "no connection can be accepted: no descriptor or "
                       "memory");
}

static void *run(void *arg)
{
    warprsa_acceptor *acceptor = arg;
    accepting a = {.acceptor = acceptor, .context = acceptor->context};

    TAILQ_INIT(&a.open);
    TAILQ_INIT(&a.ended);
    if (!warprsa_user_quota_init(&a.quota)) {
        log_none_accepted(a.context);
        return NULL;
    }
    a.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (a.epoll >= 0 && watch_all(&a))
        serve(&a);
    else
        log_none_accepted(a.context);
    while (!TAILQ_EMPTY(&a.open))
        end_control_connection(TAILQ_FIRST(&a.open));
    free_ended(&a);
    warprsa_user_quota_free(&a.quota);
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
