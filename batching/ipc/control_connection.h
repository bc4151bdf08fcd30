/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The client's end of a control connection (protocol.h): made early, it
 * outlives fork(), chroot() and setuid(), and each process gets a connection of
 * its own through it without having to reach the daemon's socket.
 */
#ifndef WARPRSA_BATCHING_IPC_CONTROL_CONNECTION_H
#define WARPRSA_BATCHING_IPC_CONTROL_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "batching/ipc/protocol.h"

enum {
    WARPRSA_SOCKET_PATH_SIZE = 108, /* sun_path, with its zero */
};

typedef struct warprsa_control_connection {
    char path[WARPRSA_SOCKET_PATH_SIZE];
    int fd;    /* -1: closed */
    dev_t dev; /* of fd, to notice when the program has closed it */
    ino_t ino;
} warprsa_control_connection;

/* Connects to the daemon at `path`, which must be shorter than
 * WARPRSA_SOCKET_PATH_SIZE. False with the reason in why; the structure is
 * valid all the same, and warprsa_control_connection_request() will connect. */
bool warprsa_control_connection_open(warprsa_control_connection *control,
                                     const char *path, char *why,
                                     size_t why_size);
void warprsa_control_connection_close(warprsa_control_connection *control);

/*
 * Asks for a connection for this process, after connecting to the daemon again
 * if need be. `wanted` has a CONNECT's slots, keys and notifiers. Returns the
 * socket on which WELCOME will come, the caller's to close, or -1 with the
 * reason in why. Does not wait for the daemon.
 *
 * One thread at a time per process. A forked child may use its parent's control
 * connection, whatever the parent was doing with it.
 */
int warprsa_control_connection_request(warprsa_control_connection *control,
                                       const warprsa_message *wanted, char *why,
                                       size_t why_size);

/* Whether a descriptor still refers to the file with these numbers of fstat().
 * Programs close descriptors that they did not open, and the number may then be
 * another file's. */
bool warprsa_is_same_file(int fd, dev_t dev, ino_t ino);

#endif
