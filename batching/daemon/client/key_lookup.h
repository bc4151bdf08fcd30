/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Asking the daemon which keys its vault has: the one of a name, or all that
 * this process may use in some way. Over a connection of its own, and waiting
 * for the replies: for commands, and for loading a key.
 */
#ifndef WARPRSA_BATCHING_DAEMON_CLIENT_KEY_LOOKUP_H
#define WARPRSA_BATCHING_DAEMON_CLIENT_KEY_LOOKUP_H

#include "batching/daemon/client/control_connection.h"

typedef struct warprsa_key_lookup {
    warprsa_control_connection control;
    unsigned timeout_ms; /* of each question */
    uint32_t asked;
} warprsa_key_lookup;

typedef enum warprsa_key_found {
    WARPRSA_KEY_FOUND,
    WARPRSA_KEY_NOT_FOUND, /* or not for this process to know of */
    WARPRSA_KEY_UNKNOWN,   /* there was no reply, see why */
} warprsa_key_found;

/* Connects to the daemon at `path`. False with the reason in why; close() is
 * right in any case. */
bool warprsa_key_lookup_open(warprsa_key_lookup *lookup, const char *path,
                             unsigned timeout_ms, char *why, size_t why_size);
void warprsa_key_lookup_close(warprsa_key_lookup *lookup);

/* The key of this name. The reply's texts end with a zero, and its lengths are
 * in bounds. */
warprsa_key_found warprsa_key_lookup_name(warprsa_key_lookup *lookup,
                                          const char *name,
                                          warprsa_key_message *key, char *why,
                                          size_t why_size);

/* The first key after the one of this name, in the order of names; of all, if
 * it is empty. */
warprsa_key_found warprsa_key_lookup_next(warprsa_key_lookup *lookup,
                                          const char *name,
                                          warprsa_key_message *key, char *why,
                                          size_t why_size);

#endif
