/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The request slots of a queue: their memory, who gets one, and how an answer
 * passes from a worker to its caller. Knows no device.
 */
#ifndef WARPRSA_SLOTS_H
#define WARPRSA_SLOTS_H

#include <stdbool.h>

#include "batching/base/thread_shard.h"
#include "batching/queue.h"
#include "batching/slot.h"

/* What a request needs beside its slot and can't be mapped: this process's
 * pointers. Written by the submitter before the slot is QUEUED. */
typedef struct warprsa_request {
    warprsa_key *key; /* one reference, dropped by whoever answers */
    warprsa_notify notify;
    _Atomic uint32_t next_free; /* while the slot is: as in `top`, below */
} warprsa_request;

/* Free slots that have been used before: number + 1 of the top one, or 0, and
 * above that a count of changes, which tells a stack from an earlier one with
 * the same top. */
typedef struct warprsa_free_slots {
    _Alignas(64) _Atomic uint64_t top;
} warprsa_free_slots;

typedef struct warprsa_slots {
    warprsa_slot *slot;
    warprsa_request *request;
    unsigned count;
    uint64_t deadline_ns; /* a caller's, from submission */
    warprsa_free_slots free[WARPRSA_THREAD_SHARDS];
    _Alignas(64) _Atomic uint32_t fresh; /* slots never used yet: from here */
    _Atomic uint32_t reclaim;            /* where the next search begins */
} warprsa_slots;

/* How long a sleeping caller outlasts the deadline, so that a worker that
 * finds out at the same moment can still say why. */
#define WARPRSA_MARGIN_NS UINT64_C(100000000)

/* Allocates; false: no memory. Secrets live here: kept out of core dumps and
 * forked children, and out of swap where the limits allow it. */
bool warprsa_slots_init(warprsa_slots *slots, unsigned count,
                        unsigned deadline_ms);
void warprsa_slots_free(warprsa_slots *slots);

/* The memory they take. */
size_t warprsa_slots_bytes(const warprsa_slots *slots);

/* Takes a free slot for FILLING; if there is none, one whose answer nobody
 * came for in twice the deadline. False: none. Any thread. */
bool warprsa_slots_acquire(warprsa_slots *slots, uint64_t now_ns,
                           uint32_t *index);

/* warprsa_slots_claim() will be called for this one soon: fetches what that
 * changes, which another CPU has written. */
static inline void warprsa_slots_prefetch(const warprsa_slots *slots,
                                          uint32_t index)
{
    __builtin_prefetch(&slots->request[index]);
    __builtin_prefetch(&slots->slot[index].word, 1);
}

/* QUEUED to RUNNING. False: abandoned; the slot is free again. Either way
 * *key is the request's, and its reference the caller's to drop. */
bool warprsa_slots_claim(warprsa_slots *slots, uint32_t index,
                         warprsa_key **key);

/* QUEUED to ABANDONED by the submitter himself; false: a worker has it. The
 * slot stays in its ring. */
bool warprsa_slots_cancel(warprsa_slots *slots, warprsa_ticket ticket);

/* Answers a RUNNING request and tells its caller; frees the slot if he has
 * given up. The output is in the slot already. */
void warprsa_slots_complete(warprsa_slots *slots, uint32_t index,
                            warprsa_answer answer, warprsa_cpu_reason reason);

/* Wakes the callers who don't sleep themselves and whose deadline has passed
 * without an answer, so that they come and help themselves. For a worker that
 * has nothing better to do: the one that holds the request may hang in its
 * device's driver. */
void warprsa_slots_notify_expired(warprsa_slots *slots);

/* warprsa_queue_collect() and _wait(), counted by the caller: if REFUSED, by
 * `reason`; if DONE, by `size`. */
warprsa_answer warprsa_slots_collect(warprsa_slots *slots,
                                     warprsa_ticket ticket, uint8_t *output,
                                     warprsa_size_class *size,
                                     warprsa_cpu_reason *reason);
warprsa_answer warprsa_slots_wait(warprsa_slots *slots, warprsa_ticket ticket,
                                  uint8_t *output, warprsa_size_class *size,
                                  warprsa_cpu_reason *reason);

/* The ticket of a slot being FILLED. */
warprsa_ticket warprsa_slots_ticket(const warprsa_slots *slots, uint32_t index);

#endif
