/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client's uses of keys of the vault: each is copied, checked, decided by the
 * rules and padded here. The queue computes the private operation, as for a key
 * of the client's own. What it refuses or does not answer, the vault's own
 * threads compute by libcrypto. Padding is removed here as well, before the
 * client gets anything.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_SESSION_USES_H
#define WARPRSA_BATCHING_DAEMON_SERVER_SESSION_USES_H

#include "batching/daemon/server/session_vault.h"

/* Serves a request, which is a copy of the slot, with a key of the vault. */
void warprsa_session_serve_use(warprsa_session *session, uint32_t slot,
                               const warprsa_shm_request *request,
                               warprsa_session_key *key);

/* Gives the client the answer to a use, once the queue or a thread of the vault
 * has answered; or passes it from the one to the other. */
void warprsa_session_complete_use(warprsa_session *session,
                                  warprsa_pending *pending);

#endif
