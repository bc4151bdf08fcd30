/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client of a TLS server that makes one connection after the other, without
 * blocking: it connects, makes a full handshake, sends one HTTP request if
 * wanted, and closes.
 */
#ifndef WARPRSA_TESTS_CLIENT_H
#define WARPRSA_TESTS_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include <openssl/ssl.h>

#include "bench/handshakes/plan.h"

typedef enum client_state {
    CLIENT_IDLE,
    CLIENT_CONNECTING,
    CLIENT_HANDSHAKE,
    CLIENT_WRITING, /* the HTTP request */
    CLIENT_READING, /* its response */
} client_state;

/* How a connection ended. */
typedef enum client_end {
    CLIENT_GOES_ON,
    CLIENT_DONE,
    CLIENT_FAILED, /* TLS, the certificate or HTTP; printed on stderr */
    CLIENT_RESET,  /* refused, reset or closed by the server too early */
} client_end;

typedef struct client {
    client_state state;
    int fd;
    SSL *ssl;
    uint64_t due_ns; /* when the connection was due: latency counts from here */
    uint64_t hello_ns;     /* when the ClientHello was sent; 0: not yet */
    uint64_t handshake_ns; /* when the handshake was complete; 0: not yet */
    uint64_t abort_ns;     /* when to leave in mid-handshake */
    char response[16];     /* its beginning */
    size_t response_bytes; /* received in all */
} client;

/* Nanoseconds of a monotonic clock. */
uint64_t client_now_ns(void);

/* Makes what the connections of one process share. Sessions are never resumed.
 * NULL, with a message on stderr: it failed. */
SSL_CTX *client_ctx(const plan *plan);

/* Begins connection number `number` on an idle client, and adds it to the epoll
 * descriptor with the client as its data. Any state may follow. */
client_end client_begin(client *client, const plan *plan, SSL_CTX *ctx,
                        int epoll, uint64_t number, uint64_t due_ns);

/* Goes on after an event. With any result but CLIENT_GOES_ON the caller is to
 * close the connection. */
client_end client_go_on(client *client, const plan *plan);

/* Closes the connection, by a TCP reset if `reset`, and makes the client idle.
 */
void client_close(client *client, bool reset);

#endif
