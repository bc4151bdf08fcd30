/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One connection after the other with a TLS server, without blocking: connect,
 * a full handshake, perhaps one HTTP request, close.
 */
#ifndef WARPRSA_TESTS_CLIENT_H
#define WARPRSA_TESTS_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include <openssl/ssl.h>

#include "tests/handshakes/plan.h"

typedef enum client_state {
    CLIENT_IDLE,
    CLIENT_CONNECTING,
    CLIENT_SHAKING,
    CLIENT_ASKING,  /* the request is on its way */
    CLIENT_READING, /* its answer is */
} client_state;

/* How a connection ended. */
typedef enum client_end {
    CLIENT_GOES_ON,
    CLIENT_DONE,
    CLIENT_FAILED, /* TLS, the certificate or HTTP: said on stderr */
    CLIENT_RESET,  /* refused, reset or closed by the server too early */
} client_end;

typedef struct client {
    client_state state;
    int fd;
    SSL *ssl;
    uint64_t due_ns;   /* when it should have begun: latency counts from here */
    uint64_t hello_ns; /* when the ClientHello was on its way; 0: not yet */
    uint64_t shaken_ns; /* when the handshake was complete; 0: not yet */
    uint64_t abort_ns;  /* when to leave in mid-handshake */
    char answer[16];    /* the beginning of the server's */
    size_t answered;
} client;

/* Monotonic. */
uint64_t client_now_ns(void);

/* What the connections of one process share: never resumes a session. NULL:
 * said on stderr. */
SSL_CTX *client_ctx(const plan *plan);

/* Begins a connection, the number-th of all, on an idle client and adds it to
 * the epoll descriptor with the client as its data. Any state may follow. */
client_end client_begin(client *client, const plan *plan, SSL_CTX *ctx,
                        int epoll, uint64_t number, uint64_t due_ns);

/* Goes on after an event. Unless it GOES_ON the connection is to be closed. */
client_end client_go_on(client *client, const plan *plan);

/* Closes it and makes it idle; `reset`: with a TCP reset. */
void client_close(client *client, bool reset);

#endif
