/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See server.h.
 */
#include "batching/daemon/server.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "batching/base/futex.h"
#include "batching/daemon/server_private.h"

void warprsa_server_log(const warprsa_server *server, int level,
                        const char *format, ...)
{
    char line[512];
    va_list args;

    if (server->config.log == NULL)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    server->config.log(server->config.log_arg, level, line);
}

void warprsa_server_limits_now(warprsa_server *server,
                               warprsa_server_limits *limits)
{
    pthread_mutex_lock(&server->lock);
    *limits = server->config.limits;
    pthread_mutex_unlock(&server->lock);
}

void warprsa_server_limit(warprsa_server *server,
                          const warprsa_server_limits *limits)
{
    pthread_mutex_lock(&server->lock);
    server->config.limits = *limits;
    pthread_mutex_unlock(&server->lock);
}

static void *close_it(void *arg)
{
    close((int)(intptr_t)arg);
    return NULL;
}

void warprsa_server_dispose(int fd)
{
    pthread_t thread;

    if (warprsa_server_is_socket(fd, 0))
        close(fd);
    else if (pthread_create(&thread, NULL, close_it, (void *)(intptr_t)fd) == 0)
        pthread_detach(thread);
    /* Else it stays open: better than a daemon that hangs. */
}

bool warprsa_server_is_socket(int fd, int type)
{
    int found = -1;
    socklen_t length = sizeof(found);

    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &found, &length) != 0 ||
        found != AF_UNIX)
        return false;
    length = sizeof(found);
    return type == 0 ||
           (getsockopt(fd, SOL_SOCKET, SO_TYPE, &found, &length) == 0 &&
            found == type);
}

struct ucred warprsa_server_peer(int socket)
{
    struct ucred peer = {.pid = -1, .uid = (uid_t)-1, .gid = (gid_t)-1};
    socklen_t length = sizeof(peer);

    (void)getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    return peer;
}

bool warprsa_server_watch(int epoll, int fd, uint32_t events,
                          warprsa_source *source)
{
    struct epoll_event event = {.events = events, .data.ptr = source};

    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

void warprsa_server_unwatch(int epoll, int *fd)
{
    if (*fd < 0)
        return;
    if (epoll >= 0)
        (void)epoll_ctl(epoll, EPOLL_CTL_DEL, *fd, NULL);
    close(*fd);
    *fd = -1;
}

unsigned warprsa_server_clients(warprsa_server *server)
{
    return warprsa_user_quota_count(&server->clients);
}

bool warprsa_server_is_healthy(warprsa_server *server, unsigned ms)
{
    uint64_t since_ns = warprsa_now_ns() - ms * WARPRSA_NS_PER_MS;

    for (unsigned i = 0; i < server->config.threads; i++)
        if (atomic_load(&server->event_loops[i].heartbeat_ns) < since_ns)
            return false;
    return true;
}

/* Makes the threads end, and waits for the first `count` event_loops. */
static void end_threads(warprsa_server *server, unsigned count)
{
    atomic_store(&server->stopping, true);
    for (unsigned i = 0; i < count; i++)
        warprsa_event_loop_wake(&server->event_loops[i]);
    for (unsigned i = 0; i < count; i++)
        pthread_join(server->event_loops[i].thread, NULL);
}

static void free_server(warprsa_server *server, unsigned event_loops)
{
    for (unsigned i = 0; i < event_loops; i++)
        warprsa_event_loop_free(&server->event_loops[i]);
    if (server->wake >= 0)
        close(server->wake);
    pthread_mutex_destroy(&server->lock);
    warprsa_user_quota_free(&server->clients);
    free(server);
}

static bool start_threads(warprsa_server *server)
{
    unsigned started = 0;

    for (; started < server->config.threads; started++)
        if (pthread_create(&server->event_loops[started].thread, NULL,
                           warprsa_event_loop_run,
                           &server->event_loops[started]) != 0)
            break;
    if (started == server->config.threads &&
        pthread_create(&server->acceptor, NULL, warprsa_acceptor_run, server) ==
            0)
        return true;
    end_threads(server, started);
    return false;
}

static const char *bad_config(const warprsa_server_config *c)
{
    if (c->threads < 1 || c->threads > WARPRSA_EVENT_LOOPS_MAX)
        return "threads must be 1..16";
    if (c->listeners_count < 1 || c->listeners_count > WARPRSA_LISTENERS_MAX)
        return "there must be 1 to 16 sockets to listen on";
    return NULL;
}

warprsa_server *warprsa_server_start(const warprsa_server_config *config,
                                     char *why, size_t why_size)
{
    warprsa_server *server = NULL;
    const char *bad = bad_config(config);
    unsigned ready = 0;

    snprintf(why, why_size, "%s", bad != NULL ? bad : "no memory or thread");
    if (bad == NULL)
        server = aligned_alloc(_Alignof(warprsa_server), sizeof(*server));
    if (server == NULL)
        return NULL;
    memset(server, 0, sizeof(*server));
    server->config = *config;
    if (!warprsa_user_quota_init(&server->clients)) {
        free(server);
        return NULL;
    }
    if (pthread_mutex_init(&server->lock, NULL) != 0) {
        warprsa_user_quota_free(&server->clients);
        free(server);
        return NULL;
    }
    server->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    while (ready < config->threads &&
           warprsa_event_loop_init(&server->event_loops[ready], server))
        ready++;
    if (server->wake >= 0 && ready == config->threads && start_threads(server))
        return server;
    free_server(server, ready);
    return NULL;
}

void warprsa_server_stop(warprsa_server *server)
{
    static const uint64_t one = 1;

    /* First the acceptor: it hands clients to the event_loops. */
    atomic_store(&server->closing, true);
    (void)!write(server->wake, &one, sizeof(one));
    pthread_join(server->acceptor, NULL);
    end_threads(server, server->config.threads);
    free_server(server, server->config.threads);
}
