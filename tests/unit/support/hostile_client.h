/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client of the daemon that attacks it and its other clients in every way
 * that has worked once, or might. It fails no test: what the daemon refuses is
 * left at that.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_HOSTILE_CLIENT_H
#define WARPRSA_TESTS_UNIT_SUPPORT_HOSTILE_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/engine.h"

enum {
    HOSTILE_CLIENT_PEERS = 4,
};

/* All zeros but for the first three. */
typedef struct hostile_client {
    const char *path; /* of the daemon's socket */
    unsigned seed;    /* of its choices */
    /* Fills in a key that the engine takes; another number, another key. */
    void (*make_key)(uint32_t number, warprsa_private_key *key);
    uint32_t keys_made;
    int peers[HOSTILE_CLIENT_PEERS]; /* of sockets that linger */
    unsigned peers_kept;
} hostile_client;

/* One attack from its first connection to its last, of some milliseconds. */
void hostile_client_attack(hostile_client *client);

/* Closes what it has kept open between attacks. */
void hostile_client_end(hostile_client *client);

#endif
