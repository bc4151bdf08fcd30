/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sending and receiving the messages of protocol.h over sockets, for the daemon
 * and its clients. Nothing here blocks, whatever the other side does with its
 * end, and nothing is believed of what is received but its size and its
 * version, which are checked.
 */
#ifndef WARPRSA_BATCHING_DAEMON_WIRE_MESSAGE_H
#define WARPRSA_BATCHING_DAEMON_WIRE_MESSAGE_H

#include <stdbool.h>
#include <sys/types.h>

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

/* For the client: receives a message of the daemon's. fds[] are the caller's to
 * close, whatever is returned, and above those of standard input, output and
 * error; -1 where none came, or where this process had no descriptor left for
 * it. */
warprsa_received warprsa_message_receive(int socket, warprsa_message *message,
                                         int fds[WARPRSA_MESSAGE_FDS]);

/*
 * For the daemon, on a socket with SO_PASSCRED that it alone reads from:
 * receives a message of a client's. *sender is the process that sent it, as the
 * kernel says; 0 if that can't be known.
 *
 * A message with descriptors is not received but left in the socket's queue:
 * MALFORMED. To receive it could take the thread for as long as the client
 * likes, since it would have to close them. So does closing the socket then
 * (daemon/disposal.h).
 */
warprsa_received warprsa_message_receive_of_client(int socket,
                                                   warprsa_message *message,
                                                   pid_t *sender);

#endif
