/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client's requests in the ring of the shared memory: each is copied, checked
 * and submitted to the queue, or refused.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_SESSION_REQUESTS_H
#define WARPRSA_BATCHING_DAEMON_SERVER_SESSION_REQUESTS_H

#include "batching/daemon/server/session.h"

/* Serves requests in the ring until the turn ends. Returns whether there may be
 * more. */
bool warprsa_session_read_ring(warprsa_session *session);

#endif
