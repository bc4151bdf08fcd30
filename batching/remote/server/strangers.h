/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Strangers: connections whose peer has not shown a certificate of an identity
 * in the map yet. How many there may be, and which one makes room for another.
 * Strangers have places of their own, so that they take no identity's seat.
 *
 * A place costs memory and a descriptor, so there is a limit. Beyond it a
 * newcomer takes the place of an earlier stranger: of the address that has most
 * strangers, the first that has sent nothing. So a silent flood from one
 * address replaces its own connections, and a peer that shakes hands at once is
 * done before its turn comes.
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
    /* Strangers of one IPv4 address, or of one IPv6 prefix of 64 bits, as one
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

/* Adds a stranger from this address. Returns the stranger that has to go for
 * it, already off the list; NULL: none. */
warprsa_stranger *warprsa_strangers_add(warprsa_strangers *strangers,
                                        warprsa_stranger *stranger,
                                        const struct sockaddr *from);

/* Takes a stranger off the list; does nothing if it is not there. */
void warprsa_strangers_remove(warprsa_strangers *strangers,
                              warprsa_stranger *stranger);

#endif
