/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Turns by owner. A thread lists entries, such as sessions, that have work to
 * do; each entry has an owner. In a round every owner has one turn, however
 * many entries it has; its other entries keep their order for the next rounds.
 * So an owner waits for one turn of each other owner.
 *
 * The time of each function grows with the number of owners, not of entries.
 * For one thread; no locks.
 */
#ifndef WARPRSA_BATCHING_DAEMON_PROCESS_ROUNDS_H
#define WARPRSA_BATCHING_DAEMON_PROCESS_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

TAILQ_HEAD(warprsa_rounds_list, warprsa_rounds_entry);

/* Part of what is listed; all zeros at first. */
typedef struct warprsa_rounds_entry {
    TAILQ_ENTRY(warprsa_rounds_entry) link; /* of `firsts` or `others` */
    uint64_t owner;
    bool listed;
    /* If this is its owner's first entry: the entries behind it, and the round
     * in which it became the first. */
    bool is_first;
    struct warprsa_rounds_list others;
    uint64_t round;
} warprsa_rounds_entry;

typedef struct warprsa_rounds {
    /* The first entry of each owner. Owners that still have their turn in this
     * round come first. */
    struct warprsa_rounds_list firsts;
    unsigned count; /* things of all owners */
    uint64_t round;
} warprsa_rounds;

void warprsa_rounds_init(warprsa_rounds *rounds);

/* Adds an entry at the end of this owner's, unless it is listed. */
void warprsa_rounds_add(warprsa_rounds *rounds, warprsa_rounds_entry *entry,
                        uint64_t owner);

/* Takes an entry off the list, also within a round. Does nothing if it isn't
 * listed. */
void warprsa_rounds_remove(warprsa_rounds *rounds, warprsa_rounds_entry *entry);

/* Begins a round of the owners that have entries now. */
void warprsa_rounds_begin(warprsa_rounds *rounds);

/* Takes the entry whose turn it is off the list; it may be added again at once.
 * NULL: the round is over. */
warprsa_rounds_entry *warprsa_rounds_next(warprsa_rounds *rounds);

#endif
