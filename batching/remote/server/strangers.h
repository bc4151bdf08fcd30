/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Connections whose peer has shown no certificate of somebody in the map yet:
 * how many there may be, and which one makes room for another. They have places
 * of their own, so that whoever just knocks takes nobody's seat.
 *
 * A place costs memory and a descriptor, so there is a limit. Where it is
 * reached, a newcomer is let in all the same and an earlier one goes: one of
 * the address that has most, and of these the first that has sent nothing.
 * A silent flood from one address thus meets its own silent connections, and a
 * peer that shakes hands at once is done before its turn comes.
 *
 * One thread's; no locks.
 */
#ifndef WARPRSA_BATCHING_REMOTE_SERVER_STRANGERS_H
#define WARPRSA_BATCHING_REMOTE_SERVER_STRANGERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

enum {
    WARPRSA_STRANGERS_MAX = 256,
    /* Of one IPv4 address, or one IPv6 prefix of 64 bits, which is what one
     * customer has. */
    WARPRSA_STRANGERS_OF_ADDRESS = 64,
    WARPRSA_STRANGER_ADDRESS = 8,
};

/* Part of a connection. */
typedef struct warprsa_stranger {
    TAILQ_ENTRY(warprsa_stranger) link;
    uint8_t address[WARPRSA_STRANGER_ADDRESS];
    bool listed;
    bool has_spoken; /* the owner's to set: bytes have come */
} warprsa_stranger;

typedef struct warprsa_strangers {
    TAILQ_HEAD(, warprsa_stranger) list; /* the first came first */
    unsigned count;
} warprsa_strangers;

void warprsa_strangers_init(warprsa_strangers *strangers);

/* Adds one that has come from this address. Returns who has to go for it, taken
 * off the list already; NULL: nobody. */
warprsa_stranger *warprsa_strangers_add(warprsa_strangers *strangers,
                                        warprsa_stranger *stranger,
                                        const struct sockaddr *from);

/* Takes one off the list; does nothing if it is not there. */
void warprsa_strangers_remove(warprsa_strangers *strangers,
                              warprsa_stranger *stranger);

#endif
