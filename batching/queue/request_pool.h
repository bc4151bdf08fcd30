/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The request slots of a queue: their memory, and how an answer passes from a
 * worker to its caller. Knows no device. free_slots.h has who gets one.
 */
#ifndef WARPRSA_BATCHING_QUEUE_REQUEST_POOL_H
#define WARPRSA_BATCHING_QUEUE_REQUEST_POOL_H

#include <stdbool.h>

#include "batching/queue/free_slots.h"
#include "batching/queue/queue_types.h"
#include "batching/queue/request.h"

/* Allocates; false: no memory. The slots hold secrets, and lie in memory for
 * secrets. The slots that are used most come first, so that they are locked if
 * not all slots can be. */
bool warprsa_slots_init(warprsa_slots *slots, unsigned count,
                        unsigned deadline_ms);
void warprsa_slots_free(warprsa_slots *slots);

/* The memory they take, in bytes. */
size_t warprsa_slots_bytes(const warprsa_slots *slots);

/* By the submitter, of a slot that is FILLING: whom to tell of the answer. */
void warprsa_slots_set_notify(warprsa_slots *slots, uint32_t index,
                              warprsa_notify notify);

/* Fetches what warprsa_slots_claim() will soon change, and another CPU has
 * written. */
static inline void warprsa_slots_prefetch(const warprsa_slots *slots,
                                          uint32_t index)
{
    __builtin_prefetch(&slots->request[index]);
    __builtin_prefetch(&slots->slot[index].word, 1);
}

/* By a worker that took the slot from its ring: QUEUED to RUNNING. False: it
 * was abandoned, and is free again. Either way *key is the request's key, and
 * its reference is the worker's to drop. */
bool warprsa_slots_claim(warprsa_slots *slots, uint32_t index,
                         warprsa_key **key);

/* By the worker of a RUNNING request that its device has given back: RUNNING to
 * QUEUED, to be put into its ring again with its reference to its key. False:
 * it was abandoned, and is free again; the reference is the worker's to drop.
 */
bool warprsa_slots_requeue(warprsa_slots *slots, uint32_t index);

/* By the submitter: QUEUED to ABANDONED. False: a worker has it. The slot stays
 * in its ring until a worker takes it from there. */
bool warprsa_slots_cancel(warprsa_slots *slots, warprsa_ticket ticket);

/* By the caller: gives a request up that has no answer yet. False: it has one,
 * or the caller's wake function is being called, or the ticket is an old one.
 */
bool warprsa_slots_withdraw(warprsa_slots *slots, warprsa_ticket ticket);

/* By a worker, of a RUNNING request: whether the caller has given it up. To
 * compute it would be in vain; warprsa_slots_complete() frees it. */
static inline bool warprsa_slots_is_abandoned(const warprsa_slots *slots,
                                              uint32_t index)
{
    return (atomic_load_explicit(&slots->slot[index].word,
                                 memory_order_relaxed) &
            WARPRSA_SLOT_STATE) == WARPRSA_SLOT_ABANDONED;
}

/*
 * Answers a RUNNING request, wakes the thread that sleeps for it, and returns
 * whom else to tell: the worker then calls `wake`, unless that is NULL. By that
 * time the answer can be collected, and so can all other answers of the batch,
 * if the worker gives them first. Frees the slot if the caller has given up.
 * The output is in the slot already.
 */
warprsa_notify warprsa_slots_complete(warprsa_slots *slots, uint32_t index,
                                      warprsa_answer answer,
                                      warprsa_outcome outcome);

/* Notifies the callers that wait for a notification and whose deadline has
 * passed without an answer, so that they collect a REFUSED. By a worker that
 * has nothing else to do: the one that has the request may hang in its
 * device's driver. */
void warprsa_slots_notify_expired(warprsa_slots *slots);

/* The same, but only if nobody has looked for a whole deadline. By a thread
 * that is no worker: all workers may hang. */
void warprsa_slots_look(warprsa_slots *slots);

/* warprsa_queue_collect() and warprsa_queue_wait(), which count what this
 * returns: `size` of what is DONE, and its outcome. */
warprsa_answer warprsa_slots_collect(warprsa_slots *slots,
                                     warprsa_ticket ticket, uint8_t *output,
                                     warprsa_size_class *size,
                                     warprsa_outcome *outcome);
warprsa_answer warprsa_slots_wait(warprsa_slots *slots, warprsa_ticket ticket,
                                  uint8_t *output, warprsa_size_class *size,
                                  warprsa_outcome *outcome);

/* The ticket of a slot that is FILLING. */
warprsa_ticket warprsa_slots_ticket(const warprsa_slots *slots, uint32_t index);

#endif
