/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Uses of keys that GPU hosts have, while no host has them yet: which one a
 * host gets next. Owners, the daemon's users, have turns, so that nobody waits
 * for the backlog of somebody else. A use that a host has sent back comes
 * before the others of its owner, and never goes to a host again that has
 * refused it.
 *
 * Every function is called under the lock of the uses (uses_core.h).
 */
#ifndef WARPRSA_BATCHING_REMOTE_USES_WAITING_USES_H
#define WARPRSA_BATCHING_REMOTE_USES_WAITING_USES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "batching/daemon/server/use_operations.h"
#include "batching/remote/engine/hosts.h"

enum {
    WARPRSA_USE_OWNER_BUCKETS = 256,
    /* Of one owner, waiting or under way. What comes then is asked for again by
     * its client. */
    WARPRSA_USES_OF_OWNER_MAX = 65536,
};

struct warprsa_use_key;
struct warprsa_use_owner;

/* A use on its way. */
typedef struct warprsa_remote_use {
    warprsa_use_task *task; /* NULL: answered; a host may still answer, too */
    struct warprsa_use_owner *owner;
    struct warprsa_use_key *key;
    uint64_t deadline_ns;
    uint64_t sent_ns; /* to the host that has it */
    uint32_t refused; /* a bit for each place of a host that it never goes to */
    uint32_t lacks;   /* the same of those that have said they lack the key, or
                         have no number for it */
    bool is_again;    /* if it waits: a host has sent it back */
    /* Of all that have no answer, in the order of deadlines. */
    TAILQ_ENTRY(warprsa_remote_use) all;
    /* Of those that wait, or of a host's as they were sent. */
    TAILQ_ENTRY(warprsa_remote_use) link;
    bool is_sent; /* a host has it, under this number */
    uint32_t id;
    bool fills; /* the host had half of its window, or more, when it was sent */
    /* A thread writes its message; or looks at its answer, and ends it or lets
     * it wait again. Nobody else does meanwhile. */
    bool is_held;
} warprsa_remote_use;

TAILQ_HEAD(warprsa_remote_use_list, warprsa_remote_use);

/* Who asks. */
typedef struct warprsa_use_owner {
    uint64_t id;
    unsigned uses;                          /* of all kinds */
    struct warprsa_remote_use_list waiting; /* in the order of arrival */
    struct warprsa_remote_use_list again;   /* that hosts have sent back */
    TAILQ_ENTRY(warprsa_use_owner) turn;    /* while there are some of these */
    LIST_ENTRY(warprsa_use_owner) bucket;
    /* The host in a place gets none of its uses before. */
    uint64_t paused_until_ns[WARPRSA_REMOTE_HOSTS_MAX];
} warprsa_use_owner;

typedef struct warprsa_waiting_uses {
    TAILQ_HEAD(, warprsa_use_owner) turns; /* the next first */
    LIST_HEAD(, warprsa_use_owner) owners[WARPRSA_USE_OWNER_BUCKETS];
    unsigned count; /* of both kinds */
} warprsa_waiting_uses;

void warprsa_waiting_uses_init(warprsa_waiting_uses *waiting);

/* Makes a use for an owner. NULL: no memory, or the owner has too many. */
warprsa_remote_use *warprsa_remote_use_new(warprsa_waiting_uses *waiting,
                                           uint64_t owner);

/* Frees one that does not wait. */
void warprsa_remote_use_free(warprsa_remote_use *use);

/* Adds a use behind those of its owner, or behind those of its owner that hosts
 * have sent back. */
void warprsa_waiting_uses_add(warprsa_waiting_uses *waiting,
                              warprsa_remote_use *use);
void warprsa_waiting_uses_add_again(warprsa_waiting_uses *waiting,
                                    warprsa_remote_use *use);

/* Takes the next use for the host in a place; NULL: there is none now. */
warprsa_remote_use *warprsa_waiting_uses_take(warprsa_waiting_uses *waiting,
                                              unsigned place, uint64_t now_ns);

/* Takes a use out that waits. */
void warprsa_waiting_uses_remove(warprsa_waiting_uses *waiting,
                                 warprsa_remote_use *use);

#endif
