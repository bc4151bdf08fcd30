/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Clients' questions which keys the vault has, with their certificates (LOOKUP
 * and LIST of protocol.h). A user is told of the keys that it may use in some
 * way, and of no others.
 *
 * Most keys may be none of this user's, so a search has turns. It is the daemon
 * that keeps how far it has come: the names on the way are not the user's to
 * know.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_LOOKUPS_H
#define WARPRSA_BATCHING_DAEMON_SERVER_LOOKUPS_H

#include "batching/daemon/server/peer.h"
#include "batching/daemon/wire/protocol.h"

enum {
    WARPRSA_LOOKUP_KEYS = 64, /* that a turn looks at, at most */
};

/* A question of one connection; all zeros before the first. */
typedef struct warprsa_lookup {
    bool is_open; /* not answered yet: it has a further turn */
    bool lists;   /* LIST, else LOOKUP */
    uint32_t generation, offset;
    char name[WARPRSA_KEY_NAME_SIZE]; /* of LIST: where it goes on */
    warprsa_peer peer;                /* who asked */
} warprsa_lookup;

/* Has the first turn of one of these, which came through `socket` while no
 * other is open. `vault` may be NULL: there are no keys. NULL, or how the
 * client broke the protocol. One thread. */
const char *warprsa_lookup_begin(warprsa_lookup *lookup, warprsa_vault *vault,
                                 int socket, const warprsa_message *asked,
                                 const struct ucred *sender);

/* Has the next turn of an open one, with the same `vault` and `socket`. Keys
 * and rules may have changed meanwhile: those of now count. As above. */
const char *warprsa_lookup_go_on(warprsa_lookup *lookup, warprsa_vault *vault,
                                 int socket);

#endif
