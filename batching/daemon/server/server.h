/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The daemon's server: accepts connections on listening sockets and answers the
 * requests of the processes behind them by one queue (batching/queue/queue.h).
 * It is one acceptor (acceptor.h) and some event loops (event_loop.h), a thread
 * each.
 *
 * The headers of this folder include each other in one direction:
 * use_operations.h < server_config.h, user_quota.h < server_context.h;
 * event_source.h, peer.h, server_context.h < session.h < event_loop.h <
 * acceptor.h < server.c; session.h < session_answers.h, session_vault.h <
 * session_uses.h, session_messages.h < use_threads.h < session_completions.h,
 * session_leave.h, session_requests.h < session_turns.h < event_loop.c;
 * user_quota.h < disposal.h; session.h < offers.h; disposal.h, lookups.h,
 * offers.h < admission.h < acceptor.c.
 *
 * A client is any process that could open the socket, and is not trusted. Its
 * data is checked in admission.c and offers.c (the control connection),
 * session_messages.c, session_requests.c and session_uses.c (the shared
 * memory).
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_SERVER_H
#define WARPRSA_BATCHING_DAEMON_SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "batching/daemon/server/server_config.h"

typedef struct warprsa_server warprsa_server;

/* Starts the threads and copies the configuration. NULL with the reason in
 * why. */
warprsa_server *warprsa_server_start(const warprsa_server_config *config,
                                     char *why, size_t why_size);

/* Sets new limits. Existing connections keep what they were granted. Any
 * thread. */
void warprsa_server_set_limits(warprsa_server *server,
                               const warprsa_server_limits *limits);

/* How many client processes are connected now. Any thread. */
unsigned warprsa_server_clients(warprsa_server *server);

/* Whether every event loop has had a heartbeat within the last `ms`
 * milliseconds, and no use thread is in a step that began before. Any
 * thread. */
bool warprsa_server_is_healthy(warprsa_server *server, unsigned ms);

/* To be called some times a second: logs how many lines were left out, and
 * updates the table of subordinate user ids. By one thread that serves nobody,
 * since looking up users may take long. */
void warprsa_server_tick(warprsa_server *server);

/* Takes no more connections and requests, answers those under way (the queue's
 * deadline bounds how long), disconnects every client, ends the threads and
 * frees the server. The listening sockets stay open. */
void warprsa_server_stop(warprsa_server *server);

#endif
