/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Requests that the queue, or a thread of the vault, has answered: what it says
 * is given to the client.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_SESSION_COMPLETIONS_H
#define WARPRSA_BATCHING_DAEMON_SERVER_SESSION_COMPLETIONS_H

#include "batching/daemon/server/session.h"

/* In a turn of the session: gives the client some of its answers. */
void warprsa_session_complete_some(warprsa_session *session);

#endif
