/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The closing of clients' control connections, away from all threads that serve
 * somebody.
 *
 * A client can send descriptors over its control connection. The daemon never
 * receives one, but the kernel's last close of them happens in the thread that
 * closes the daemon's socket, and takes as long as the client likes: a TCP
 * socket with SO_LINGER, a file on a file system of the client's own. Threads
 * of this file do that.
 *
 * Nobody waits for another user's: each user has one thread at most, and a
 * connection keeps its seat in the user quota until it is closed. A signal ends
 * the waits that signals can end, which those for TCP sockets are, after a
 * millisecond.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_DISPOSAL_H
#define WARPRSA_BATCHING_DAEMON_SERVER_DISPOSAL_H

#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "batching/daemon/server/user_quota.h"

typedef struct warprsa_disposal warprsa_disposal;

/* The first member of what owns the socket, allocated by malloc(). */
typedef struct warprsa_disposable {
    TAILQ_ENTRY(warprsa_disposable) link; /* the disposal's */
    int fd;
    uid_t uid;     /* of the client */
    bool has_seat; /* in the quota */
} warprsa_disposable;

/* One with an empty quota. Takes SIGALRM for itself. NULL: no memory. */
warprsa_disposal *warprsa_disposal_new(void);

/* No add() any more. Sockets that are still being closed, and the memory for
 * that, are left behind until they are. */
void warprsa_disposal_drop(warprsa_disposal *disposal);

/* Closes a socket that no epoll instance watches, gives its seat back, and then
 * frees its owner. Returns at once. */
void warprsa_disposal_add(warprsa_disposal *disposal, warprsa_disposable *what);

/* The seats of control connections. Lives as long as the disposal. */
warprsa_user_quota *warprsa_disposal_seats(warprsa_disposal *disposal);

/* How many sockets without a seat wait to be closed. Any thread. */
unsigned warprsa_disposal_unseated(warprsa_disposal *disposal);

#endif
