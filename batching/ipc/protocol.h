/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the provider in a client process and the daemon say to each other.
 * Plain data of fixed size without pointers; both are built from this file, and
 * the version tells whether from the same one.
 *
 * A client connects to the daemon's socket (SOCK_SEQPACKET): its control_connection. The
 * control_connection may be shared with forked children. Each process makes itself a
 * connection by sending CONNECT through a control_connection, with one end of a socketpair
 * of its own; the daemon answers there with WELCOME and two descriptors, the
 * shm (shm.h) and the eventfd that says "look at the ring". The client
 * maps the shm and says ATTACHED. From then on the daemon sends nothing
 * more over the connection, and the end of the connection is the end of
 * everything that belongs to it.
 *
 * Requests go through the shm. What they refer to, a key and maybe a notifier,
 * is sent over the connection before, with a generation: at a request that
 * refers to something new the daemon reads its messages, and to have others
 * read the client tells it so (WARPRSA_NOTIFY_MESSAGE). There are no replies, so
 * nobody waits: a request that refers to something the daemon has refused is
 * refused.
 */
#ifndef WARPRSA_BATCHING_IPC_PROTOCOL_H
#define WARPRSA_BATCHING_IPC_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

#include "gpu/engine.h"

#define WARPRSA_SOCKET_DEFAULT "/run/warprsa/warprsad.sock"

enum {
    WARPRSA_PROTOCOL = 3,
    WARPRSA_CLIENT_SLOTS_MAX = 65536,
    WARPRSA_CLIENT_KEYS_MAX = 65536,
    /* Wait contexts of async jobs, some of which are idle. */
    WARPRSA_CLIENT_NOTIFIERS_MAX = 65536,
    WARPRSA_MESSAGE_FDS = 2,
};

typedef enum warprsa_message_type {
    /* Door. slots, keys, notifiers: wanted. One descriptor: the connection. */
    WARPRSA_MESSAGE_CONNECT = 1,
    /* Daemon. slots, keys, notifiers: granted. Descriptors: shm, eventfd. */
    WARPRSA_MESSAGE_WELCOME,
    /* The rest client. */
    WARPRSA_MESSAGE_ATTACHED,
    /* A private key and under which number and generation requests will name
     * it. The number is free. */
    WARPRSA_MESSAGE_KEY,
    /* The number is free again; requests under way are still answered. */
    WARPRSA_MESSAGE_KEY_FREE,
    /* One descriptor: a stream socket for one byte per answer, under this
     * number, 1 or more, and generation, in place of what was there. The daemon
     * keeps it until then. */
    WARPRSA_MESSAGE_NOTIFIER,
} warprsa_message_type;

typedef struct warprsa_message {
    uint32_t version; /* WARPRSA_PROTOCOL */
    uint32_t type;
    uint32_t number;
    uint32_t generation;
    uint32_t slots;
    uint32_t keys;
    uint32_t notifiers;
    warprsa_private_key key; /* of KEY, others end before it. SECRET */
} warprsa_message;

#define WARPRSA_MESSAGE_SHORT offsetof(warprsa_message, key)

#endif
