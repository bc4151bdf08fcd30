/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A session's life, and what it has; see session.h.
 *
 * No descriptor here comes from a client. The sockets are shut down for reading
 * before the client has its end. So no client data ever lies in their queues,
 * and closing them takes no time.
 */
#include "batching/daemon/server/session.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/base/container_of.h"

enum {
    /* The session's socket holds about 80 unreceived messages; an honest client
     * has 32 at most. Their descriptors count against a limit of the daemon's
     * user. */
    SEND_BUFFER = 32768,
    /* A session's socket, memory, eventfd and process. */
    OWN_DESCRIPTORS = 4,
};

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t granted(uint32_t wanted, uint32_t limit)
{
    return wanted == 0 ? 1 : smaller(wanted, limit);
}

/* Shows the client the state of the queue, and that this end lives. */
static void publish(const warprsa_session *s, uint32_t state)
{
    const warprsa_server_config *config = &s->context->config;
    warprsa_shm_head *head = s->shm.head;
    char device[WARPRSA_COUNTERS_TEXT];

    atomic_store_explicit(&head->depth, warprsa_queue_depth(config->queue),
                          memory_order_relaxed);
    atomic_store_explicit(&head->heartbeat_ns, warprsa_clock_ns(),
                          memory_order_relaxed);
    warprsa_counters_device(config->counters, device);
    for (unsigned i = 0; i < WARPRSA_COUNTERS_TEXT; i++) {
        atomic_store_explicit(&head->device[i], device[i],
                              memory_order_relaxed);
        if (device[i] == '\0')
            break;
    }
    atomic_store_explicit(&head->devices,
                          (uint32_t)atomic_load(&config->counters->devices),
                          memory_order_relaxed);
    atomic_store_explicit(&head->on_cpus, warprsa_queue_on_cpus(config->queue),
                          memory_order_relaxed);
    atomic_store(&head->state, state);
}

bool warprsa_session_one_way(int type, int ends[2])
{
    static const int buffer = SEND_BUFFER;

    if (socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    if (shutdown(ends[0], SHUT_RD) == 0 &&
        setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer)) ==
            0)
        return true;
    close(ends[0]);
    close(ends[1]);
    ends[0] = ends[1] = -1;
    return false;
}

/* Whether a session gets the memory for uses. A gateway asks for it in the name
 * of each identity, before it knows whether that one will use keys of a vault;
 * where there is no vault, it need not be three times as large. */
static bool has_uses(const warprsa_session *s, const warprsa_message *wanted)
{
    return wanted->uses != 0 &&
           (s->user.identity[0] == '\0' || s->context->config.vault != NULL);
}

/* The gateway's sessions are large: one of 28 MB takes some milliseconds to be
 * allocated, in which the gateway would serve nobody. It gives them back. */
static bool is_allocated_here(const warprsa_session *s)
{
    return s->user.identity[0] != '\0';
}

static bool allocate(warprsa_session *s, const warprsa_message *wanted,
                     const warprsa_server_limits *limits)
{
    uint32_t slots = granted(wanted->slots, limits->slots);

    s->keys_max = granted(wanted->keys, limits->keys);
    s->notifiers_max = granted(wanted->notifiers, limits->notifiers);
    s->keys = calloc(s->keys_max, sizeof(*s->keys));
    s->notifiers = calloc(s->notifiers_max + 1, sizeof(*s->notifiers));
    s->pending = calloc(slots, sizeof(*s->pending));
    if (s->keys == NULL || s->notifiers == NULL || s->pending == NULL)
        return false;
    s->eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return s->eventfd >= 0 &&
           warprsa_shm_create(&s->shm, slots, has_uses(s, wanted),
                              is_allocated_here(s), &s->memory);
}

static void close_one(const warprsa_session *s, int *fd)
{
    warprsa_event_source_close(s->host != NULL ? s->host->epoll : -1, fd);
}

bool warprsa_session_charge(warprsa_session *s, unsigned count)
{
    warprsa_server_context *context = s->context;

    if (warprsa_user_quota_take(&context->descriptors, s->user.uid, count,
                                context->descriptors_max) != NULL)
        return false;
    s->descriptors += count;
    return true;
}

