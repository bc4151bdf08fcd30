/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Requests of several owners, taken in turn: see fair_queue.h.
 */
#include "batching/queue/fair_queue.h"

#include <string.h>

void warprsa_turns_init(warprsa_turns *turns, warprsa_slots *slots,
                        _Atomic uint64_t *reached)
{
    memset(turns, 0, sizeof(*turns));
    turns->slots = slots;
    turns->reached = reached;
    TAILQ_INIT(&turns->list);
}

void warprsa_turn_init(warprsa_turn *turn, _Atomic uint64_t *used)
{
    memset(turn, 0, sizeof(*turn));
    turn->used = used;
}

static uint64_t used_by(const warprsa_turn *turn)
{
    return atomic_load_explicit(turn->used, memory_order_relaxed);
}

static void raise_to(_Atomic uint64_t *value, uint64_t least)
{
    uint64_t old = atomic_load_explicit(value, memory_order_relaxed);

    while (old < least &&
           !atomic_compare_exchange_weak_explicit(
               value, &old, least, memory_order_relaxed, memory_order_relaxed))
        ;
}

/* A power takes as many products as its exponent has bits, of numbers that are
 * as long: the cube of the length, in 512 bits. 2^52 requests of the largest
 * class cost 2^64: the sum does not overflow. */
static uint64_t cost_of(warprsa_size_class size)
{
    const uint64_t length = warprsa_class_bits(size) / 512;

    return length * length * length;
}

void warprsa_turns_add(warprsa_turns *turns, warprsa_turn *turn,
                       warprsa_size_class size, uint32_t slot)
{
    if (turn->count++ == 0) {
        raise_to(turn->used,
                 atomic_load_explicit(turns->reached, memory_order_relaxed));
        TAILQ_INSERT_TAIL(&turns->list, turn, link);
    }
    warprsa_slots_chain(turns->slots, &turn->requests[size], slot);
    atomic_fetch_add(&turns->count[size], 1);
}

static bool has_any(const warprsa_turn *turn, warprsa_class_set classes)
{
    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        if ((classes >> c & 1) != 0 && turn->requests[c].first != 0)
            return true;
    return false;
}

warprsa_turn *warprsa_turns_next(const warprsa_turns *turns,
                                 warprsa_class_set classes)
{
    warprsa_turn *turn, *best = NULL;

    TAILQ_FOREACH (turn, &turns->list, link)
        if (has_any(turn, classes) &&
            (best == NULL || used_by(turn) < used_by(best)))
            best = turn;
    return best;
}

warprsa_size_class warprsa_turn_class(const warprsa_turns *turns,
                                      const warprsa_turn *turn,
                                      warprsa_class_set classes)
{
    uint64_t oldest_ns = UINT64_MAX;
    unsigned found = 0;

    for (unsigned c = 0; c < WARPRSA_CLASSES; c++) {
        const uint32_t first = turn->requests[c].first;
        uint64_t submitted_ns;

        if ((classes >> c & 1) == 0 || first == 0)
            continue;
        submitted_ns = atomic_load_explicit(
            &turns->slots->slot[first - 1].submitted_ns, memory_order_relaxed);
        if (submitted_ns < oldest_ns) {
            oldest_ns = submitted_ns;
            found = c;
        }
    }
    return (warprsa_size_class)found;
}

bool warprsa_turns_take(warprsa_turns *turns, warprsa_turn *turn,
                        warprsa_size_class size, uint32_t *slot)
{
    if (!warprsa_slots_unchain(turns->slots, &turn->requests[size], slot))
        return false;
    atomic_fetch_sub(&turns->count[size], 1);
    if (--turn->count == 0)
        TAILQ_REMOVE(&turns->list, turn, link);
    raise_to(turns->reached,
             atomic_fetch_add_explicit(turn->used, cost_of(size),
                                       memory_order_relaxed));
    return true;
}
