/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client's uses of keys of the vault: each is copied, checked, decided by the
 * rules and padded here. The queue computes the private operation, as for a key
 * of the client's own. What it refuses or does not answer, the vault's own
 * threads compute by libcrypto. Padding is removed here as well, before the
 * client gets anything.
 *
 * The event loop finds out which key a use is of, and takes it. All else is
 * done by the thread that the use is handed over to (use_threads.h), or by the
 * event loop.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_SESSION_USES_H
#define WARPRSA_BATCHING_DAEMON_SERVER_SESSION_USES_H

#include "batching/daemon/server/session_vault.h"

/* In a turn of the session: takes a request with a key of the vault. False: it
 * has been answered. */
bool warprsa_session_take_use(warprsa_session *session,
                              warprsa_pending *pending,
                              warprsa_session_key *key);

/* ---- By the event loop, or a thread that the uses were handed over to ---- */

/* Begins uses of a session that were taken, linked by `next`. `taker` is the
 * calling thread's. */
void warprsa_session_begin_uses(warprsa_pending *first, warprsa_taker *taker,
                                warprsa_answering *answering);

/* Gives the client the answer to a use, once the queue or a thread of the vault
 * has answered; or passes it from the one to the other. now_ns: the time. */
void warprsa_session_complete_use(warprsa_pending *pending, uint64_t now_ns,
                                  warprsa_answering *answering);

#endif
