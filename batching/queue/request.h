/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What requests consist of, where they lie, and chains of them. A request slot
 * is plain data of fixed size without pointers, so that an array of them can be
 * mapped. Its word says who owns it.
 *
 *   FREE        on a stack of free slots, or never used
 *   FILLING     owned by a submitter
 *   QUEUED      in the ring of its size class; the caller may abandon it
 *   RUNNING     owned by a worker; the caller may abandon it
 *   DONE        answered; the caller may collect it
 *   COLLECTING  owned by the caller, or by a submitter that takes the slot back
 *               because nobody came for the answer
 *   ABANDONED   the caller gave up; a worker frees it
 *
 * A thread that moves the word with a compare-and-swap owns what follows: a
 * caller that gives up and a worker that answers cannot both win. Two more
 * facts share the word so that the same swap decides on them: SLEEPER (a caller
 * sleeps on the word) and NOTIFIED (a thread calls the caller's wake function,
 * or has called it, before there is an answer). The generation tells this use
 * of the slot from those before and after it.
 */
#ifndef WARPRSA_BATCHING_QUEUE_REQUEST_H
#define WARPRSA_BATCHING_QUEUE_REQUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "batching/base/thread_shard.h"
#include "gpu/engine.h"

enum {
    WARPRSA_SLOT_FREE,
    WARPRSA_SLOT_FILLING,
    WARPRSA_SLOT_QUEUED,
    WARPRSA_SLOT_RUNNING,
    WARPRSA_SLOT_DONE,
    WARPRSA_SLOT_COLLECTING,
    WARPRSA_SLOT_ABANDONED,
};

#define WARPRSA_SLOT_STATE      UINT32_C(0x7)
#define WARPRSA_SLOT_SLEEPER    UINT32_C(0x8)
#define WARPRSA_SLOT_NOTIFIED   UINT32_C(0x10)
#define WARPRSA_SLOT_GENERATION UINT32_C(0xffffffe0)
#define WARPRSA_SLOT_USE        UINT32_C(0x20) /* one generation */

typedef struct warprsa_slot {
    _Alignas(64) _Atomic uint32_t word;
    uint32_t bytes;                /* of the modulus */
    uint32_t size;                 /* warprsa_size_class */
    uint32_t answer;               /* warprsa_answer, once DONE */
    uint16_t reason;               /* warprsa_cpu_reason, if REFUSED */
    uint16_t on_cpus;              /* if DONE: see warprsa_outcome */
    _Atomic uint64_t submitted_ns; /* atomic: others read it as a hint */
    /* The input and, from OUTPUT on, the output. A longer number takes all of
     * it: the output replaces the input once the batch has ended. */
    _Alignas(64) uint8_t number[WARPRSA_MODULUS_BYTES_MAX];
} warprsa_slot;

enum {
    WARPRSA_SLOT_OUTPUT = WARPRSA_MODULUS_BYTES_MAX / 2,
};

_Static_assert(sizeof(warprsa_slot) == 1088, "no padding in a mapped region");

/* Whether input and output share their memory. */
static inline bool warprsa_slot_is_shared(const warprsa_slot *s)
{
    return s->bytes > WARPRSA_SLOT_OUTPUT;
}

/* Where the answer is, once the slot is DONE. */
static inline uint8_t *warprsa_slot_output(warprsa_slot *s)
{
    return s->number + (warprsa_slot_is_shared(s) ? 0 : WARPRSA_SLOT_OUTPUT);
}

/* What a request needs beside its slot: this process's pointers, which cannot
 * be mapped elsewhere. Written by the submitter before the slot is QUEUED. */
typedef struct warprsa_request {
    /* One reference, dropped by the thread that answers. */
    struct warprsa_key *key;
    /* A warprsa_notify. Atomic: read by threads that may find that they come
     * too late for this use of the slot. */
    void (*_Atomic wake)(void *arg);
    void (*_Atomic drop)(void *arg);
    void *_Atomic arg;
    _Atomic uint32_t next_free; /* while the slot is free: the next one on the
                                   stack, plus 1, or 0 */
    uint32_t next_in_chain;     /* while it is in a chain; plus 1, or 0 */
    uint32_t failovers;         /* devices that have given it back */
} warprsa_request;

/* A chain of RUNNING requests that workers have set aside, in the order in
 * which they came; linked through the requests, so that to set one aside cannot
 * fail. All zeros: empty. Its user has a lock for it. */
typedef struct warprsa_request_chain {
    uint32_t first, last; /* slots, plus 1; first 0: empty */
} warprsa_request_chain;

/* A stack of free slots that have been used before. `top` holds the top slot's
 * index plus 1, or 0, in its low half. The high half counts changes: it tells
 * the stack from an earlier one with the same top (the ABA problem). */
typedef struct warprsa_free_slots {
    _Alignas(64) _Atomic uint64_t top;
} warprsa_free_slots;

typedef struct warprsa_slots {
    warprsa_slot *slot;
    warprsa_request *request;
    unsigned count;
    uint64_t deadline_ns;       /* from submission */
    _Atomic uint64_t looked_ns; /* when somebody last looked for expired ones */
    warprsa_free_slots free[WARPRSA_THREAD_SHARDS];
    _Alignas(64) _Atomic uint32_t fresh; /* slots never used yet: from here */
    _Atomic uint32_t reclaim;            /* where the next search begins */
} warprsa_slots;

/* Appends a RUNNING request to a chain; takes the first one from it. False: it
 * is empty. */
static inline void warprsa_slots_chain(warprsa_slots *slots,
                                       warprsa_request_chain *chain,
                                       uint32_t index)
{
    slots->request[index].next_in_chain = 0;
    if (chain->first == 0)
        chain->first = index + 1;
    else
        slots->request[chain->last - 1].next_in_chain = index + 1;
    chain->last = index + 1;
}

static inline bool warprsa_slots_unchain(warprsa_slots *slots,
                                         warprsa_request_chain *chain,
                                         uint32_t *index)
{
    if (chain->first == 0)
        return false;
    *index = chain->first - 1;
    chain->first = slots->request[*index].next_in_chain;
    return true;
}

#endif
