/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client's connection as the server sees it: whose it is, and which of its
 * calls is served by what. Of the peer's certificate an identity is believed
 * that TLS has verified and that the administrator's map names.
 */
#ifndef WARPRSA_BATCHING_REMOTE_CONNECTION_H
#define WARPRSA_BATCHING_REMOTE_CONNECTION_H

#include <netinet/in.h>

#include "batching/daemon/event_source.h"
#include "batching/remote/health.h"
#include "batching/remote/operate.h"

enum {
    WARPRSA_PEER_TEXT = INET6_ADDRSTRLEN + 8,
};

/* What a connection needs of the thread that runs it. */
typedef struct warprsa_connection_host {
    warprsa_operate_host operate;
    LIST_HEAD(, warprsa_operate) sessions;
    int epoll;
    warprsa_tls *tls;
    warprsa_identities *identities;
    warprsa_health_state health;
    /* Takes a line for the log. */
    void (*log)(struct warprsa_connection_host *host, const char *line);
} warprsa_connection_host;

typedef struct warprsa_connection {
    LIST_ENTRY(warprsa_connection) link; /* the host's */
    warprsa_event_source source;
    warprsa_connection_host *host;
    warprsa_http2 *http2;
    uint32_t events; /* that epoll waits for */
    warprsa_identity *identity;
    char peer[WARPRSA_PEER_TEXT];
    uint64_t begun_ns, pinged_ns;
    unsigned tls_checked; /* for warprsa_tls_still_valid() */
    bool ended;
    bool revoked;   /* its calls were ended, and so will it be */
    bool went_away; /* GOAWAY was sent */
} warprsa_connection;

/* Takes over a socket that was accepted. NULL: no memory; it is closed. */
warprsa_connection *warprsa_connection_new(warprsa_connection_host *host,
                                           int socket, const char *peer);

/* Runs it; it may be `ended` then. */
void warprsa_connection_run(warprsa_connection *connection);

/* Twice a second: looks for what time has brought. */
void warprsa_connection_tick(warprsa_connection *connection, uint64_t now_ns);

/* Logs why it ends, and closes it. Sessions with operations in flight remain in
 * the host's list without a stream. */
void warprsa_connection_free(warprsa_connection *connection);

/* Frees the sessions of a host whose streams have closed and that have nothing
 * in flight. */
void warprsa_connection_end_sessions(warprsa_connection_host *host);

#endif
