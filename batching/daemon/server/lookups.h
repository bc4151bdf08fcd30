/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Clients' questions which keys the vault has, with their certificates (LOOKUP
 * and LIST of protocol.h). A user is told of the keys that it may use in some
 * way, and of no others.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_LOOKUPS_H
#define WARPRSA_BATCHING_DAEMON_SERVER_LOOKUPS_H

#include "batching/daemon/server/peer.h"
#include "batching/daemon/wire/protocol.h"

/* Replies to one of these that came through `socket`. `vault` may be NULL:
 * there are no keys. NULL, or how the client broke the protocol. */
const char *warprsa_lookups_reply(warprsa_vault *vault, int socket,
                                  const warprsa_message *asked,
                                  const struct ucred *sender);

#endif
