/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Addresses as the administrator writes them, HOST:PORT, and sockets for them.
 */
#ifndef WARPRSA_BATCHING_REMOTE_WIRE_ADDRESS_H
#define WARPRSA_BATCHING_REMOTE_WIRE_ADDRESS_H

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    WARPRSA_ADDRESS_HOST = 254, /* a name of DNS, with its final zero */
    WARPRSA_ADDRESS_PORT = 6,
};

typedef struct warprsa_address {
    char host[WARPRSA_ADDRESS_HOST];
    char port[WARPRSA_ADDRESS_PORT];
} warprsa_address;

/* Takes HOST:PORT apart; the host may stand in brackets, as IPv6 needs it, and
 * the port is 0..65535. False: it is not of this form. */
bool warprsa_address_parse(const char *text, size_t length,
                           warprsa_address *address);

/* Makes a non-blocking listening socket; -1 with the reason in why. *port is
 * its port. */
int warprsa_address_listen(const warprsa_address *address, unsigned *port,
                           char *why, size_t why_size);

/* Connects a non-blocking socket, within `ms` milliseconds for each of the
 * host's addresses; -1 with the reason in why. Waits for DNS, too. */
int warprsa_address_connect(const warprsa_address *address, unsigned ms,
                            char *why, size_t why_size);

/* Has the socket send small messages at once. */
void warprsa_address_no_delay(int socket);

#endif
