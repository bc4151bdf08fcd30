/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whom the rules of the vault take a client for; see peer.h.
 */
#include "batching/daemon/server/peer.h"

_Static_assert(sizeof(gid_t) == sizeof(uint32_t), "groups are numbers");

void warprsa_peer_find(warprsa_peer *peer, int socket,
                       const struct ucred *sender)
{
    struct ucred maker;
    socklen_t length = sizeof(maker), groups = sizeof(peer->groups);

    peer->by = *sender;
    peer->group_count = 0;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &maker, &length) == 0 &&
        maker.uid == sender->uid &&
        getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, peer->groups, &groups) ==
            0)
        peer->group_count = (unsigned)(groups / sizeof(peer->groups[0]));
}

void warprsa_peer_user(const warprsa_peer *peer, const char *identity,
                       warprsa_vault_user *user)
{
    *user = (warprsa_vault_user){
        .uid = peer->by.uid,
        .gid = peer->by.gid,
        .groups = peer->groups,
        .group_count = peer->group_count,
        .pid = peer->by.pid,
        .identity = identity[0] != '\0' ? identity : NULL,
    };
}
