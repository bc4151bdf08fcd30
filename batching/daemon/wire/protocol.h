/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The messages between the daemon and the provider in a client process.
 *
 * They are plain data of fixed size without pointers. Daemon and provider are
 * both compiled from this file; the version in each message tells whether their
 * copies agree.
 *
 * The daemon makes every descriptor that the two share, and never receives one.
 * A client has its ends of:
 *
 * - The control connection, a Unix socket of type SOCK_SEQPACKET. A program
 *   connects when it loads the provider, and its forked children share it. By
 *   CONNECT a process asks for a session of its own. The daemon replies with
 *   WELCOME and three descriptors: the session's socket, the shared memory
 *   (shm.h) and an eventfd by which the client notifies the daemon; or with
 *   REFUSED. The client maps the memory and sends ATTACHED.
 * - The session's socket, of the same type, which carries messages from the
 *   daemon alone: its other end is shut down for reading before the client has
 *   this one, so that the kernel lets nothing into the daemon's queue. Whatever
 *   belongs to the session ends with it.
 * - Notifiers: stream sockets, also shut down for reading at the daemon's end.
 *   The daemon writes a byte for each answer.
 * - The shared memory. Requests and answers go through it, and so do the
 *   client's messages to its session (shm_message).
 *
 * Processes that share a control connection may receive each other's replies.
 * They are of one program, and it makes no difference: a session belongs to the
 * process that sends ATTACHED with its number, which the kernel names to the
 * daemon. One that is not attached within a few seconds, as when the process
 * that asked has died, ends; its WELCOME may still wait to be received, and
 * whoever receives it finds the socket at its end, and receives the next.
 *
 * A request refers to a key, and may refer to a notifier, by a number and a
 * generation. When a request refers to something that the daemon does not know
 * yet, the daemon reads its messages. For messages that no request will refer
 * to, the client notifies the daemon (WARPRSA_NOTIFY_MESSAGE).
 *
 * Nobody needs to wait for a reply: the daemon refuses a request that refers to
 * something it has refused, and a client asks for notifiers before it needs
 * them.
 *
 * Trust: the daemon believes nothing that a client sends. A client that breaks
 * these rules is disconnected; one that asks for something it can't have is
 * refused. The client trusts the daemon, which is given its private keys.
 */
#ifndef WARPRSA_BATCHING_DAEMON_WIRE_PROTOCOL_H
#define WARPRSA_BATCHING_DAEMON_WIRE_PROTOCOL_H

#include <stdint.h>

#include "gpu/engine.h"

#define WARPRSA_SOCKET_DEFAULT "/run/warprsa/warprsad.sock"

enum {
    WARPRSA_PROTOCOL = 7,
    WARPRSA_CLIENT_SLOTS_MAX = 65536,
    WARPRSA_CLIENT_KEYS_MAX = 65536,
    /* A notifier for each wait context of async jobs; some are idle. */
    WARPRSA_CLIENT_NOTIFIERS_MAX = 65536,
    WARPRSA_MESSAGE_FDS = 3,
    WARPRSA_IDENTITY_NAME = 256, /* with its final zero */
};

/* Messages over sockets. */
typedef enum warprsa_message_type {
    /* Client, over a control connection. slots, keys, notifiers: how many it
     * wants. identity, name: for whom, if the client is warprsad-gateway; else
     * 0 and empty. */
    WARPRSA_MESSAGE_CONNECT = 1,
    /* Daemon, over a control connection. number: the session's. slots, keys,
     * notifiers: how many it grants. deadline_ms: within what time a request is
     * answered. identity: not 0 if the client is believed about identities.
     * Three descriptors: the session's socket, the shared memory and the
     * eventfd. */
    WARPRSA_MESSAGE_WELCOME,
    /* Daemon, over a control connection: there is no session to be had now, or
     * the client is of another version. */
    WARPRSA_MESSAGE_REFUSED,
    /* Client, over a control connection. number: of the session whose memory it
     * has mapped. */
    WARPRSA_MESSAGE_ATTACHED,
    /* Daemon, over a session's socket: what WARPRSA_SHM_NOTIFIER with this
     * number and generation asked for. One descriptor, or none if there is none
     * to be had. */
    WARPRSA_MESSAGE_NOTIFIER,
} warprsa_message_type;

/* The first two stay where they are in every version. */
typedef struct warprsa_message {
    uint32_t version;    /* WARPRSA_PROTOCOL */
    uint32_t type;       /* warprsa_message_type */
    uint32_t number;     /* of a session or a notifier */
    uint32_t generation; /* of a notifier; of CONNECT: comes back */
    uint32_t slots;
    uint32_t keys;
    uint32_t notifiers;
    uint32_t deadline_ms;
    uint32_t identity; /* of CONNECT: a number of the gateway's for a name */
    char name[WARPRSA_IDENTITY_NAME];
} warprsa_message;

/* Messages through the shared memory, all of them from the client. */
typedef enum warprsa_shm_message_type {
    /* A private key, and the number and generation by which requests will name
     * it. The number, from 0, must be free. */
    WARPRSA_SHM_KEY = 1,
    /* Frees the number of a key. Requests under way with the key are still
     * answered. */
    WARPRSA_SHM_KEY_FREE,
    /* Asks for a notifier by this number, from 1, and generation. If the number
     * names an earlier notifier, the daemon closes that one now. */
    WARPRSA_SHM_NOTIFIER,
} warprsa_shm_message_type;

typedef struct warprsa_shm_message {
    uint32_t type;           /* warprsa_shm_message_type */
    uint32_t number;         /* of a key or a notifier */
    uint32_t generation;     /* of what the number names */
    warprsa_private_key key; /* SECRET; only a KEY has it */
} warprsa_shm_message;

#endif
