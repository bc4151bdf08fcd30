/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whom the rules of the vault take a client for: the process that sends a
 * message over a control connection. A server makes its control connection
 * before it gives up root, so it is the sender that counts, not who connected.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_PEER_H
#define WARPRSA_BATCHING_DAEMON_SERVER_PEER_H

#include <sys/socket.h>

#include "batching/vault/vault.h"

enum {
    /* A user of Active Directory is in up to 1,015 groups. The kernel says none
     * of them where there is no room for all. */
    WARPRSA_PEER_GROUPS_MAX = 1024,
};

typedef struct warprsa_peer {
    struct ucred by; /* as the kernel says */
    /* Further groups. The kernel says them of the one who connected alone; so
     * the sender has them if it is the same user, and they are not more than
     * there is room for. */
    unsigned group_count;
    gid_t groups[WARPRSA_PEER_GROUPS_MAX];
} warprsa_peer;

/* The sender of a message that came through `socket`. */
void warprsa_peer_find(warprsa_peer *peer, int socket,
                       const struct ucred *sender);

/* The same, as the vault wants it: `user` refers to the peer. `identity`: for
 * whom the gateway asks; empty: the peer asks for itself. */
void warprsa_peer_user(const warprsa_peer *peer, const char *identity,
                       warprsa_vault_user *user);

#endif
