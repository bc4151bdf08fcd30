/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A connection to another host with one session on it, as its user sees it, and
 * the thread that reads and writes it. It knows nothing of keys and batches: it
 * hands on what has come. The host may send anything.
 */
#ifndef WARPRSA_BATCHING_REMOTE_ENGINE_LINK_H
#define WARPRSA_BATCHING_REMOTE_ENGINE_LINK_H

#include "batching/remote/wire/address.h"
#include "batching/remote/wire/http2.h"

/* By the link's thread; from open() on, by the caller's. */
typedef struct warprsa_link_handlers {
    /* A message has come, WELCOME aside. Text: it makes no sense, and the link
     * is lost. */
    const char *(*response)(void *arg, const warprsa_remote_response *response);
    /* The link is lost: nothing comes any more. Once. */
    void (*lost)(void *arg, const char *why);
    /* Twice a second: whether the host's certificate is still taken; if not,
     * why, and the link is lost. */
    bool (*is_trusted)(void *arg, SSL *ssl, char why[WARPRSA_TLS_WHY]);
    /* So many more bytes went over the wire, with what TLS adds. */
    void (*traffic)(void *arg, uint64_t sent, uint64_t received);
} warprsa_link_handlers;

typedef struct warprsa_link warprsa_link;

/* Connects, and waits for the host's welcome; some seconds at most, beside what
 * DNS takes. NULL with the reason in why. `tls` and `handlers` outlive the
 * link. */
warprsa_link *warprsa_link_open(warprsa_tls *tls,
                                const warprsa_address *address,
                                const warprsa_link_handlers *handlers,
                                void *arg, warprsa_remote_welcome *welcome,
                                char *why, size_t why_size);

/* Ends the thread and closes the connection, which ends the session. */
void warprsa_link_close(warprsa_link *link);

/* Around the writing of messages, one thread at a time: begin() gives `room`
 * bytes, end() sends the first `size` of them. begin() gives NULL, and end()
 * must not follow, without memory. Any thread. */
uint8_t *warprsa_link_begin(warprsa_link *link, size_t room);
void warprsa_link_end(warprsa_link *link, size_t size);

/* Whether it is lost. Any thread. */
bool warprsa_link_is_lost(warprsa_link *link);

#endif
