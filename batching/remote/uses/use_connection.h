/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of use_host.h share: a GPU host, and the connections to it,
 * each with a session of its own (use_session.c), with what it is sent
 * (use_sending.c) and what its results mean (use_answers.c).
 *
 * The first connection stands for the host: it says in the log how the host is,
 * and others are made only while it is there. A connection has two threads:
 * this module's own connects, sends and ends sessions; the link's reads and
 * checks signatures. What both need is under the lock of the uses. A use that
 * is being judged is the reading thread's alone.
 */
#ifndef WARPRSA_BATCHING_REMOTE_USES_USE_CONNECTION_H
#define WARPRSA_BATCHING_REMOTE_USES_USE_CONNECTION_H

#include <stdatomic.h>

#include "batching/remote/engine/link.h"
#include "batching/remote/engine/trust.h"
#include "batching/remote/uses/use_pause.h"
#include "batching/remote/uses/uses_core.h"

enum {
    /* Of a host that has no room or no device just now, for anybody or for one
     * owner. */
    WARPRSA_USE_HOST_PAUSE_MS = 20,
    WARPRSA_USE_HOST_NAME_SIZE =
        WARPRSA_ADDRESS_HOST + WARPRSA_ADDRESS_PORT + 2,
    /* A connection is a thread here and one of the gateway's, and signatures
     * are checked on it: four of them carry what a GPU computes. */
    WARPRSA_USE_CONNECTIONS = 4,
};

_Static_assert((int)WARPRSA_REMOTE_HOSTS_MAX *WARPRSA_USE_CONNECTIONS <= 32,
               "warprsa_use_key.told has a bit for each connection");

typedef struct warprsa_use_connection {
    struct warprsa_use_host *host;
    warprsa_uses_core *core;
    unsigned number; /* 0: the first one */
    uint32_t bit;    /* its own in warprsa_use_key.told */
    pthread_t thread;
    bool has_thread;
    /* Its own thread's. */
    warprsa_trust trust;
    warprsa_address address;
    char name[WARPRSA_USE_HOST_NAME_SIZE];
    char complaint[WARPRSA_TLS_WHY]; /* the last reason for no session */
    warprsa_use_pause pause;
    uint64_t removed_ns; /* when the list had it no more; 0: it has it */
    /* Under the lock. */
    pthread_cond_t changed;
    pthread_cond_t written; /* a message was: its uses are not held any more */
    bool is_wanted;         /* not the first: it is to be there */
    uint64_t not_before_ns; /* not the first: it is not wanted earlier */
    warprsa_link *link;     /* NULL: no session */
    bool is_idle;           /* the thread waits for work */
    bool lost, draining, wrong;
    /* When it was sent the last use that others have got since: it gets no more
     * until it answers something. 0: none. */
    uint64_t silent_ns;
    bool answered; /* something in this session */
    /* Keys that it was told of and has not said anything about yet; the reading
     * thread looks without the lock. */
    atomic_uint told;
    char why[WARPRSA_TLS_WHY];
    uint64_t took_ns;        /* the last answer in this session */
    uint64_t heard_ns;       /* when that came; the first's welcome, too */
    uint64_t answered_ns;    /* when the last use was sent that has an answer */
    uint64_t used_ns;        /* when it was last sent a use */
    uint32_t keys_max, room; /* uses it may have at once */
    unsigned count;          /* that it has */
    struct warprsa_remote_use_list sent;
    warprsa_remote_use **flight; /* by id; NULL: free */
    uint32_t *free_ids;          /* `room` - `count` of them */
} warprsa_use_connection;

/* Under the lock. */
typedef struct warprsa_use_host {
    warprsa_uses_core *core;
    unsigned place;
    warprsa_use_connection connections[WARPRSA_USE_CONNECTIONS];
    unsigned count; /* uses that all of them have */
    /* How many they may have: what the first session has granted is for all
     * sessions of this client. */
    uint32_t room;
    /* How many of these it gets now: what it answers in good time. The rest
     * waits here, where owners have turns; a host has none. */
    uint32_t window;
    uint64_t least_ns; /* that an answer has taken since there is a session */
    uint64_t paused_until_ns;
    /* The first key that has no number in a session, or none; and whether the
     * log has it. */
    char unnumbered[WARPRSA_KEY_NAME_SIZE];
    bool is_unnumbered_said;
    atomic_bool refused; /* what is valid; it has been said */
    /* How it has lied while the first connection had no session: the pause for
     * that is still to come. Empty: it has not. */
    char lie[WARPRSA_TLS_WHY];
} warprsa_use_host;

/* Of the link's thread. */
extern const warprsa_link_handlers warprsa_use_connection_handlers;

/* The thread of a connection (use_session.c). */
void *warprsa_use_connection_run(void *connection);

/* ---- With the lock held ---- */

/* Whether the host takes uses by this connection now. */
bool warprsa_use_connection_takes_more(const warprsa_use_connection *c);

/* Sends what waits, one message at most. Whether there was something. The lock
 * is released meanwhile. */
bool warprsa_use_connection_send(warprsa_use_connection *c);

/* Lets a use wait again that the host has not done. */
void warprsa_use_connection_send_back(warprsa_use_connection *c,
                                      warprsa_remote_use *use);

/* A new session, by which the host may have so many uses, begins with a window
 * of a full message. */
void warprsa_use_host_set_room(warprsa_use_host *host, uint32_t room);

/* Takes note of how long the host took for a use. */
void warprsa_use_host_pace(warprsa_use_host *host,
                           const warprsa_remote_use *use, uint64_t took_ns);

/* Takes a use out of those that the host has. */
void warprsa_use_connection_take_out(warprsa_use_connection *c,
                                     warprsa_remote_use *use);

/* The session is lost, if it was not before: its thread ends it. */
void warprsa_use_connection_lose(warprsa_use_connection *c, const char *why);

/* The host lies, or breaks the protocol: all sessions with it are lost. */
void warprsa_use_host_give_up(warprsa_use_host *host, bool is_wrong,
                              const char *why);

/* Has that idle connection take what waits which has least to do, of the host
 * that has; of each host, while one of them gets nothing of some owner. */
void warprsa_use_hosts_wake(warprsa_uses_core *core);

/* The same of all idle ones: some of them may not have the uses. */
void warprsa_use_hosts_wake_all(warprsa_uses_core *core);

/* A bit for the place of each host of the list. */
uint32_t warprsa_use_hosts_listed(void);

/* Whether each of these hosts lacks the key, or has no number for it. */
bool warprsa_use_lacks_key(const warprsa_remote_use *use, uint32_t hosts);

/* Tells the host that a key goes, if it knows the key by this connection. */
void warprsa_use_connection_unload(warprsa_use_connection *c,
                                   warprsa_use_key *key);

#endif
