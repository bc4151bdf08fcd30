/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A request slot: plain data of fixed size without pointers, so that an array
 * of them can be mapped. Its word says who owns it.
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

#endif
