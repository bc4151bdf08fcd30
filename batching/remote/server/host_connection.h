/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client's connection as the server sees it: its identity and its calls. The
 * identity is a name in the peer's certificate that TLS has verified and that
 * the administrator's map has.
 */
#ifndef WARPRSA_BATCHING_REMOTE_SERVER_HOST_CONNECTION_H
#define WARPRSA_BATCHING_REMOTE_SERVER_HOST_CONNECTION_H

#include <netinet/in.h>

#include "batching/daemon/process/event_source.h"
#include "batching/daemon/process/rounds.h"
#include "batching/remote/server/health.h"
#include "batching/remote/server/operate.h"
#include "batching/remote/server/strangers.h"

enum {
    WARPRSA_PEER_TEXT = INET6_ADDRSTRLEN + 8,
};

struct warprsa_remote_connection;

/* Seats for connections of identities; of all threads. */
typedef struct warprsa_seats {
    atomic_uint taken;
    unsigned most;
} warprsa_seats;

/* What a connection needs from the thread that runs it. */
typedef struct warprsa_remote_connection_host {
    warprsa_operate_host operate;
    LIST_HEAD(, warprsa_operate) sessions;
    unsigned closed_sessions; /* of these, without a stream */
    warprsa_rounds ready;     /* connections to be run, by identity */
    warprsa_strangers strangers;
    warprsa_seats *seats;
    int epoll;
    warprsa_tls *tls;
    warprsa_identities *identities;
    warprsa_health_state health;
    warprsa_log_budget *strangers_log; /* of all threads */
    /* Takes a line for the log. */
    void (*log)(struct warprsa_remote_connection_host *host, const char *line);
} warprsa_remote_connection_host;

typedef struct warprsa_remote_connection {
    LIST_ENTRY(warprsa_remote_connection) link; /* the host's */
    warprsa_rounds_entry ready;
    warprsa_stranger stranger; /* until it has a seat */
    warprsa_event_source source;
    warprsa_remote_connection_host *host;
    warprsa_http2 *http2;
    uint32_t events; /* that epoll waits for */
    warprsa_identity *identity;
    char peer[WARPRSA_PEER_TEXT];
    uint64_t begun_ns;
    unsigned tls_checked; /* for warprsa_tls_still_valid() */
    bool ended;
    bool revoked;   /* its calls were ended, and so will it be */
    bool went_away; /* GOAWAY was sent */
} warprsa_remote_connection;

/* Takes over a socket that was accepted from this address, as a stranger's.
 * Another connection may have `ended` after this. NULL: no memory; the socket
 * is closed. */
warprsa_remote_connection *
warprsa_remote_connection_new(warprsa_remote_connection_host *host, int socket,
                              const struct sockaddr *from, const char *peer);

/*
 * Gives turns to ready connections, in their order: one to each identity,
 * however many connections it has, and two to strangers' handshakes.
 * Connections without a turn or with more to read stay ready. Connections may
 * have `ended` after this.
 */
void warprsa_remote_connection_run_ready(warprsa_remote_connection_host *host);

/* To be called twice a second: handles what depends on time. */
void warprsa_remote_connection_tick(warprsa_remote_connection *connection,
                                    uint64_t now_ns);

/* To be called twice a second: logs how many lines about strangers were left
 * out. */
void warprsa_remote_connection_tick_strangers(
    warprsa_remote_connection_host *host, uint64_t now_ns);

/* The handlers of a connection's sessions (operate.h): run the connection; log
 * and refuse a call. */
void warprsa_remote_connection_written(warprsa_operate *session);
void warprsa_remote_connection_refuse(warprsa_operate *session,
                                      warprsa_grpc_status status,
                                      const char *why);

/* Logs why a connection ends, and closes it. Its sessions remain in the host's
 * list without a stream. */
void warprsa_remote_connection_free(warprsa_remote_connection *connection);

/* Frees the sessions of a host that are over (operate.h), after the events of a
 * round. Until then they count as sessions of their identities. */
void warprsa_remote_connection_end_sessions(
    warprsa_remote_connection_host *host);

#endif
