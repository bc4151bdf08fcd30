/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client's keys: found by id, counted, sent to the daemon before their first
 * use on a connection. Of a key of the vault only the digest is sent. backend.h
 * says what key(), key_release() and
 * key_abandon() do.
 */
#ifndef WARPRSA_BATCHING_DAEMON_CLIENT_CLIENT_KEYS_H
#define WARPRSA_BATCHING_DAEMON_CLIENT_CLIENT_KEYS_H

#include "batching/daemon/client/client_state.h"

struct warprsa_backend_key {
    uint32_t references; /* under the client's lock */
    warprsa_client *client;
    LIST_ENTRY(warprsa_backend_key) link;
    uint8_t id[WARPRSA_KEY_ID_BYTES];
    warprsa_size_class size;
    uint32_t serial; /* of the connection it was sent over; 0: none */
    uint32_t number, generation; /* on that connection */
    bool is_named;               /* it is in the client's list */
    TAILQ_ENTRY(warprsa_backend_key) named;
    uint32_t modulus_bytes;
    bool of_vault; /* `id` is its SHA-256 of SubjectPublicKeyInfo, and `key`
                      is empty */
    warprsa_private_key key; /* wiped with the last reference */
};

_Static_assert((int)WARPRSA_KEY_SPKI_BYTES == WARPRSA_KEY_ID_BYTES,
               "either is an id");

warprsa_backend_key *warprsa_client_key(void *impl,
                                        const uint8_t id[WARPRSA_KEY_ID_BYTES],
                                        const warprsa_private_key *key);
void warprsa_client_key_release(warprsa_backend_key *key);
void warprsa_client_key_abandon(warprsa_backend_key *key);

/* With the lock held: sends the key to the daemon unless the daemon has it.
 * Where the client has as many keys as it may have, a key of the vault takes
 * the place of the one used longest ago, which is named again at its next use.
 * Before that it tells the daemon of keys that were freed while the daemon had
 * too many messages to read. False: it can't be sent now. */
bool warprsa_client_upload(warprsa_client *client,
                           warprsa_connection *connection,
                           warprsa_backend_key *key);

#endif
