/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who gets a request slot: see free_slots.h.
 */
#include "batching/queue/free_slots.h"

#include <string.h>

enum {
    RECLAIM_STEP = 64, /* slots looked at for one submission */
};

/* A stack's word after a change: one change more, and another top entry. */
static uint64_t next_top(uint64_t top, uint32_t entry)
{
    return (((top >> 32) + 1) << 32) | entry;
}

/* Stacks, and not a ring: in a ring a thread that is preempted while it puts
 * its slot back hides those put back after it, and the queue looks full. */
static void push_free(warprsa_slots *slots, uint32_t index)
{
    _Atomic uint64_t *stack = &slots->free[warprsa_thread_shard()].top;
    _Atomic uint32_t *next = &slots->request[index].next_free;
    uint64_t top = atomic_load_explicit(stack, memory_order_relaxed);

    do
        atomic_store_explicit(next, (uint32_t)top, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(
        stack, &top, next_top(top, index + 1), memory_order_release,
        memory_order_relaxed));
}

static bool pop_from(warprsa_slots *slots, _Atomic uint64_t *stack,
                     uint32_t *index)
{
    uint64_t top = atomic_load_explicit(stack, memory_order_acquire);

    while ((uint32_t)top != 0) {
        uint32_t next;

        *index = (uint32_t)top - 1;
        /* Stale if the slot was taken meanwhile. Then the count of changes has
         * moved, and the compare-and-swap fails. */
        next = atomic_load_explicit(&slots->request[*index].next_free,
                                    memory_order_relaxed);
        if (atomic_compare_exchange_weak_explicit(
                stack, &top, next_top(top, next), memory_order_acquire,
                memory_order_acquire))
            return true;
    }
    return false;
}

/* A slot that this thread has put back, or a thread of the same shard. */
static bool pop_own(warprsa_slots *slots, uint32_t *index)
{
    return pop_from(slots, &slots->free[warprsa_thread_shard()].top, index);
}

static bool pop_any(warprsa_slots *slots, uint32_t *index)
{
    unsigned first = warprsa_thread_shard();

    for (unsigned i = 0; i < WARPRSA_THREAD_SHARDS; i++)
        if (pop_from(slots,
                     &slots->free[(first + i) % WARPRSA_THREAD_SHARDS].top,
                     index))
            return true;
    return false;
}

void warprsa_slots_release(warprsa_slots *slots, uint32_t index)
{
    warprsa_slot *s = &slots->slot[index];
    uint32_t word = atomic_load_explicit(&s->word, memory_order_relaxed);

    explicit_bzero(s->number, s->bytes);
    explicit_bzero(warprsa_slot_output(s), s->bytes);
    atomic_store_explicit(&s->word,
                          (word & WARPRSA_SLOT_GENERATION) | WARPRSA_SLOT_FREE,
                          memory_order_release);
    push_free(slots, index);
}

/* Begins a new use of a slot. The first generation is not 0: in a forked child
 * the slots read as zeros, and no ticket of the parent must fit. */
static void begin_use(warprsa_slot *s, uint32_t word)
{
    uint32_t use = (word & WARPRSA_SLOT_GENERATION) + WARPRSA_SLOT_USE;

    if (use == 0)
        use = WARPRSA_SLOT_USE;
    atomic_store_explicit(&s->word, use | WARPRSA_SLOT_FILLING,
                          memory_order_relaxed);
}

static bool take_fresh(warprsa_slots *slots, uint32_t *index)
{
    uint32_t fresh = atomic_load_explicit(&slots->fresh, memory_order_relaxed);

    while (fresh < slots->count) {
        if (atomic_compare_exchange_weak_explicit(
                &slots->fresh, &fresh, fresh + 1, memory_order_relaxed,
                memory_order_relaxed)) {
            *index = fresh;
            return true;
        }
    }
    return false;
}

/* Frees the slot if its answer has waited too long to be collected. */
static bool reclaim_slot(warprsa_slots *slots, uint32_t index, uint64_t now_ns)
{
    warprsa_slot *s = &slots->slot[index];
    uint32_t word = atomic_load_explicit(&s->word, memory_order_acquire);

    if ((word & WARPRSA_SLOT_STATE) != WARPRSA_SLOT_DONE ||
        now_ns < atomic_load_explicit(&s->submitted_ns, memory_order_relaxed) +
                     2 * slots->deadline_ns + WARPRSA_MARGIN_NS)
        return false;
    if (!atomic_compare_exchange_strong_explicit(
            &s->word, &word,
            (word & WARPRSA_SLOT_GENERATION) | WARPRSA_SLOT_COLLECTING,
            memory_order_acquire, memory_order_relaxed))
        return false;
    warprsa_slots_release(slots, index);
    return true;
}

/* Looks at the next few slots only. The submissions that find no free slot
 * share the search through all of them. */
static bool reclaim(warprsa_slots *slots, uint64_t now_ns)
{
    unsigned step = slots->count < RECLAIM_STEP ? slots->count : RECLAIM_STEP;
    uint32_t first =
        atomic_fetch_add_explicit(&slots->reclaim, step, memory_order_relaxed);
    bool some = false;

    for (unsigned i = 0; i < step; i++)
        some |= reclaim_slot(slots, (first + i) % slots->count, now_ns);
    return some;
}

bool warprsa_slots_acquire(warprsa_slots *slots, uint64_t now_ns,
                           uint32_t *index)
{
    warprsa_slot *s;

    /* First a slot of this thread's own stack: few callers then stay within few
     * cache lines. Another thread's stack last: its owner would have to go and
     * take from somebody else's in turn. */
    if (!pop_own(slots, index) && !take_fresh(slots, index) &&
        !pop_any(slots, index)) {
        if (!reclaim(slots, now_ns) || !pop_any(slots, index))
            return false;
    }
    s = &slots->slot[*index];
    begin_use(s, atomic_load_explicit(&s->word, memory_order_acquire));
    return true;
}
