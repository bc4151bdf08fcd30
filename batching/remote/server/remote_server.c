/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The server of the network; see remote_server.h. host_connection.c and
 * operate.c check what clients send.
 */
#include "batching/remote/server/remote_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/base/container_of.h"
#include "batching/daemon/process/process_limits.h"
#include "batching/remote/server/handover.h"
#include "batching/remote/server/host_connection.h"
#include "batching/remote/wire/address.h"

enum {
    EVENTS = 64,
    TICK_MS = 250,
    HOLD_MS = 1, /* until warprsad has taken some messages */
    DRAIN_TICK_MS = 10,
    /* Under a flood of strangers each accept costs 0.1 ms, with all that makes
     * room for it: together less than a turn. */
    ACCEPTS_AT_ONCE = 2,
    /* Time to answer what is under way and for clients to leave; the unit
     * allows 30 s. */
    DRAIN_MS = 20000,
};

/* A thread and its connections. */
typedef struct network_thread {
    warprsa_remote_connection_host host;
    warprsa_remote_server *server;
    pthread_t thread;
    int eventfd;
    warprsa_event_source wake_source, listen_source;
    LIST_HEAD(, warprsa_remote_connection) connections;
    atomic_uint count;         /* of these, and of those handed over to it */
    warprsa_handover handover; /* what others have accepted for it */
    bool listens;              /* the listening socket is watched */
    uint64_t ticked_ns;
} network_thread;

struct warprsa_remote_server {
    warprsa_remote_server_config config;
    warprsa_tls tls;
    warprsa_identities identities;
    int listener;
    warprsa_seats seats;
    _Atomic bool draining;
    _Atomic bool mistaken; /* the last reload found a mistake */
    _Atomic bool ready;    /* warprsad computes */
    _Atomic uint64_t drained_until_ns;
    /* The first thread's: why warprsad cannot be used, as last logged. */
    char told[WARPRSA_UPSTREAM_WHY];
    warprsa_log_budget strangers_log;
    unsigned made, started; /* threads */
    network_thread *threads;
};

static network_thread *thread_of(warprsa_remote_connection_host *host)
{
    return WARPRSA_CONTAINER_OF(host, network_thread, host);
}

static void log_line(warprsa_remote_connection_host *host, const char *line)
{
    const warprsa_remote_server *server = thread_of(host)->server;

    server->config.log(server->config.log_arg, 1, line);
}

static void wake(network_thread *t)
{
    static const uint64_t one = 1;

    /* This fails only if the counter is at its maximum, and then the thread is
     * awake. */
    (void)!write(t->eventfd, &one, sizeof(one));
}

static void describe_peer(const struct sockaddr_storage *from,
                          char text[WARPRSA_PEER_TEXT])
{
    char address[INET6_ADDRSTRLEN] = "?";
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
    const bool is_v6 = from->ss_family == AF_INET6;

    (void)inet_ntop(from->ss_family,
                    is_v6 ? (const void *)&v6->sin6_addr : &v4->sin_addr,
                    address, sizeof(address));
    snprintf(text, WARPRSA_PEER_TEXT, "%s:%u", address,
             ntohs(is_v6 ? v6->sin6_port : v4->sin_port));
}

static void listen_again(network_thread *t)
{
    t->listens =
        warprsa_event_source_watch(t->host.epoll, t->server->listener,
                                   EPOLLIN | EPOLLEXCLUSIVE, &t->listen_source);
}

static void listen_no_longer(network_thread *t)
{
    t->listens = false;
    (void)epoll_ctl(t->host.epoll, EPOLL_CTL_DEL, t->server->listener, NULL);
}

/* Stops accepting for want of descriptors or memory, until the next tick.
 * Otherwise the socket would be ready in each round, and the thread would never
 * sleep. */
static void stop_accepting(network_thread *t, const char *why)
{
    char line[160];

    listen_no_longer(t);
    if (!warprsa_log_budget_take(&t->server->strangers_log,
                                 WARPRSA_LOG_LINES_A_SECOND,
                                 warprsa_clock_ns()))
        return;
    snprintf(line, sizeof(line), "connections wait to be accepted: %s", why);
    log_line(&t->host, line);
}

