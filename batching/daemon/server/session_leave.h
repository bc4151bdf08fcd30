/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a closed session had is given back, a part of it in each turn of its
 * user.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_SESSION_LEAVE_H
#define WARPRSA_BATCHING_DAEMON_SERVER_SESSION_LEAVE_H

#include "batching/daemon/server/session.h"

/* A turn of a closed session. Its last answer brings another turn. */
void warprsa_session_leave(warprsa_session *session);

/* Of a session in the host's list `leaving`: whether it is over. Nothing of it
 * is under way, and no thread of use_threads.h has it any more. */
bool warprsa_session_is_left(warprsa_session *session);

#endif
