/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client process's connection to the daemon, from WELCOME to its end: the
 * shared memory, and what the client knows of its slots, keys and notifiers. A
 * client (client.c) has one connection at a time; each is used by many threads.
 */
#ifndef WARPRSA_BATCHING_DAEMON_CLIENT_SESSION_CONNECTION_H
#define WARPRSA_BATCHING_DAEMON_CLIENT_SESSION_CONNECTION_H

#include "batching/base/id_pool.h"
#include "batching/base/own_fd.h"
#include "batching/daemon/wire/protocol.h"
#include "batching/daemon/wire/shm.h"
#include "batching/queue/queue.h"

/* What the client knows of a slot. The word is the slot's generation, shifted,
 * and a state (session_connection.c). The thread that changes the word by
 * compare-and-swap owns what follows. */
typedef struct warprsa_client_slot {
    _Atomic uint64_t word;
    uint64_t submitted_ns;
    uint32_t bytes; /* of the modulus */
    warprsa_size_class size;
    bool is_use;    /* of a key of the vault */
    bool has_label; /* the last use that the slot had, in shared memory */
} warprsa_client_slot;

/* How a request was answered. */
typedef struct warprsa_connection_answer {
    warprsa_cpu_reason reason; /* if REFUSED */
    bool owned;                /* the caller must release the slot */
    /* Of a use alone. LATER: also if the daemon has not answered. */
    warprsa_use_answer use;
    warprsa_denial denial;     /* if DENIED */
    uint32_t bytes;            /* of the output; if DONE */
    warprsa_use_errors errors; /* if FAILED */
} warprsa_connection_answer;

enum {
    /* Notifiers that a connection has, or has asked for, before it needs
     * them. */
    WARPRSA_NOTIFIERS_READY = 32,
};

typedef enum warprsa_connection_health {
    WARPRSA_CONNECTION_LIVES,
    WARPRSA_CONNECTION_HANGS, /* and may yet go on */
    WARPRSA_CONNECTION_GONE,
} warprsa_connection_health;

typedef struct warprsa_connection {
    _Atomic uint32_t references;
    _Atomic uint32_t names; /* remember(), and one of all references */
    uint32_t serial;        /* among this client's connections, from 1 */
    _Atomic bool dead;
    /* If notify_flags is not 0: when the daemon was notified and has not looked
     * since. */
    _Atomic uint64_t notified_ns;
    /* A thread has waited for the daemon in vain, and the daemon has shown no
     * life since. */
    _Atomic bool hangs;
    /* When the kernel was last asked whether the daemon holds its end. */
    _Atomic uint64_t asked_ns;
    /* How often the daemon was found to hang, and when last. */
    _Atomic uint32_t hang_ticks;
    _Atomic uint64_t hang_tick_ns;
    warprsa_own_fd socket;
    warprsa_marked_fd eventfd;
    warprsa_shm shm;
    warprsa_ring ring; /* its cells are in the shm */
    warprsa_client_slot *slot;
    warprsa_id_pool free_slots; /* acquired under the client's lock */
    /* Under the client's lock. */
    warprsa_id_pool free_keys, free_notifiers;
    warprsa_own_fd *notifier; /* by number, from 1 */
    uint32_t notifiers;
    uint32_t ready[WARPRSA_NOTIFIERS_READY]; /* numbers that nobody uses yet */
    uint32_t ready_count, asked_count;       /* asked: not received yet */
    bool notifiers_late; /* none came in time; nobody waits for one again */
    uint32_t messages_offset; /* of the next message to the daemon */
    /* Messages are made here, since stacks may be small. SECRET, wiped once
     * sent. */
    warprsa_shm_message message;
    uint32_t *key_generation; /* by number */
    /* Numbers of keys that were freed, of which the daemon is still to be
     * told. */
    uint32_t *freed, freed_count;
    /* By number. The thread that has a notifier reads its generation without
     * the lock. */
    uint32_t *notifier_generation;
    uint32_t keys;             /* numbers of keys, free or not */
    uint32_t reclaim;          /* the slot where the next search begins */
    _Atomic uint32_t given_up; /* slots; a later answer is still to be wiped */
} warprsa_connection;

