/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sockets that one network thread has accepted for another one. Whichever
 * thread wakes up first accepts; the connection is for the thread that has
 * fewest, so that the connections of a busy host are on different threads.
 */
#ifndef WARPRSA_BATCHING_REMOTE_SERVER_HANDOVER_H
#define WARPRSA_BATCHING_REMOTE_SERVER_HANDOVER_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>

enum {
    WARPRSA_HANDOVER_MAX = 16,
};

typedef struct warprsa_accepted {
    int socket;
    struct sockaddr_storage from;
} warprsa_accepted;

/* Of the thread that gets them. All zeros but for the lock. */
typedef struct warprsa_handover {
    pthread_mutex_t lock;
    unsigned count;
    warprsa_accepted accepted[WARPRSA_HANDOVER_MAX]; /* the oldest first */
} warprsa_handover;

void warprsa_handover_init(warprsa_handover *handover);

/* Closes what nobody has taken. */
void warprsa_handover_free(warprsa_handover *handover);

/* Hands a socket over. False: there is no room. Any thread. */
bool warprsa_handover_put(warprsa_handover *handover,
                          const warprsa_accepted *accepted);

/* Takes the oldest one. False: there is none. Any thread. */
bool warprsa_handover_take(warprsa_handover *handover,
                           warprsa_accepted *accepted);

#endif
