/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of use_host.h share: a GPU host, what it is sent
 * (use_sending.c) and what its results mean (use_answers.c).
 *
 * Two threads: this module's own connects, sends and ends sessions; the link's
 * reads. What both need is under the lock of the uses. A use that is being
 * judged is the reading thread's alone.
 */
#ifndef WARPRSA_BATCHING_REMOTE_USES_USE_HOST_STATE_H
#define WARPRSA_BATCHING_REMOTE_USES_USE_HOST_STATE_H

#include <stdatomic.h>

#include "batching/remote/engine/link.h"
#include "batching/remote/engine/trust.h"
#include "batching/remote/uses/use_pause.h"
#include "batching/remote/uses/uses_core.h"

enum {
    /* Of a host that has no room or no device just now. */
    WARPRSA_USE_HOST_PAUSE_MS = 20,
    WARPRSA_USE_HOST_NAME_SIZE =
        WARPRSA_ADDRESS_HOST + WARPRSA_ADDRESS_PORT + 2,
};

typedef struct warprsa_use_host {
    warprsa_uses_core *core;
    unsigned place;
    pthread_t thread;
    /* Its own thread's. */
    warprsa_trust trust;
    warprsa_address address;
    char name[WARPRSA_USE_HOST_NAME_SIZE];
    char complaint[WARPRSA_TLS_WHY]; /* the last reason for no session */
    warprsa_use_pause pause;
    uint64_t removed_ns; /* when the list had it no more; 0: it has it */
    /* The first key in a session that has no number there, or none; and whether
     * the log has it. */
    char unnumbered[WARPRSA_KEY_NAME_SIZE];
    bool is_unnumbered_said;
    /* Under the lock. */
    pthread_cond_t changed;
    warprsa_link *link; /* NULL: no session */
    bool is_idle;       /* the thread waits for work */
    bool lost, draining, wrong;
    bool refused;  /* what is valid; the reading thread's in a session */
    bool silent;   /* others get its uses, until it answers something */
    bool answered; /* something in this session */
    /* Keys that it was told of and has not said anything about yet; the reading
     * thread looks without the lock. */
    atomic_uint told;
    char why[WARPRSA_TLS_WHY];
    uint64_t took_ns; /* the last answer in this session */
    uint64_t paused_until_ns;
    uint32_t keys_max, room; /* uses it may have at once */
    unsigned count;          /* that it has */
    struct warprsa_remote_use_list sent;
    warprsa_remote_use **flight; /* by id; NULL: free */
    uint32_t *free_ids;          /* `room` - `count` of them */
} warprsa_use_host;

/* Of the link's thread. */
extern const warprsa_link_handlers warprsa_use_host_handlers;

/* ---- With the lock held ---- */

/* Whether the host takes uses now. */
bool warprsa_use_host_takes_more(const warprsa_use_host *host);

/* Sends what waits, one message at most. Whether there was something. */
bool warprsa_use_host_send(warprsa_use_host *host);

/* Lets a use wait again that the host has not done. */
void warprsa_use_host_send_back(warprsa_use_host *host,
                                warprsa_remote_use *use);

/* Takes a use out of those that the host has. */
void warprsa_use_host_take_out(warprsa_use_host *host, warprsa_remote_use *use);

/* Has that idle host take what waits which has least to do. */
void warprsa_use_hosts_wake(warprsa_uses_core *core);

/* The same of all idle hosts: some of them may not have the uses. */
void warprsa_use_hosts_wake_all(warprsa_uses_core *core);

/* A bit for the place of each host of the list. */
uint32_t warprsa_use_hosts_listed(void);

/* Whether each of these hosts lacks the key, or has no number for it. */
bool warprsa_use_lacks_key(const warprsa_remote_use *use, uint32_t hosts);

/* Tells the host that a key goes. */
void warprsa_use_host_unload(warprsa_use_host *host,
                             const warprsa_use_key *key);

#endif
