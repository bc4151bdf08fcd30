/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who gets a request slot, and where it goes afterwards: stacks of free slots,
 * one for each thread shard, and the slots that nobody has used yet.
 */
#ifndef WARPRSA_BATCHING_QUEUE_FREE_SLOTS_H
#define WARPRSA_BATCHING_QUEUE_FREE_SLOTS_H

#include "batching/queue/request.h"

/* How much longer than the deadline a sleeping caller waits, so that a worker
 * that notices the missed deadline at the same moment can still answer with
 * the reason. */
#define WARPRSA_MARGIN_NS UINT64_C(100000000)

/* Takes a free slot, now FILLING; if there is none, one whose answer nobody
 * collected in twice the deadline. now_ns: warprsa_clock_ns(). False: none.
 * Any thread. */
bool warprsa_slots_acquire(warprsa_slots *slots, uint64_t now_ns,
                           uint32_t *index);

/* Wipes a slot and gives it back. By its owner, once no ring holds it. */
void warprsa_slots_release(warprsa_slots *slots, uint32_t index);

#endif
