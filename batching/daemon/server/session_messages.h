/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client's messages in the shared memory: it brings a key, has one wiped, or
 * asks for a notifier.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_SESSION_MESSAGES_H
#define WARPRSA_BATCHING_DAEMON_SERVER_SESSION_MESSAGES_H

#include "batching/daemon/server/session.h"

/* Reads messages, as many as the turn allows, but at least one. A message that
 * breaks the protocol ends the session. */
void warprsa_session_read_messages(warprsa_session *session);

#endif
