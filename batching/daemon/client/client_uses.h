/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Uses of keys of the daemon's vault. Nobody but the daemon can compute them,
 * so a client waits for it until its deadline: while the daemon is away or
 * starts again, has too much to do, or hangs. A use whose daemon has gone is
 * submitted again. It may then be computed twice, which has no effect but in
 * what the daemon counts.
 *
 * A use that has begun goes on until it has ended, or is left: it remembers its
 * connection.
 *
 * The client must have been opened with `uses`.
 */
#ifndef WARPRSA_BATCHING_DAEMON_CLIENT_CLIENT_USES_H
#define WARPRSA_BATCHING_DAEMON_CLIENT_CLIENT_USES_H

#include "batching/daemon/client/client.h"
#include "batching/daemon/wire/protocol.h"

/* A use of the caller's; its memory lives until the use has ended. */
typedef struct warprsa_client_use {
    warprsa_backend_key *key;      /* the caller holds it */
    const warprsa_key_use *header; /* whose input_bytes are at `input` */
    const uint8_t *input;
    /* How it ended: `bytes` are in the output; or why it was denied. */
    size_t bytes;
    warprsa_denial denial;
    warprsa_use_errors errors; /* if it has FAILED: libcrypto's */
    /* While it is PENDING: when to go on, if no notifier tells before. Where
     * one does (by_notifier), this look is for a daemon that hangs, and one
     * use's look serves all uses of the client. */
    uint64_t wake_ns;
    uint64_t until_ns; /* the deadline */
    bool is_submitted;
    bool by_notifier; /* if it is submitted: one tells of the answer */
    /* The client's own. If it is submitted: the connection, remembered. */
    struct warprsa_connection *connection;
    warprsa_ticket ticket;
} warprsa_client_use;

/*
 * The key of the vault with this SHA-256 of its SubjectPublicKeyInfo, with one
 * more reference, which the backend's key_release() gives back. Asks nobody:
 * whether the daemon has the key shows in its uses. NULL: no memory, or no such
 * length. Any thread.
 */
warprsa_backend_key *
warprsa_client_vault_key(warprsa_client *client,
                         const uint8_t spki_sha256[WARPRSA_KEY_SPKI_BYTES],
                         unsigned modulus_bytes);

/* Begins a use, whose deadline is the client's from now. Does nothing yet. */
void warprsa_client_use_begin(warprsa_client *client, warprsa_client_use *use,
                              warprsa_backend_key *key,
                              const warprsa_key_use *header,
                              const uint8_t *input);

/*
 * Goes on with a use, and never waits.
 *
 * DONE, DENIED, FAILED: that is the answer. LATER: the deadline has passed.
 * PENDING: to be called again once the notifier is readable, or at wake_ns. A
 * notifier that does not work any more (backend.h) tells nothing; then wake_ns
 * is soon. `notifier`: the number of one, or 0. `output` has as many bytes as
 * the modulus. One thread at a time.
 */
warprsa_use_answer warprsa_client_use_go_on(warprsa_client *client,
                                            warprsa_client_use *use,
                                            uint32_t notifier, uint8_t *output);

/* Leaves a submitted use that nobody will go on with, of which only its
 * connection and its ticket are left. Its slot comes free once the daemon has
 * answered. Any thread, also after the client was closed. */
void warprsa_client_use_leave(struct warprsa_connection *connection,
                              warprsa_ticket ticket);

/* The same as go_on(), but sleeps until there is an answer; never PENDING. */
warprsa_use_answer warprsa_client_use_wait(warprsa_client *client,
                                           warprsa_client_use *use,
                                           uint8_t *output);

/* Why a use has ended without a result, for a person; names the socket. */
void warprsa_client_use_why(warprsa_client *client,
                            const warprsa_client_use *use,
                            warprsa_use_answer answer, char *why,
                            size_t why_size);

#endif
