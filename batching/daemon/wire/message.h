/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sending and receiving the messages of protocol.h over sockets, for the daemon
 * and its clients. No function here blocks, whatever the other side does with
 * its end. Size and version of a received message are checked here; its content
 * is not.
 */
#ifndef WARPRSA_BATCHING_DAEMON_WIRE_MESSAGE_H
#define WARPRSA_BATCHING_DAEMON_WIRE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "batching/daemon/wire/protocol.h"

typedef enum warprsa_received {
    WARPRSA_RECEIVED,
    WARPRSA_NOTHING_YET,
    WARPRSA_CLOSED,        /* the other side has, or an error */
    WARPRSA_MALFORMED,     /* not of protocol.h's size, or with a descriptor */
    WARPRSA_OTHER_VERSION, /* only message->version is valid */
} warprsa_received;

/* Sends a message, whose version is filled in, with `count` descriptors, at
 * most WARPRSA_MESSAGE_FDS, which stay the caller's. False: see errno; it is
 * EAGAIN when the other side has too much to read already. Any thread. */
bool warprsa_message_send(int socket, warprsa_message *message, const int *fds,
                          unsigned count);

/* For the client: receives a message of the daemon's. The caller closes fds[],
 * whatever is returned. They are above standard input, output and error, and -1
 * where no descriptor came or this process had none left. */
warprsa_received warprsa_message_receive(int socket, warprsa_message *message,
                                         int fds[WARPRSA_MESSAGE_FDS]);

/* The same of the reply to LOOKUP and LIST, which has no descriptors. */
bool warprsa_key_message_send(int socket, warprsa_key_message *message);
warprsa_received warprsa_key_message_receive(int socket,
                                             warprsa_key_message *message);

/* Closes those that are there. Any thread. */
void warprsa_message_close_fds(const int fds[WARPRSA_MESSAGE_FDS]);

/*
 * For the daemon, on a socket with SO_PASSCRED that it alone reads from:
 * receives a message of a client's. *sender is the process that sent it and
 * whose it is, as the kernel says; if unknown, its pid is 0 and its user and
 * group are nobody's.
 *
 * A message with descriptors is MALFORMED and stays in the socket's queue. The
 * thread that received it would have to close the descriptors, which can take
 * as long as the client likes. So can closing the socket then
 * (daemon/server/disposal.h).
 */
warprsa_received warprsa_message_receive_of_client(int socket,
                                                   warprsa_message *message,
                                                   struct ucred *sender);

#endif
