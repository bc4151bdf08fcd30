/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Requests of several owners, which are taken in turn: whose requests have cost
 * least is next, whatever the others have queued, so that nobody waits for the
 * backlog of somebody else.
 *
 * This is start-time fair queueing: P. Goyal, H. M. Vin, H. Cheng, "Start-time
 * fair queueing: a scheduling algorithm for integrated services packet
 * switching networks", IEEE/ACM Transactions on Networking 5(5), 1997. An owner
 * that had nothing here begins where the others stand: nobody saves up turns.
 * What a request costs is known by its size class beforehand; how long a batch
 * of a device takes is not.
 *
 * Several of these queues may count what the same owners use. Each has a lock
 * of its user's, under which all functions are called.
 */
#ifndef WARPRSA_BATCHING_QUEUE_FAIR_QUEUE_H
#define WARPRSA_BATCHING_QUEUE_FAIR_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "batching/queue/request.h"

/* Size classes: bit c for class c. */
typedef uint32_t warprsa_class_set;

/* The classes below `end`. */
static inline warprsa_class_set warprsa_classes_below(unsigned end)
{
    return (UINT32_C(1) << end) - 1;
}

static inline warprsa_class_set warprsa_class_alone(warprsa_size_class size)
{
    return UINT32_C(1) << size;
}

/* What one owner has in one of these queues. */
typedef struct warprsa_turn {
    warprsa_request_chain requests[WARPRSA_CLASSES]; /* in order of arrival */
    uint32_t count;                                  /* of all classes */
    _Atomic uint64_t *used; /* what all requests of this owner have cost */
    TAILQ_ENTRY(warprsa_turn) link; /* while count > 0 */
} warprsa_turn;

TAILQ_HEAD(warprsa_turn_list, warprsa_turn);

typedef struct warprsa_turns {
    warprsa_slots *slots;
    /* The most that an owner had used when a request of that owner was taken.
     * Shared by all queues that count the same owners' use. */
    _Atomic uint64_t *reached;
    struct warprsa_turn_list list;
    _Atomic uint32_t count[WARPRSA_CLASSES]; /* read by any thread */
} warprsa_turns;

/* Makes an empty queue, or an owner's part of one. What they point to outlives
 * them. */
void warprsa_turns_init(warprsa_turns *turns, warprsa_slots *slots,
                        _Atomic uint64_t *reached);
void warprsa_turn_init(warprsa_turn *turn, _Atomic uint64_t *used);

/* Adds a request behind those of its owner, whose turn this is. */
void warprsa_turns_add(warprsa_turns *turns, warprsa_turn *turn,
                       warprsa_size_class size, uint32_t slot);

/* Returns the owner that has used least, of those with requests of these
 * classes; NULL: there is none. */
warprsa_turn *warprsa_turns_next(const warprsa_turns *turns,
                                 warprsa_class_set classes);

/* Returns the class of the owner's oldest request among `classes`. There must
 * be one. */
warprsa_size_class warprsa_turn_class(const warprsa_turns *turns,
                                      const warprsa_turn *turn,
                                      warprsa_class_set classes);

/* Takes the owner's oldest request of a class, which the owner pays for. False:
 * there is none. */
bool warprsa_turns_take(warprsa_turns *turns, warprsa_turn *turn,
                        warprsa_size_class size, uint32_t *slot);

#endif
