/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Turns by owner: a thread's list of things that have something to do, each of
 * which is somebody's. In a round every owner has one turn, however many things
 * of it are on the list; the others stay for the next round, in their order. So
 * nobody waits longer for more of another owner's things, but for one turn.
 *
 * A round looks at the whole list, which is some nanoseconds for each entry,
 * where a turn is 0.1 ms and more.
 *
 * One thread's; no locks.
 */
#ifndef WARPRSA_BATCHING_DAEMON_ROUNDS_H
#define WARPRSA_BATCHING_DAEMON_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

enum {
    /* Owners that have a turn in a round; more wait for the next one. */
    WARPRSA_ROUND_OWNERS = 64,
};

/* Part of a thing; zeros at first. */
typedef struct warprsa_rounds_entry {
    TAILQ_ENTRY(warprsa_rounds_entry) link;
    uint64_t owner;
    bool listed;
} warprsa_rounds_entry;

typedef struct warprsa_rounds {
    TAILQ_HEAD(, warprsa_rounds_entry) list;
    unsigned count; /* on the list */
    /* The round: what is looked at next, how many more are of this round, and
     * whose turn it was. */
    warprsa_rounds_entry *next;
    unsigned left, owners;
    uint64_t served[WARPRSA_ROUND_OWNERS];
} warprsa_rounds;

void warprsa_rounds_init(warprsa_rounds *rounds);

/* Adds an entry of this owner at the end, unless it is listed. */
void warprsa_rounds_add(warprsa_rounds *rounds, warprsa_rounds_entry *entry,
                        uint64_t owner);

/* Takes one off the list, also within a round; nothing if it isn't there. */
void warprsa_rounds_remove(warprsa_rounds *rounds, warprsa_rounds_entry *entry);

/* Begins a round, of the entries that are listed now. */
void warprsa_rounds_begin(warprsa_rounds *rounds);

/* Whose turn it is, taken off the list; it may be added again at once. NULL:
 * the round is over. */
warprsa_rounds_entry *warprsa_rounds_next(warprsa_rounds *rounds);

#endif
