/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The messages between the daemon and the provider in a client process.
 *
 * They are plain data of fixed size without pointers. Daemon and provider are
 * both compiled from this file; the version in each message tells whether it
 * was the same one.
 *
 * There are two kinds of connection, both Unix sockets of type SOCK_SEQPACKET:
 *
 * - The control connection. A program makes it when it loads the provider, and
 *   its forked children share it. Only CONNECT is sent over it, by which a
 *   process gets a connection of its own: it sends one end of a socketpair.
 * - The connection of one process. The daemon sends WELCOME over it with two
 *   descriptors, the shared memory (shm.h) and an eventfd by which the client
 *   notifies the daemon. The client maps the memory and sends ATTACHED. From
 *   then on the daemon sends nothing more over the connection. Whatever belongs
 *   to the connection ends with it.
 *
 * Requests and answers go through the shared memory. A request refers to a key,
 * and may refer to a notifier. Both are sent over the connection before, with a
 * number and a generation. When a request refers to something that the daemon
 * does not know yet, the daemon reads its messages. For messages that no
 * request will refer to, the client notifies the daemon
 * (WARPRSA_NOTIFY_MESSAGE).
 *
 * No message is replied to, so that nobody waits for a reply: the daemon
 * refuses a request that refers to something it has refused.
 *
 * Trust: the daemon believes nothing that a client sends. A client that breaks
 * these rules is disconnected; one that asks for something it can't have is
 * refused. The client trusts the daemon, which is given its private keys.
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
    /* One for each wait context of async jobs; some are idle. */
    WARPRSA_CLIENT_NOTIFIERS_MAX = 65536,
    WARPRSA_MESSAGE_FDS = 2,
};

typedef enum warprsa_message_type {
    /* Client, over a control connection. slots, keys, notifiers: how many it
     * wants. One descriptor: the daemon's end of the connection. */
    WARPRSA_MESSAGE_CONNECT = 1,
    /* Daemon. slots, keys, notifiers: how many it grants. Two descriptors: the
     * shared memory and the eventfd. */
    WARPRSA_MESSAGE_WELCOME,
    /* The rest are the client's. The shared memory is mapped. */
    WARPRSA_MESSAGE_ATTACHED,
    /* A private key, and the number and generation by which requests will name
     * it. The number, from 0, must be free. */
    WARPRSA_MESSAGE_KEY,
    /* The number of a key is free again. Requests under way with the key are
     * still answered. */
    WARPRSA_MESSAGE_KEY_FREE,
    /* A notifier. One descriptor: a stream socket, to which the daemon writes a
     * byte for each answer. Its number, from 1, may name an earlier notifier,
     * which the daemon closes then, and not before. */
    WARPRSA_MESSAGE_NOTIFIER,
} warprsa_message_type;

typedef struct warprsa_message {
    uint32_t version;    /* WARPRSA_PROTOCOL */
    uint32_t type;       /* warprsa_message_type */
    uint32_t number;     /* of a key or a notifier */
    uint32_t generation; /* of what the number names */
    uint32_t slots;
    uint32_t keys;
    uint32_t notifiers;
    warprsa_private_key key; /* SECRET; only a KEY message has it */
} warprsa_message;

/* Bytes of a message of any other type than KEY. */
#define WARPRSA_MESSAGE_SHORT offsetof(warprsa_message, key)

#endif