/* Takes a socket that was accepted for this thread, which counts it. */
static void add_connection(network_thread *t, const warprsa_accepted *accepted)
{
    warprsa_remote_connection *c;
    char peer[WARPRSA_PEER_TEXT];

    describe_peer(&accepted->from, peer);
    warprsa_address_no_delay(accepted->socket);
    c = warprsa_remote_connection_new(&t->host, accepted->socket,
                                      (const struct sockaddr *)&accepted->from,
                                      peer);
    if (c != NULL)
        LIST_INSERT_HEAD(&t->connections, c, link);
    else
        atomic_fetch_sub(&t->count, 1);
}

/* The thread with fewest connections; this one, if none has fewer. */
static network_thread *least_busy(network_thread *t)
{
    network_thread *least = t;

    for (unsigned i = 0; i < t->server->config.threads; i++)
        if (atomic_load(&t->server->threads[i].count) <
            atomic_load(&least->count))
            least = &t->server->threads[i];
    return least;
}

/* Gives an accepted socket to the thread that is to have it. */
static void assign(network_thread *t, const warprsa_accepted *accepted)
{
    network_thread *to = least_busy(t);

    atomic_fetch_add(&to->count, 1);
    if (to != t && warprsa_handover_put(&to->handover, accepted)) {
        wake(to);
        return;
    }
    if (to != t) {
        atomic_fetch_sub(&to->count, 1);
        atomic_fetch_add(&t->count, 1);
    }
    add_connection(t, accepted);
}

static void accept_some(warprsa_event_source *source)
{
    network_thread *t =
        WARPRSA_CONTAINER_OF(source, network_thread, listen_source);

    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        warprsa_accepted accepted;
        socklen_t size = sizeof(accepted.from);

        accepted.socket =
            accept4(t->server->listener, (struct sockaddr *)&accepted.from,
                    &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (accepted.socket < 0) {
            if (warprsa_process_lacks_room(errno))
                stop_accepting(t, strerror(errno));
            return;
        }
        assign(t, &accepted);
    }
}

/* Takes what other threads have accepted for this one, as many at once as it
 * accepts itself. */
static void take_handed_over(network_thread *t)
{
    warprsa_accepted accepted;

    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        if (!warprsa_handover_take(&t->handover, &accepted))
            return;
        add_connection(t, &accepted);
    }
    wake(t); /* there may be more */
}

static void woken(warprsa_event_source *source)
{
    network_thread *t =
        WARPRSA_CONTAINER_OF(source, network_thread, wake_source);
    uint64_t count;

    while (read(t->eventfd, &count, sizeof(count)) < 0 && errno == EINTR)
        ;
    take_handed_over(t);
}

/* Serves the held messages of sessions that wait for room at warprsad. */
static void resume_held(network_thread *t)
{
    warprsa_operate *s;

    if (t->host.operate.holding == 0)
        return;
    LIST_FOREACH (s, &t->host.sessions, link)
        if (!STAILQ_EMPTY(&s->held))
            warprsa_operate_tick(s);
}

/* Logs why warprsad cannot be used, whenever the reason changes. */
static void tell_why(network_thread *t)
{
    const char *why = t->host.operate.upstream.why;
    char *told = t->server->told;
    char line[WARPRSA_UPSTREAM_WHY + 160];

    if (strcmp(why, told) == 0)
        return;
    snprintf(told, WARPRSA_UPSTREAM_WHY, "%s", why);
    if (why[0] == '\0')
        return;
    snprintf(line, sizeof(line), "cannot use %.128s: %s",
             t->server->config.socket, why);
    log_line(&t->host, line);
}

/* Looks at the state of warprsad, which the first thread reports. */
static void look_at_warprsad(network_thread *t)
{
    if (t != &t->server->threads[0])
        return;
    atomic_store(&t->server->ready,
                 warprsa_upstream_is_ready(&t->host.operate.upstream));
    tell_why(t);
}

/* Ticks the sessions; a tick may free streams, but no session. */
static void tick_sessions(network_thread *t)
{
    warprsa_operate *s;

    LIST_FOREACH (s, &t->host.sessions, link)
        warprsa_operate_tick(s);
}

