/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Asking the daemon which keys its vault has: the one of a name, or all that
 * this process may use in some way, and their certificates. Over a connection
 * of its own, and waiting for the replies: for commands, and for loading a key.
 * One thread at a time.
 */
#ifndef WARPRSA_BATCHING_DAEMON_CLIENT_KEY_LOOKUP_H
#define WARPRSA_BATCHING_DAEMON_CLIENT_KEY_LOOKUP_H

#include "batching/daemon/client/control_connection.h"

typedef struct warprsa_key_lookup {
    warprsa_control_connection control;
    uint64_t until_ns; /* of warprsa_clock_ns(); for all questions together */
    uint32_t asked;
    uint32_t listed; /* keys found since the first one was asked for */
} warprsa_key_lookup;

typedef enum warprsa_key_found {
    WARPRSA_KEY_FOUND,
    WARPRSA_KEY_NOT_FOUND, /* or not for this process to know of */
    WARPRSA_KEY_UNKNOWN,   /* there was no reply, see why */
} warprsa_key_found;

/* Connects to the daemon at `path`, which has to have answered all questions by
 * until_ns. False with the reason in why; close() is right in any case. */
bool warprsa_key_lookup_open(warprsa_key_lookup *lookup, const char *path,
                             uint64_t until_ns, char *why, size_t why_size);
void warprsa_key_lookup_close(warprsa_key_lookup *lookup);

/* The key of this name, with the first piece of its certificates. The reply's
 * texts end with a zero, and its lengths are in bounds. */
warprsa_key_found warprsa_key_lookup_name(warprsa_key_lookup *lookup,
                                          const char *name,
                                          warprsa_key_message *key, char *why,
                                          size_t why_size);

/* The first key after the one of this name, in the order of names (strcmp); of
 * all, if it is empty. The same holds for the reply. UNKNOWN where the daemon
 * finds keys in another order, or more than a vault can have: whoever lists all
 * keys comes to an end. */
warprsa_key_found warprsa_key_lookup_next(warprsa_key_lookup *lookup,
                                          const char *name,
                                          warprsa_key_message *key, char *why,
                                          size_t why_size);

/*
 * All certificates of a key that one of these has found, in PEM as the vault's
 * file has them: the key's own first, then those of its chain. Asks only for
 * what *key does not have, and makes *key what the daemon says then. Sets *pem,
 * which the caller frees, with a zero after *bytes bytes. A key without
 * certificates is FOUND, with *bytes 0; otherwise than FOUND, *pem is NULL. The
 * bytes are the daemon's, and may have zeros among them: whoever parses them
 * believes nothing.
 */
warprsa_key_found warprsa_key_lookup_certificates(warprsa_key_lookup *lookup,
                                                  warprsa_key_message *key,
                                                  char **pem, size_t *bytes,
                                                  char *why, size_t why_size);

#endif