void warprsa_session_discharge(warprsa_session *s, unsigned count)
{
    if (count > 0)
        warprsa_user_quota_give(&s->context->descriptors, s->user.uid, count);
    s->descriptors -= count;
}

bool warprsa_session_may_go_on(warprsa_session *s)
{
    s->now_ns = warprsa_clock_ns();
    return s->now_ns < s->turn_until_ns;
}

void warprsa_session_close_notifier(warprsa_session *s,
                                    warprsa_session_notifier *notifier)
{
    if ((atomic_fetch_and(&notifier->state, ~WARPRSA_NOTIFIER_OPEN) &
         WARPRSA_NOTIFIER_OPEN) == 0)
        return;
    /* Another thread writes a byte, which does not block. */
    while (atomic_load(&notifier->state) != 0)
        sched_yield();
    close(notifier->fd);
    warprsa_session_discharge(s, 1);
}

static void close_descriptors(warprsa_session *s)
{
    s->closed = true;
    close_one(s, &s->socket);
    close_one(s, &s->process);
    close_one(s, &s->eventfd);
    close_one(s, &s->memory);
}

/* Frees the session once all that it had was given back. */
static void free_all(warprsa_session *s)
{
    warprsa_shm_unmap(&s->shm);
    warprsa_session_discharge(s, s->descriptors);
    free(s->keys);
    free(s->notifiers);
    free(s->pending);
    free(s);
}

const char *warprsa_session_take_seat(warprsa_server_context *context,
                                      const warprsa_session_user *user,
                                      const warprsa_server_limits *limits)
{
    const bool network = user->identity[0] != '\0';
    const char *why_not =
        network ? warprsa_user_quota_acquire(&context->network_clients, 0,
                                             limits->user_clients,
                                             limits->user_clients)
                : NULL;

    if (why_not == NULL)
        why_not =
            warprsa_user_quota_acquire(&context->clients, user->owner,
                                       limits->clients, limits->user_clients);
    else
        return "the network has as many seats as one user may have";
    if (why_not != NULL && network)
        warprsa_user_quota_release(&context->network_clients, 0);
    return why_not;
}

static void give_seat_back(warprsa_server_context *context,
                           const warprsa_session_user *user)
{
    warprsa_user_quota_release(&context->clients, user->owner);
    if (user->identity[0] != '\0')
        warprsa_user_quota_release(&context->network_clients, 0);
}

warprsa_session *warprsa_session_new(warprsa_server_context *context,
                                     const warprsa_session_user *user,
                                     const warprsa_message *wanted,
                                     const warprsa_server_limits *limits,
                                     int *client_end)
{
    warprsa_session *s = calloc(1, sizeof(*s));
    int ends[2];

    if (s == NULL || !warprsa_session_one_way(SOCK_SEQPACKET, ends)) {
        free(s);
        give_seat_back(context, user);
        return NULL;
    }
    s->context = context;
    s->socket = ends[0];
    s->process = s->eventfd = s->memory = -1;
    s->user = *user;
    if (warprsa_session_charge(s, OWN_DESCRIPTORS) &&
        allocate(s, wanted, limits)) {
        publish(s, warprsa_queue_wait_ready(context->config.queue, 0));
        *client_end = ends[1];
        return s;
    }
    close(ends[1]);
    warprsa_session_refuse(s);
    return NULL;
}

bool warprsa_session_attach(warprsa_session *s, const warprsa_peer *peer)
{
    s->peer = *peer;
    if (!warprsa_shm_seal(s->memory))
        return false;
    close(s->memory);
    s->memory = -1;
    return true;
}

static void give_up_seat(warprsa_session *s)
{
    warprsa_server_context *context = s->context;
    const warprsa_session_user user = s->user;

    free_all(s);
    give_seat_back(context, &user);
}

void warprsa_session_refuse(warprsa_session *s)
{
    close_descriptors(s);
    give_up_seat(s);
}

void warprsa_session_free(warprsa_session *s)
{
    TAILQ_REMOVE(&s->host->over, s, link);
    s->host->sessions--;
    give_up_seat(s);
}

void warprsa_session_make_ready(warprsa_session *s)
{
    warprsa_rounds_add(&s->host->ready, &s->ready, s->user.owner);
}

