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
 * A request with a key of the daemon's vault, a use, has a header that says
 * what is to be done with it (batching/vault/wire/key_use.h), and may be longer
 * than a request with a key of the client's own. Only a session that was asked
 * for with `uses` has the memory for them.
 *
 * A program that asks what keys there are, by LOOKUP or LIST, does so over a
 * control connection that it shares with nobody, and reads each reply before it
 * asks again.
 *
 * Nobody needs to wait for a reply: the daemon refuses a request that refers to
 * something it has refused, and a client asks for notifiers before it needs
 * them.
 *
 * Trust: the daemon believes nothing that a client sends. A client that breaks
 * these rules is disconnected; one that asks for something it can't have is
 * refused. The client trusts the daemon, which is given its private keys. Who a
 * client is, is what the kernel says: of the control connection for limits, of
 * the process that sends ATTACHED, LOOKUP or LIST for what it may do with keys
 * of the vault.
 */
#ifndef WARPRSA_BATCHING_DAEMON_WIRE_PROTOCOL_H
#define WARPRSA_BATCHING_DAEMON_WIRE_PROTOCOL_H

#include <stdint.h>

#include "batching/vault/wire/denial.h"
#include "batching/vault/wire/key_name.h"
#include "batching/vault/wire/key_rights.h"
#include "batching/vault/wire/key_use.h"
#include "gpu/engine.h"

#define WARPRSA_SOCKET_DEFAULT "/run/warprsa/warprsad.sock"

enum {
    WARPRSA_PROTOCOL = 12,
    WARPRSA_CLIENT_SLOTS_MAX = 65536,
    WARPRSA_CLIENT_KEYS_MAX = 65536,
    /* A notifier for each wait context of async jobs; some are idle. */
    WARPRSA_CLIENT_NOTIFIERS_MAX = 65536,
    WARPRSA_MESSAGE_FDS = 3,
    WARPRSA_IDENTITY_NAME = 256,          /* with its final zero */
    WARPRSA_KEY_ALLOWED_SIZE = 1024,      /* with its final zero */
    WARPRSA_KEY_CERTIFICATES_MAX = 65536, /* bytes of PEM of one key */
    /* Most keys have theirs in one reply: a chain of three certificates of
     * RSA-2048 takes some 6 KiB. */
    WARPRSA_KEY_CERTIFICATES_PIECE = 8192,
};

_Static_assert((int)WARPRSA_KEY_NAME_SIZE <= WARPRSA_IDENTITY_NAME,
               "a message has room for the name of a key");

/* Messages over sockets. */
typedef enum warprsa_message_type {
    /* Client, over a control connection. slots, keys, notifiers: how many it
     * wants. uses: not 0 if it wants to use keys of the vault. identity, name:
     * for whom, if the client is warprsad-gateway; else 0 and empty. */
    WARPRSA_MESSAGE_CONNECT = 1,
    /* Daemon, over a control connection. number: the session's. slots, keys,
     * notifiers, uses: what it grants. deadline_ms: within what time a request
     * is answered. identity: not 0 if the client is believed about identities.
     * Three descriptors: the session's socket, the shared memory, which the
     * client allocates and whose rings it begins, and the eventfd. */
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
    /* Client, over a control connection: asks for the key of the vault with
     * this name; or for the first one, in the order of names, after it. number:
     * the reply's piece of the key's certificates begins with this byte, at
     * most WARPRSA_KEY_CERTIFICATES_MAX. The reply is a warprsa_key_message. */
    WARPRSA_MESSAGE_LOOKUP,
    WARPRSA_MESSAGE_LIST,
    /* Daemon, over a control connection, of a warprsa_key_message: the key, or
     * that there is none of which this user may make any use. The reply to a
     * LIST comes when the daemon has found one or looked at all others: how far
     * it has come would say where keys are that are not this user's. */
    WARPRSA_MESSAGE_KEY,
    WARPRSA_MESSAGE_NO_KEY,
} warprsa_message_type;

/* The first two stay where they are in every version. */
typedef struct warprsa_message {
    uint32_t version;    /* WARPRSA_PROTOCOL */
    uint32_t type;       /* warprsa_message_type */
    uint32_t number;     /* of a session, a notifier or a byte */
    uint32_t generation; /* of a notifier; of what was asked: comes back */
    uint32_t slots;
    uint32_t keys;
    uint32_t notifiers;
    uint32_t uses;
    uint32_t deadline_ms;
    uint32_t identity; /* of CONNECT: a number of the gateway's for a name */
    char name[WARPRSA_IDENTITY_NAME];
} warprsa_message;

/* A piece of the certificates of a key of the vault, in PEM. */
typedef struct warprsa_certificates_piece {
    /* Pieces with the same number are of the same certificates. With another
     * one, whoever has pieces begins anew. */
    uint32_t edition;
    uint32_t total;  /* bytes of all of them; 0: the key has none */
    uint32_t offset; /* of this piece; that of the question */
    uint32_t bytes;  /* of this piece; 0 where `offset` is not below `total` */
    char pem[WARPRSA_KEY_CERTIFICATES_PIECE];
} warprsa_certificates_piece;

/* A key of the vault, as it is shown to one user. */
typedef struct warprsa_key_message {
    uint32_t version;
    uint32_t type; /* KEY; or NO_KEY, which has a generation alone */
    uint32_t generation;
    uint32_t spki_bytes;
    char name[WARPRSA_KEY_NAME_SIZE];
    char allowed[WARPRSA_KEY_ALLOWED_SIZE]; /* what this user may do with it,
                                               for people */
    warprsa_key_rights rights;              /* the same, for programs */
    uint8_t spki[WARPRSA_KEY_SPKI_DER_MAX]; /* SubjectPublicKeyInfo, DER */
    warprsa_certificates_piece certificates;
} warprsa_key_message;

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
    /* A key of the vault, and the number and generation by which requests will
     * name it. As KEY in all else. The daemon need not have the key now. */
    WARPRSA_SHM_KEY_USE,
} warprsa_shm_message_type;

typedef struct warprsa_shm_message {
    uint32_t type;       /* warprsa_shm_message_type */
    uint32_t number;     /* of a key or a notifier */
    uint32_t generation; /* of what the number names */
    union {
        warprsa_private_key key;                     /* SECRET; of a KEY */
        uint8_t spki_sha256[WARPRSA_KEY_SPKI_BYTES]; /* of a KEY_USE */
    };
} warprsa_shm_message;

/* How a use of a key of the vault ended. */
typedef enum warprsa_use_answer {
    WARPRSA_USE_DONE,
    WARPRSA_USE_PENDING, /* not yet; never sent */
    /* Not computed, for now: the daemon stops, or has too much to do. */
    WARPRSA_USE_LATER,
    WARPRSA_USE_DENIED, /* by the rules of the vault */
    WARPRSA_USE_FAILED, /* there is no result for this input */
    WARPRSA_USE_ANSWERS
} warprsa_use_answer;

#endif