/*
 * Makes a connection from a WELCOME and its descriptors, which are taken over
 * in any case. The caller has the one reference, and sends ATTACHED. NULL with
 * the reason in why.
 */
warprsa_connection *warprsa_connection_new(const warprsa_message *welcome,
                                           int fds[WARPRSA_MESSAGE_FDS],
                                           uint32_t serial, char *why,
                                           size_t why_size);

/* Takes and drops a reference; the last one closes and frees. drop() takes NULL
 * too. Any thread. */
void warprsa_connection_reference(warprsa_connection *connection);
void warprsa_connection_drop(warprsa_connection *connection);

/* What an async job has of a connection, which may be left in a pause: its
 * memory and descriptors go with the last reference, and only this structure
 * stays until forget(). recall() takes a reference. False: there was none any
 * more. Any thread. */
void warprsa_connection_remember(warprsa_connection *connection);
void warprsa_connection_forget(warprsa_connection *connection);
bool warprsa_connection_recall(warprsa_connection *connection);

/* In a forked child, without a reference: closes the child's descriptors. */
void warprsa_connection_abandon(warprsa_connection *connection);

/* Whether the daemon still holds its end, as the kernel says. Any thread. */
bool warprsa_connection_alive(warprsa_connection *connection);

/* The same, but another thread's answer of the last millisecond will do: many
 * threads submit many requests in that time. */
bool warprsa_connection_alive_lately(warprsa_connection *connection,
                                     uint64_t now_ns);

/*
 * Whether the daemon reacts to notifications. Every caller asks before it
 * submits; only the first one waits for the daemon, for a few milliseconds.
 *
 * HANGS: nothing should be submitted now. GONE: the daemon was found to hang
 * again and again for more than a second, in which this process was running.
 * Any thread.
 */
warprsa_connection_health
warprsa_connection_health_now(warprsa_connection *connection, uint64_t now_ns);

/* For a thread that waits for its answer: sleeps for some milliseconds, or
 * until the slot is answered. False: the daemon hangs. */
bool warprsa_connection_sleep(warprsa_connection *connection,
                              warprsa_ticket ticket);

/* With the client's lock: sends connection->message. False: the daemon has too
 * many messages to read; it is notified of them. */
bool warprsa_connection_send(warprsa_connection *connection);

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

/* Releases a slot. Any thread. */
void warprsa_connection_release(warprsa_connection *connection, uint32_t slot);

/* Submits the request in an acquired slot, all of which is filled in but its
 * generation. */
void warprsa_connection_submit(warprsa_connection *connection, uint32_t slot,
                               uint32_t generation);

/* The same in two steps: put() for each of several requests, and announce() for
 * all of them, by one system call at most. */
void warprsa_connection_put(warprsa_connection *connection, uint32_t slot,
                            uint32_t generation);
void warprsa_connection_announce(warprsa_connection *connection);

/* Whether poll() would find an answer now. It only reads a word. */
bool warprsa_connection_is_answered(const warprsa_connection *connection,
                                    warprsa_ticket ticket);

/*
 * Looks once whether a request is answered.
 *
 * DONE: output, of as many bytes as the modulus, is filled. PENDING: not yet,
 * for deadline_ns from the submission; after that REFUSED with
 * WARPRSA_CPU_DEADLINE, and the slot is reclaimed once the daemon has answered.
 * *how says more. Any thread, one for each request.
 */
warprsa_answer warprsa_connection_poll(warprsa_connection *connection,
                                       warprsa_ticket ticket,
                                       uint64_t deadline_ns, uint8_t *output,
                                       warprsa_connection_answer *how);

/* Gives up a request whose answer nobody will collect: its slot is wiped and
 * reclaimed once the daemon has answered. Does nothing if the request is not of
 * this connection. Any thread. */
void warprsa_connection_give_up(warprsa_connection *connection,
                                warprsa_ticket ticket);

#endif
