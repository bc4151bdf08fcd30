/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The closing of clients' control connections, away from all threads that serve
 * somebody.
 *
 * A client can send descriptors over its control connection. The daemon never
 * receives them, but the thread that closes the daemon's socket closes the last
 * reference to them. That takes as long as the client likes, as for a TCP
 * socket with SO_LINGER or a file on a file system of the client's own. So the
 * threads of this file close these sockets.
 *
 * No user waits for another's sockets: each user has one thread at most, and a
 * connection keeps its seat in the user quota until it is closed. After a
 * millisecond a signal ends the waits that signals can end, such as those for
 * TCP sockets.
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

/* Makes a disposal with an empty quota. It uses SIGALRM. NULL: no memory. */
warprsa_disposal *warprsa_disposal_new(void);

/* Ends the use of a disposal. Threads that are still closing sockets go on, and
 * free the disposal's memory in the end. */
void warprsa_disposal_drop(warprsa_disposal *disposal);

/* Closes a socket that no epoll instance watches, gives its seat back, and then
 * frees its owner. Returns at once. */
void warprsa_disposal_add(warprsa_disposal *disposal, warprsa_disposable *what);

/* The seats of control connections. They live as long as the disposal. */
warprsa_user_quota *warprsa_disposal_seats(warprsa_disposal *disposal);

/* How many sockets without a seat wait to be closed. Any thread. */
unsigned warprsa_disposal_unseated(warprsa_disposal *disposal);

#endif
