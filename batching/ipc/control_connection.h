/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client's way to the daemon that outlives fork(), chroot() and setuid(): a
 * connection made early, through which each process gets one of its own.
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
    int fd; /* -1: closed */
    dev_t dev;
    ino_t ino;
} warprsa_control_connection;

/* Connects to the daemon at `path` (shorter than SOCKET_PATH_SIZE). False with
 * the reason in why: warprsa_control_connection_request() will try again. */
bool warprsa_control_connection_open(
    warprsa_control_connection *control_connection, const char *path, char *why,
    size_t why_size);
void warprsa_control_connection_close(
    warprsa_control_connection *control_connection);

/*
 * Asks for a connection for this process, connecting to the daemon again if
 * need be; `wanted` is a CONNECT's slots, keys and notifiers. Returns the socket
 * on which WELCOME will come, the caller's to close, or -1 with the reason in
 * why. Does not wait for the daemon. One thread at a time per process; a forked
 * child may use the control_connection of its parent, whatever that is doing with it.
 */
int warprsa_control_connection_request(
    warprsa_control_connection *control_connection,
    const warprsa_message *wanted, char *why, size_t why_size);

/* Whether a descriptor still is the one that has these numbers: programs close
 * descriptors they did not open. */
bool warprsa_is_same_file(int fd, dev_t dev, ino_t ino);

#endif
