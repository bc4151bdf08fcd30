/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The life of the daemon's server; see server.h. This file reads nothing from a
 * client: the acceptor and the sessions do.
 */
#include "batching/daemon/server/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/base/clock.h"
#include "batching/daemon/server/acceptor.h"
#include "batching/daemon/server/event_loop.h"
#include "batching/daemon/server/server_context.h"
#include "batching/daemon/server/use_threads.h"

struct warprsa_server {
    warprsa_server_context context;
    warprsa_acceptor acceptor;
    warprsa_event_loop event_loops[WARPRSA_EVENT_LOOPS_MAX];
};

void warprsa_server_set_limits(warprsa_server *server,
                               const warprsa_server_limits *limits)
{
    warprsa_server_context_set_limits(&server->context, limits);
}

unsigned warprsa_server_clients(warprsa_server *server)
{
    return warprsa_user_quota_count(&server->context.clients);
}

bool warprsa_server_is_healthy(warprsa_server *server, unsigned ms)
{
    uint64_t since_ns = warprsa_clock_ns() - ms * WARPRSA_NS_PER_MS;

    for (unsigned i = 0; i < server->context.config.threads; i++)
        if (atomic_load(&server->event_loops[i].heartbeat_ns) < since_ns)
            return false;
    return !warprsa_use_threads_hang(server->context.use_threads, since_ns);
}

void warprsa_server_tick(warprsa_server *server)
{
    warprsa_server_log_left_out(&server->context);
    warprsa_server_context_read_subuids(&server->context);
}

/* Ends the threads of the first `count` event loops, and waits for them. */
static void stop_event_loops(warprsa_server *server, unsigned count)
{
    atomic_store(&server->context.stopping, true);
    for (unsigned i = 0; i < count; i++)
        warprsa_event_loop_wake(&server->event_loops[i]);
    for (unsigned i = 0; i < count; i++)
        pthread_join(server->event_loops[i].thread, NULL);
}

static bool start_threads(warprsa_server *server)
{
    const warprsa_server_config *config = &server->context.config;
    const unsigned wanted = config->threads;
    unsigned started = 0;

    if (config->use_threads > 0) {
        server->context.use_threads =
            warprsa_use_threads_start(config->use_threads);
        if (server->context.use_threads == NULL)
            return false;
    }
    for (; started < wanted; started++)
        if (pthread_create(&server->event_loops[started].thread, NULL,
                           warprsa_event_loop_run,
                           &server->event_loops[started]) != 0)
            break;
    if (started == wanted && warprsa_acceptor_start(&server->acceptor))
        return true;
    stop_event_loops(server, started);
    return false;
}

static const char *bad_config(const warprsa_server_config *c)
{
    if (c->threads < 1 || c->threads > WARPRSA_EVENT_LOOPS_MAX)
        return "threads must be 1..16";
    if (c->listeners_count < 1 || c->listeners_count > WARPRSA_LISTENERS_MAX)
        return "there must be 1 to 16 sockets to listen on";
    if (c->use_threads > WARPRSA_USE_THREADS_MAX)
        return "there must be 8 threads for uses at most";
    return NULL;
}

/* Frees a server whose first `event_loops` loops are initialised. */
static void free_server(warprsa_server *server, unsigned event_loops)
{
    for (unsigned i = 0; i < event_loops; i++)
        warprsa_event_loop_free(&server->event_loops[i]);
    warprsa_use_threads_stop(server->context.use_threads);
    warprsa_acceptor_free(&server->acceptor);
    warprsa_server_context_free(&server->context);
    free(server);
}

warprsa_server *warprsa_server_start(const warprsa_server_config *config,
                                     char *why, size_t why_size)
{
    warprsa_server *server = NULL;
    const char *bad = bad_config(config);
    unsigned ready = 0;
    bool has_acceptor;

    snprintf(why, why_size, "%s", bad != NULL ? bad : "no memory or thread");
    if (bad == NULL)
        server = aligned_alloc(_Alignof(warprsa_server), sizeof(*server));
    if (server == NULL)
        return NULL;
    memset(server, 0, sizeof(*server));
    if (!warprsa_server_context_init(&server->context, config)) {
        free(server);
        return NULL;
    }
    has_acceptor = warprsa_acceptor_init(&server->acceptor, &server->context,
                                         server->event_loops);
    while (
        ready < config->threads &&
        warprsa_event_loop_init(&server->event_loops[ready], &server->context))
        ready++;
    if (has_acceptor && ready == config->threads && start_threads(server))
        return server;
    free_server(server, ready);
    return NULL;
}

void warprsa_server_stop(warprsa_server *server)
{
    const unsigned threads = server->context.config.threads;

    /* The acceptor ends first, since it hands clients to the event loops. */
    warprsa_acceptor_stop(&server->acceptor);
    stop_event_loops(server, threads);
    warprsa_server_log_left_out(&server->context);
    free_server(server, threads);
}
