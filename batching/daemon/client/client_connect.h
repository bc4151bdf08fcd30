/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Connecting to the daemon and disconnecting, for all threads of a client.
 *
 * `lock` guards what threads share. It is held for moments, and never while a
 * thread sleeps. One thread at a time connects, under `connect_lock`, which is
 * taken before `lock`.
 */
#ifndef WARPRSA_BATCHING_DAEMON_CLIENT_CLIENT_CONNECT_H
#define WARPRSA_BATCHING_DAEMON_CLIENT_CLIENT_CONNECT_H

#include "batching/daemon/client/client_state.h"

enum {
    WARPRSA_CLIENT_RETRY_MIN_MS = 100, /* after the first failure */
};

/*
 * Connects to the daemon, waiting no longer than timeout_ms, or twice that
 * where another thread is connecting. Returns whether a connection may still
 * come about soon: CONNECT was sent and the reply is not late, or the other
 * thread has not finished. The other thread may have been preempted before it
 * sent anything.
 */
bool warprsa_client_connect(warprsa_client *client, unsigned timeout_ms);

/* The same for a caller that nobody else can serve: asks the daemon again
 * within some 20 ms, however often it was not there, and does not wait. */
void warprsa_client_connect_soon(warprsa_client *client);

/* Ends the use of a connection whose daemon has gone, unless another thread has
 * done so, and wakes the jobs that wait for answers. Keeps the caller's
 * reference. */
void warprsa_client_disconnect(warprsa_client *client,
                               warprsa_connection *connection);

/* Disconnects, and never connects again. */
void warprsa_client_stop(warprsa_client *client);

#endif
