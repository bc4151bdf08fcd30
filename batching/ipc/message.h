/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sending and receiving the messages of protocol.h, for the daemon and its
 * clients. Nothing here blocks, whatever the other side does with its end, and
 * nothing is believed of what is received but its size, its version and its
 * type's size, which are checked.
 */
#ifndef WARPRSA_BATCHING_IPC_MESSAGE_H
#define WARPRSA_BATCHING_IPC_MESSAGE_H

#include <stdbool.h>

#include "batching/ipc/protocol.h"

typedef enum warprsa_received {
    WARPRSA_RECEIVED,
    WARPRSA_NOTHING_YET,
    WARPRSA_CLOSED,    /* the other side has, or an error */
    WARPRSA_MALFORMED, /* not of protocol.h's sizes, or another version */
} warprsa_received;

/* Sends a message, whose version is filled in, with `count` descriptors, at
 * most WARPRSA_MESSAGE_FDS, which stay the caller's. False: see errno; it is
 * EAGAIN when the other side has too much to read already. Any thread. */
bool warprsa_message_send(int socket, warprsa_message *message, const int *fds,
                          unsigned count);

/* Receives a message. fds[] are the caller's to close, whatever is returned;
 * -1 where none came, or where this process had no descriptor
 * left for it. The caller wipes a message of type KEY. */
warprsa_received warprsa_message_receive(int socket, warprsa_message *message,
                                         int fds[WARPRSA_MESSAGE_FDS]);

#endif
