/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A request slot: plain data of fixed size without pointers, so that a region
 * of them can be mapped. Its word says whose it is.
 *
 *   FREE        in the stack of free slots, or never used
 *   FILLING     a submitter's
 *   QUEUED      in the ring of its size class; the caller may abandon it
 *   RUNNING     a worker's; the caller may abandon it
 *   DONE        answered; the caller's to collect
 *   COLLECTING  the caller's, or a submitter's who wants the slot back because
 *               nobody came for the answer
 *   ABANDONED   the caller gave up; the worker's to free
 *
 * Whoever moves the word with a compare-and-swap owns what follows: a caller
 * giving up and a worker answering can't both win. Three more facts share the
 * word so that the same swap decides on them: SLEEPER (a caller sleeps on the
 * word), NOTIFYING (a thread is inside the caller's wake function; nobody else
 * moves the state) and NOTIFIED (wake was called). The generation tells this use
 * of the slot from those before and after it.
 */
#ifndef WARPRSA_SLOT_H
#define WARPRSA_SLOT_H

#include <stdatomic.h>
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
#define WARPRSA_SLOT_NOTIFYING  UINT32_C(0x10)
#define WARPRSA_SLOT_NOTIFIED   UINT32_C(0x20)
#define WARPRSA_SLOT_GENERATION UINT32_C(0xffffffc0)
#define WARPRSA_SLOT_USE        UINT32_C(0x40) /* one generation */

typedef struct warprsa_slot {
    _Alignas(64) _Atomic uint32_t word;
    uint32_t bytes;                /* of the modulus */
    uint32_t size;                 /* warprsa_size_class */
    uint32_t answer;               /* warprsa_answer, once DONE */
    uint32_t reason;               /* warprsa_cpu_reason, if REFUSED */
    _Atomic uint64_t submitted_ns; /* atomic: looked at as a hint */
    _Alignas(64) uint8_t input[WARPRSA_MODULUS_BYTES_MAX];
    uint8_t output[WARPRSA_MODULUS_BYTES_MAX];
} warprsa_slot;

_Static_assert(sizeof(warprsa_slot) == 1088, "no padding in a mapped region");

#endif