void warprsa_session_end(warprsa_session *s, const char *why)
{
    if (s->closed)
        return;
    warprsa_server_log_about(s->context, s->user.owner, 1,
                             "process %d (user %u)%s%s left: %s; %llu answered",
                             (int)s->peer.by.pid, (unsigned)s->user.uid,
                             WARPRSA_SESSION_FOR(s), why,
                             (unsigned long long)s->answers);
    close_descriptors(s);
    TAILQ_REMOVE(&s->host->open, s, link);
    warprsa_session_make_ready(s);
}

void warprsa_session_clear_flags(const warprsa_session *s)
{
    (void)atomic_exchange(&s->shm.head->notify_flags, 0);
}

/* Marks a session to be ended in a turn of its user: closing descriptors takes
 * longer than handling an event. */
static void is_gone(warprsa_session *s, const char *why)
{
    if (s->closed)
        return;
    s->gone = why;
    warprsa_session_make_ready(s);
}

static void socket_ready(warprsa_event_source *source)
{
    is_gone(WARPRSA_CONTAINER_OF(source, warprsa_session, socket_source),
            "end of the connection");
}

/* The client's process has ended. A child may still hold the connection
 * open. */
static void process_ready(warprsa_event_source *source)
{
    is_gone(WARPRSA_CONTAINER_OF(source, warprsa_session, process_source),
            "end of the process");
}

/* The client has written to the eventfd. */
static void notified(warprsa_event_source *source)
{
    warprsa_session *s =
        WARPRSA_CONTAINER_OF(source, warprsa_session, eventfd_source);

    if (s->closed)
        return;
    warprsa_session_clear_flags(s);
    warprsa_session_make_ready(s);
}

static void watch_process(warprsa_session *s)
{
    if (s->peer.by.pid > 0)
        s->process = (int)syscall(SYS_pidfd_open, s->peer.by.pid, 0);
    s->process_source.ready = process_ready;
    /* Without a pidfd, as for a process of another PID namespace, only the end
     * of the connection says that the process has ended. */
    if (s->process >= 0 &&
        !warprsa_event_source_watch(s->host->epoll, s->process,
                                    EPOLLIN | EPOLLET, &s->process_source))
        close_one(s, &s->process);
}

void warprsa_session_begin(warprsa_session *s, warprsa_session_host *host)
{
    s->host = host;
    host->sessions++;
    TAILQ_INSERT_TAIL(&host->open, s, link);
    s->published_change = host->changes - 1; /* it is woken in any case */
    s->socket_source.ready = socket_ready;
    s->eventfd_source.ready = notified;
    warprsa_session_publish(s);
    /* The socket is watched only for its end, which epoll always reports. The
     * eventfd is never read: each write to it is an edge, and so an event. */
    if (!warprsa_event_source_watch(host->epoll, s->socket, EPOLLET,
                                    &s->socket_source) ||
        !warprsa_event_source_watch(host->epoll, s->eventfd, EPOLLIN | EPOLLET,
                                    &s->eventfd_source)) {
        warprsa_session_end(s, strerror(errno));
        return;
    }
    watch_process(s);
    warprsa_server_log_about(s->context, s->user.owner, 1,
                             "process %d (user %u)%s%s connected, %u slots",
                             (int)s->peer.by.pid, (unsigned)s->user.uid,
                             WARPRSA_SESSION_FOR(s), s->shm.slots);
}

/* Whether the vault has removed keys since those of this session were last
 * reviewed. */
static bool has_old_keys(const warprsa_session *s)
{
    const warprsa_vault *vault = s->context->config.vault;

    return s->vault_keys > 0 && vault != NULL &&
           s->vault_generation != warprsa_vault_generation(vault);
}

void warprsa_session_publish(warprsa_session *s)
{
    warprsa_session_host *host = s->host;

    publish(s, host->state);
    if (has_old_keys(s))
        warprsa_session_make_ready(s);
    s->published_ns = warprsa_clock_ns();
    if (s->published_change != host->changes)
        warprsa_shm_wake(&s->shm.head->state);
    s->published_change = host->changes;
    TAILQ_REMOVE(&host->open, s, link);
    TAILQ_INSERT_TAIL(&host->open, s, link);
}