/* Frees connections and sessions that have ended. */
static void look_after(network_thread *t)
{
    const uint64_t now_ns = warprsa_clock_ns();
    const bool ticks = now_ns - t->ticked_ns >=
                       (t->host.operate.draining ? DRAIN_TICK_MS : TICK_MS) *
                           WARPRSA_NS_PER_MS;
    warprsa_remote_connection *c = LIST_FIRST(&t->connections), *next;

    if (ticks) {
        t->ticked_ns = now_ns;
        warprsa_remote_connection_tick_strangers(&t->host, now_ns);
        warprsa_upstream_tick(&t->host.operate.upstream, now_ns);
        tick_sessions(t);
        if (!t->listens && !t->host.operate.draining)
            listen_again(t);
    }
    for (; c != NULL; c = next) {
        next = LIST_NEXT(c, link);
        if (ticks)
            warprsa_remote_connection_tick(c, now_ns);
        if (!c->ended)
            continue;
        LIST_REMOVE(c, link);
        warprsa_remote_connection_free(c);
        atomic_fetch_sub(&t->count, 1);
    }
    warprsa_remote_connection_end_sessions(&t->host);
}

/* Begins to drain, once: stops watching the listening socket. */
static void drain(network_thread *t)
{
    if (t->host.operate.draining || !atomic_load(&t->server->draining))
        return;
    t->host.operate.draining = true;
    if (t->listens)
        listen_no_longer(t);
}

/* Whether the thread may end: its work is done, or has taken too long. */
static bool is_done(network_thread *t)
{
    warprsa_remote_connection *c;

    if (!t->host.operate.draining)
        return false;
    if (warprsa_clock_ns() > atomic_load(&t->server->drained_until_ns))
        LIST_FOREACH (c, &t->connections, link)
            c->ended = true;
    return LIST_EMPTY(&t->connections) && LIST_EMPTY(&t->host.sessions);
}

static warprsa_health_state health_of(const network_thread *t)
{
    const warprsa_operate_host *operate = &t->host.operate;

    return (warprsa_health_state){
        .serving =
            warprsa_upstream_is_ready(&operate->upstream) && !operate->draining,
        .configured = !atomic_load(&t->server->mistaken)};
}

static int timeout_ms(const network_thread *t)
{
    if (t->host.ready.count > 0)
        return 0;
    if (t->host.operate.holding > 0)
        return HOLD_MS;
    return t->host.operate.draining ? DRAIN_TICK_MS : TICK_MS;
}

static void *run_thread(void *arg)
{
    network_thread *t = arg;
    struct epoll_event events[EVENTS];

    while (!is_done(t)) {
        int count = epoll_wait(t->host.epoll, events, EVENTS, timeout_ms(t));

        drain(t);
        look_at_warprsad(t);
        t->host.health = health_of(t);
        warprsa_event_source_dispatch(events, count);
        resume_held(t);
        warprsa_remote_connection_run_ready(&t->host);
        look_after(t);
    }
    return NULL;
}

static bool init_thread(warprsa_remote_server *server, network_thread *t)
{
    const warprsa_remote_server_config *config = &server->config;

    t->server = server;
    t->host.operate = (warprsa_operate_host){
        .written = warprsa_remote_connection_written,
        .refuse = warprsa_remote_connection_refuse,
    };
    t->host.tls = &server->tls;
    t->host.identities = &server->identities;
    t->host.log = log_line;
    t->host.seats = &server->seats;
    t->host.strangers_log = &server->strangers_log;
    warprsa_rounds_init(&t->host.ready);
    warprsa_strangers_init(&t->host.strangers);
    LIST_INIT(&t->host.sessions);
    LIST_INIT(&t->connections);
    warprsa_handover_init(&t->handover);
    t->wake_source.ready = woken;
    t->listen_source.ready = accept_some;
    t->host.epoll = epoll_create1(EPOLL_CLOEXEC);
    t->eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    warprsa_upstream_init(&t->host.operate.upstream, t->host.epoll,
                          config->socket);
    if (t->host.epoll < 0 || t->eventfd < 0)
        return false;
    listen_again(t);
    return t->listens && warprsa_event_source_watch(t->host.epoll, t->eventfd,
                                                    EPOLLIN, &t->wake_source);
}

