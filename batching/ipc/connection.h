/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client process's connection to the daemon, from WELCOME to its end: the
 * shared memory, and what the client knows of its slots, keys and notifiers. A
 * client (client.c) has one connection at a time; each is used by many threads.
 */
#ifndef WARPRSA_BATCHING_IPC_CONNECTION_H
#define WARPRSA_BATCHING_IPC_CONNECTION_H

#include <sys/types.h>

#include "batching/base/id_pool.h"
#include "batching/ipc/protocol.h"
#include "batching/ipc/shm.h"
#include "batching/queue.h"

/* What the client knows of a slot. The word is the slot's generation, shifted,
 * and a state (connection.c). The thread that changes the word by
 * compare-and-swap owns what follows. */
typedef struct warprsa_client_slot {
    _Atomic uint64_t word;
    uint64_t submitted_ns;
    uint32_t bytes; /* of the modulus */
    warprsa_size_class size;
} warprsa_client_slot;

typedef struct warprsa_connection {
    _Atomic uint32_t references;
    uint32_t serial; /* among this client's connections, from 1 */
    _Atomic bool dead;
    int socket;
    int eventfd;
    dev_t socket_dev; /* of socket, to notice when the program has closed it */
    ino_t socket_ino;
    warprsa_shm shm;
    warprsa_ring ring; /* its cells are in the shm */
    warprsa_client_slot *slot;
    /* Under the client's lock. */
    warprsa_id_pool free_slots, free_keys, free_notifiers;
    int *notifier; /* by number, from 1: a descriptor + 1; 0: none */
    uint32_t notifiers;
    uint32_t *key_generation; /* by number */
    /* By number. The thread that has a notifier reads without the lock. */
    uint32_t *notifier_generation;
    uint32_t keys;    /* numbers of keys, free or not */
    uint32_t reclaim; /* the slot where the next search begins */
} warprsa_connection;

/*
 * The connection that this WELCOME and its descriptors make. It takes over the
 * socket and the descriptors, whatever happens. It has one reference, the
 * caller's. NULL with the reason in why.
 */
warprsa_connection *warprsa_connection_new(int socket,
                                           const warprsa_message *welcome,
                                           const int fds[WARPRSA_MESSAGE_FDS],
                                           uint32_t serial, char *why,
                                           size_t why_size);

/* Takes and drops a reference; the last one closes and frees. drop() takes NULL
 * too. Any thread. */
void warprsa_connection_reference(warprsa_connection *connection);
void warprsa_connection_drop(warprsa_connection *connection);

/* In a forked child, without a reference: closes the child's descriptors. */
void warprsa_connection_abandon(warprsa_connection *connection);

/* Whether the daemon is still there, by what the kernel says of the socket and
 * by its heartbeat. A daemon without a heartbeat for seconds hangs or was
 * stopped; it is given up to a second, in which this sleeps, to have one. Any
 * thread. */
bool warprsa_connection_alive(warprsa_connection *connection);

/* Whether the daemon has had a heartbeat in the last seconds. Does not sleep.
 * Any thread. */
bool warprsa_connection_has_heartbeat(const warprsa_connection *connection,
                                      uint64_t now_ns);

/* Notifies the daemon of messages that no request refers to. Any thread. */
void warprsa_connection_notify_message(warprsa_connection *connection);

/* Takes no more answers. Threads that sleep notice within a moment. Any
 * thread. */
void warprsa_connection_shut(warprsa_connection *connection);

/* With the client's lock: acquires a slot. If none is free, a slot is reclaimed
 * whose answer was not collected within abandoned_ns of its submission. False:
 * there is none. */
bool warprsa_connection_acquire(warprsa_connection *connection, uint64_t now_ns,
                                uint64_t abandoned_ns, uint32_t *slot);

/* Releases a slot, with the client's lock. */
void warprsa_connection_release(warprsa_connection *connection, uint32_t slot);

/* Submits the request in an acquired slot, all of which is filled in but its
 * generation. */
void warprsa_connection_submit(warprsa_connection *connection, uint32_t slot,
                               uint32_t generation);

/*
 * Looks once whether a request is answered.
 *
 * DONE: output is filled. PENDING: not yet, for deadline_ns from the
 * submission; after that REFUSED with WARPRSA_CPU_DEADLINE, and the slot is
 * reclaimed once the daemon has answered. REFUSED: why is in *reason. Where
 * *owned is true the caller must release the slot. Any thread, one for each
 * request.
 */
warprsa_answer warprsa_connection_poll(warprsa_connection *connection,
                                       warprsa_ticket ticket,
                                       uint64_t deadline_ns, uint8_t *output,
                                       warprsa_cpu_reason *reason, bool *owned);

#endif
