/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client process's connection to the daemon, from WELCOME to the end: the
 * shm and what the client knows of its slots, keys and notifiers. client.c
 * makes one after the other; each is used by many threads.
 */
#ifndef WARPRSA_BATCHING_IPC_CONNECTION_H
#define WARPRSA_BATCHING_IPC_CONNECTION_H

#include <sys/types.h>

#include "batching/base/id_pool.h"
#include "batching/ipc/protocol.h"
#include "batching/ipc/shm.h"
#include "batching/queue.h"

/* What the client knows of a slot. The word is a generation, shifted, and a state;
 * whoever changes it by compare-and-swap owns what follows. */
typedef struct warprsa_client_slot {
    _Atomic uint64_t word;
    uint64_t submitted_ns;
    uint32_t bytes;
    warprsa_size_class size;
} warprsa_client_slot;

typedef struct warprsa_connection {
    _Atomic uint32_t references;
    uint32_t
        serial; /* of this client's connections, from 1; in every notifier */
    _Atomic bool dead;
    int socket;
    int eventfd;
    dev_t socket_dev;
    ino_t socket_ino;
    warprsa_shm shm;
    warprsa_ring ring; /* cells in the shm */
    warprsa_client_slot *slot;
    /* Under the client's lock. */
    warprsa_id_pool free_slots, free_keys, free_notifiers;
    int *notifier; /* by number, from 1: a descriptor + 1; 0: none */
    uint32_t notifiers;
    uint32_t *key_generation;
    uint32_t
        *notifier_generation; /* by number; the notifier's owner may read it */
    uint32_t keys;            /* numbers of keys, free or not */
    uint32_t reclaim;         /* where the next search begins */
} warprsa_connection;

/*
 * A connection of which WELCOME has just come with these descriptors, which it
 * takes over, whatever happens. One reference, the caller's. NULL with the
 * reason in why.
 */
warprsa_connection *warprsa_connection_new(int socket,
                                           const warprsa_message *welcome,
                                           const int fds[WARPRSA_MESSAGE_FDS],
                                           uint32_t serial, char *why,
                                           size_t why_size);
void warprsa_connection_reference(warprsa_connection *connection);
void warprsa_connection_drop(warprsa_connection *connection);

/* In a forked child, without a reference: closes the child's descriptors. */
void warprsa_connection_abandon(warprsa_connection *connection);

/* Whether the daemon is still there; asks the kernel. One that hasn't come
 * round for seconds (it hangs, or was stopped) is not, unless it does now: it
 * is given up to a second. */
bool warprsa_connection_alive(warprsa_connection *connection);

/* Whether it has come round in the last seconds; does not sleep. */
bool warprsa_connection_has_heartbeat(const warprsa_connection *connection,
                                      uint64_t now_ns);

/* Has the daemon read messages that no request refers to. */
void warprsa_connection_notify_message(warprsa_connection *connection);

/* Takes no more answers; threads that sleep find out within a moment. */
void warprsa_connection_shut(warprsa_connection *connection);

/* With the client's lock: a free slot, or one whose answer nobody came for in
 * `abandoned_ns`. False: none. */
bool warprsa_connection_acquire(warprsa_connection *connection, uint64_t now_ns,
                                uint64_t abandoned_ns, uint32_t *slot);

/* Gives the daemon a request: slot taken, everything of it filled but `generation`. */
void warprsa_connection_submit(warprsa_connection *connection, uint32_t slot,
                               uint32_t generation);

/*
 * One look at a request. DONE: output is filled. DONE or REFUSED: the slot is
 * to be given back with the client's lock by warprsa_connection_release(),
 * unless *owned is false. PENDING for deadline_ns from its submission; then
 * REFUSED with WARPRSA_CPU_DEADLINE, and the slot goes back once the daemon has
 * answered.
 */
warprsa_answer warprsa_connection_poll(warprsa_connection *connection,
                                       warprsa_ticket ticket,
                                       uint64_t deadline_ns, uint8_t *output,
                                       warprsa_cpu_reason *reason, bool *owned);
void warprsa_connection_release(warprsa_connection *connection, uint32_t slot);

#endif
