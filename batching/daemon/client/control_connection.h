/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The client's end of a control connection (protocol.h): made early, it
 * outlives fork(), chroot() and setuid(), and each process gets a session of
 * its own through it without having to reach the daemon's socket. Nothing here
 * waits for the daemon.
 */
#ifndef WARPRSA_BATCHING_DAEMON_CLIENT_CONTROL_CONNECTION_H
#define WARPRSA_BATCHING_DAEMON_CLIENT_CONTROL_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "batching/base/own_fd.h"
#include "batching/daemon/wire/message.h"

enum {
    WARPRSA_SOCKET_PATH_SIZE = 108, /* sun_path, with its zero */
};

typedef struct warprsa_control_connection {
    char path[WARPRSA_SOCKET_PATH_SIZE];
    warprsa_own_fd socket; /* none: closed */
} warprsa_control_connection;

/* Connects to the daemon at `path`, which must be shorter than
 * WARPRSA_SOCKET_PATH_SIZE. False with the reason in why; the structure is
 * valid all the same, and warprsa_control_connection_request() will connect. */
bool warprsa_control_connection_open(warprsa_control_connection *control,
                                     const char *path, char *why,
                                     size_t why_size);
void warprsa_control_connection_close(warprsa_control_connection *control);

/*
 * Asks for a session for this process, after connecting to the daemon again if
 * need be. `wanted` has a CONNECT's slots, keys and notifiers. False: with the
 * reason in why.
 *
 * One thread at a time per process. A forked child may use its parent's control
 * connection, whatever the parent was doing with it.
 */
bool warprsa_control_connection_request(warprsa_control_connection *control,
                                        const warprsa_message *wanted,
                                        char *why, size_t why_size);

/* Receives a reply, as warprsa_message_receive() does. */
warprsa_received
warprsa_control_connection_receive(const warprsa_control_connection *control,
                                   warprsa_message *message,
                                   int fds[WARPRSA_MESSAGE_FDS]);

/* Sends ATTACHED with the number of a WELCOME. False: see errno. */
bool warprsa_control_connection_attached(
    const warprsa_control_connection *control, uint32_t number);

#endif