static void free_thread(network_thread *t)
{
    warprsa_upstream_close(&t->host.operate.upstream);
    if (t->host.epoll >= 0)
        close(t->host.epoll);
    if (t->eventfd >= 0)
        close(t->eventfd);
    warprsa_handover_free(&t->handover);
}

/* A thread that runs may hand sockets over to any other one, so all of them are
 * made before. */
static bool start_threads(warprsa_remote_server *server)
{
    const unsigned wanted = server->config.threads;
    bool done = true;

    server->threads = aligned_alloc(_Alignof(network_thread),
                                    wanted * sizeof(network_thread));
    if (server->threads == NULL)
        return false;
    memset(server->threads, 0, wanted * sizeof(network_thread));
    for (; done && server->made < wanted; server->made++)
        done = init_thread(server, &server->threads[server->made]);
    for (; done && server->started < wanted; server->started += done)
        done =
            pthread_create(&server->threads[server->started].thread, NULL,
                           run_thread, &server->threads[server->started]) == 0;
    return done;
}

static bool listen_there(warprsa_remote_server *server, char *why,
                         size_t why_size)
{
    const char *text = server->config.listen;
    warprsa_address address;
    unsigned port = 0;
    char line[WARPRSA_ADDRESS_HOST + 64];

    if (!warprsa_address_parse(text, strlen(text), &address)) {
        snprintf(why, why_size, "listen = %s: expected ADDRESS:PORT", text);
        return false;
    }
    server->listener = warprsa_address_listen(&address, &port, why, why_size);
    if (server->listener < 0)
        return false;
    snprintf(line, sizeof(line), "network: listening on %s, port %u",
             address.host, port);
    server->config.log(server->config.log_arg, 1, line);
    return true;
}

warprsa_remote_server *
warprsa_remote_server_start(const warprsa_remote_server_config *config,
                            char *why, size_t why_size)
{
    warprsa_remote_server *server = calloc(1, sizeof(*server));

    snprintf(why, why_size, "network: no memory, descriptor or thread");
    if (server == NULL)
        return NULL;
    server->config = *config;
    server->listener = -1;
    server->seats.most = config->connections;
    if (!warprsa_identities_init(&server->identities)) {
        free(server);
        return NULL;
    }
    if (!warprsa_tls_open(&server->tls, true, &config->tls, why, why_size)) {
        warprsa_identities_free(&server->identities);
        free(server);
        return NULL;
    }
    if (warprsa_identities_read(&server->identities, config->identities, why,
                                why_size) &&
        listen_there(server, why, why_size) && start_threads(server))
        return server;
    warprsa_remote_server_stop(server);
    return NULL;
}

bool warprsa_remote_server_is_ready(const warprsa_remote_server *server)
{
    return atomic_load(&server->ready);
}

bool warprsa_remote_server_reload(warprsa_remote_server *server, char *why,
                                  size_t why_size)
{
    char map_why[256] = "";
    const bool tls =
        warprsa_tls_reload(&server->tls, &server->config.tls, why, why_size);
    /* Identities that are no longer in the map must go, whatever is wrong
     * elsewhere. */
    const bool map =
        warprsa_identities_read(&server->identities, server->config.identities,
                                map_why, sizeof(map_why));

    if (tls)
        why[0] = '\0';
    snprintf(why + strlen(why), why_size - strlen(why), "%s%s",
             tls || map ? "" : "; ", map_why);
    atomic_store(&server->mistaken, !tls || !map);
    return tls && map;
}

void warprsa_remote_server_stop(warprsa_remote_server *server)
{
    atomic_store(&server->drained_until_ns,
                 warprsa_clock_ns() + DRAIN_MS * WARPRSA_NS_PER_MS);
    atomic_store(&server->draining, true);
    for (unsigned i = 0; i < server->started; i++)
        wake(&server->threads[i]);
    for (unsigned i = 0; i < server->started; i++)
        pthread_join(server->threads[i].thread, NULL);
    for (unsigned i = 0; i < server->made; i++)
        free_thread(&server->threads[i]);
    free(server->threads);
    if (server->listener >= 0)
        close(server->listener);
    warprsa_tls_close(&server->tls);
    warprsa_identities_free(&server->identities);
    free(server);
}
