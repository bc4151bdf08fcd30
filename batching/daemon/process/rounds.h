/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Turns by owner: a thread's things that have something to do, each of which is
 * somebody's. In a round every owner has one turn, however many things of it
 * there are; the others stay for the next rounds, in their order. So nobody
 * waits longer for more of another owner's things, but for one turn.
 *
 * Each function takes as long as there are owners; how many things they have
 * makes no difference.
 *
 * One thread's; no locks.
 */
#ifndef WARPRSA_BATCHING_DAEMON_PROCESS_ROUNDS_H
#define WARPRSA_BATCHING_DAEMON_PROCESS_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

TAILQ_HEAD(warprsa_rounds_list, warprsa_rounds_entry);

/* Part of a thing; zeros at first. */
typedef struct warprsa_rounds_entry {
    TAILQ_ENTRY(warprsa_rounds_entry) link; /* of `firsts` or `others` */
    uint64_t owner;
    bool listed;
    /* If it is the first of its owner: those behind it, and the round in which
     * it became the first. */
    bool is_first;
    struct warprsa_rounds_list others;
    uint64_t round;
} warprsa_rounds_entry;

typedef struct warprsa_rounds {
    /* The first thing of each owner that has any. Those that have their turn in
     * this round come first. */
    struct warprsa_rounds_list firsts;
    unsigned count; /* things of all owners */
    uint64_t round;
} warprsa_rounds;

void warprsa_rounds_init(warprsa_rounds *rounds);

/* Adds an entry of this owner at the end, unless it is listed. */
void warprsa_rounds_add(warprsa_rounds *rounds, warprsa_rounds_entry *entry,
                        uint64_t owner);

/* Takes one off the list, also within a round; nothing if it isn't there. */
void warprsa_rounds_remove(warprsa_rounds *rounds, warprsa_rounds_entry *entry);

/* Begins a round, of the owners that have something now. */
void warprsa_rounds_begin(warprsa_rounds *rounds);

/* Whose turn it is, taken off the list; it may be added again at once. NULL:
 * the round is over. */
warprsa_rounds_entry *warprsa_rounds_next(warprsa_rounds *rounds);

#endif
