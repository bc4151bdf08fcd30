/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sending and receiving the messages of protocol.h. Nothing here blocks,
 * whatever the other side does with its end.
 */
#ifndef WARPRSA_BATCHING_IPC_MESSAGE_H
#define WARPRSA_BATCHING_IPC_MESSAGE_H

#include <stdbool.h>

#include "batching/ipc/protocol.h"

typedef enum warprsa_received {
    WARPRSA_RECEIVED,
    WARPRSA_NOTHING_YET,
    WARPRSA_CLOSED,
    WARPRSA_MALFORMED, /* another size or version than protocol.h's */
} warprsa_received;

/* Sends a message with `count` descriptors, which stay the caller's. False: see
 * errno; EAGAIN when the other side has too much to read already. */
bool warprsa_message_send(int socket, warprsa_message *message, const int *fds,
                          unsigned count);

/* Receives a message; fds[] are the caller's to close, -1 where none came (or
 * none could be had). The caller wipes a message of type KEY. */
warprsa_received warprsa_message_receive(int socket, warprsa_message *message,
                                         int fds[WARPRSA_MESSAGE_FDS]);

#endif
