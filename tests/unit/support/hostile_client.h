/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client of the daemon that attacks it and its other clients in every way
 * that has worked once, or might. It fails no test: what the daemon refuses is
 * left at that.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_HOSTILE_CLIENT_H
#define WARPRSA_TESTS_UNIT_SUPPORT_HOSTILE_CLIENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

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

/* Attacks once, and then again and again until *stop; an attack takes some
 * milliseconds. The calling thread becomes one of this user before, if it may
 * and `uid` is not 0: that thread alone. Returns how many attacks it has
 * made. */
size_t hostile_client_run(hostile_client *client, uid_t uid,
                          const _Atomic bool *stop);

#endif
