/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A connection to another host with one session, and the thread that reads and
 * writes it. A link knows no keys and batches: it passes on what has come. The
 * host may send anything.
 */
#ifndef WARPRSA_BATCHING_REMOTE_ENGINE_LINK_H
#define WARPRSA_BATCHING_REMOTE_ENGINE_LINK_H

#include "batching/remote/wire/address.h"
#include "batching/remote/wire/http2.h"

/* Called by the link's thread, or by the caller's within open(). */
typedef struct warprsa_link_handlers {
    /* A message other than WELCOME has come. A returned text says what is wrong
     * with the message, and the link is lost. */
    const char *(*response)(void *arg, const warprsa_remote_response *response);
    /* The link is lost: nothing comes any more. Called once. */
    void (*lost)(void *arg, const char *why);
    /* Called twice a second. Whether the host's certificate is still accepted;
     * if not, `why` says why, and the link is lost. */
    bool (*is_trusted)(void *arg, SSL *ssl, char why[WARPRSA_TLS_WHY]);
    /* So many more bytes went over the wire, with what TLS adds. */
    void (*traffic)(void *arg, uint64_t sent, uint64_t received);
} warprsa_link_handlers;

typedef struct warprsa_link warprsa_link;

/* Connects and waits for the host's welcome, for some seconds at most beside
 * DNS. `is_further`: this process has a session with the host, and this is one
 * more for more work, which the host need not grant. NULL with the reason in
 * why. `tls` and `handlers` outlive the link. */
warprsa_link *warprsa_link_open(warprsa_tls *tls,
                                const warprsa_address *address, bool is_further,
                                const warprsa_link_handlers *handlers,
                                void *arg, warprsa_remote_welcome *welcome,
                                char *why, size_t why_size);

/* Ends the thread and closes the connection, which ends the session. */
void warprsa_link_close(warprsa_link *link);

/* Writing a message: begin() gives `room` bytes, and end() sends the first
 * `size` of them; one thread at a time. NULL: no memory, and end() must not
 * follow. Any thread. */
uint8_t *warprsa_link_begin(warprsa_link *link, size_t room);
void warprsa_link_end(warprsa_link *link, size_t size);

/* Whether the link is lost. Any thread. */
bool warprsa_link_is_lost(warprsa_link *link);

#endif
