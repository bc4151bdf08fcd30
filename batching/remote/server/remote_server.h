/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The server of the network: threads that share a listening socket, each with
 * the connections that it has accepted. The includes go one way:
 *
 *   protobuf.h < messages.h < http2.h < operate.h, health.h <
 *   host_connection.h < remote_server.c;  tls.h < identities.h < operate.h;
 *   bytes.h < http2.h;  upstream.h < operate.h
 *
 * The other side, which uses such servers, is http2.h < link.h <
 * remote_engine.c.
 */
#ifndef WARPRSA_BATCHING_REMOTE_SERVER_REMOTE_SERVER_H
#define WARPRSA_BATCHING_REMOTE_SERVER_REMOTE_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "batching/queue/counters.h"
#include "batching/remote/wire/tls.h"

enum {
    WARPRSA_REMOTE_THREADS_MAX = 16,
};

typedef struct warprsa_remote_server_config {
    const char *listen; /* ADDRESS:PORT; an IPv6 address in brackets */
    warprsa_tls_files tls;
    const char *identities; /* the map; see identities.h */
    unsigned threads;       /* 1..WARPRSA_REMOTE_THREADS_MAX */
    unsigned connections;   /* at most, of identities */
    const char *socket;     /* warprsad's */
    warprsa_trace_fn log;   /* levels as those of the daemon's server */
    void *log_arg;
} warprsa_remote_server_config;

typedef struct warprsa_remote_server warprsa_remote_server;

/* Listens and starts the threads. The configuration is copied, its texts are
 * not. NULL with the reason in why. */
warprsa_remote_server *
warprsa_remote_server_start(const warprsa_remote_server_config *config,
                            char *why, size_t why_size);

/* Reads certificates and map again. False with the mistakes in why, as
 * warprsa_tls_reload() and warprsa_identities_read() say them; health checks of
 * the configuration fail until a reload finds no mistake. */
bool warprsa_remote_server_reload(warprsa_remote_server *server, char *why,
                                  size_t why_size);

/* Whether warprsad computes now, as the first thread sees it; false before that
 * thread has connected. Any thread. */
bool warprsa_remote_server_is_ready(const warprsa_remote_server *server);

/* Takes no more connections and operations, tells the clients, answers
 * operations under way for 20 s at most, ends the threads and frees the
 * server. */
void warprsa_remote_server_stop(warprsa_remote_server *server);

#endif
