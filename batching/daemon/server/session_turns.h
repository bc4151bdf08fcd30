/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The turns of sessions in their event loop, one user after another.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_SESSION_TURNS_H
#define WARPRSA_BATCHING_DAEMON_SERVER_SESSION_TURNS_H

#include "batching/daemon/server/session.h"

/* Gives each user with work one turn of some 0.1 ms, which gives answers, reads
 * messages and requests, or gives back what a closed session had. Work that is
 * left stays ready. */
void warprsa_session_run_ready(warprsa_session_host *host);

#endif
