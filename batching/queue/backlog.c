/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The requests that have yet to be taken: see backlog.h.
 */
#include "batching/queue/backlog.h"

static void free_rings(warprsa_backlog *backlog)
{
    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        warprsa_ring_free(&backlog->ring[c]);
}

bool warprsa_backlog_init(warprsa_backlog *backlog, warprsa_slots *slots,
                          unsigned count, _Atomic uint64_t *reached)
{
    bool done = true;

    warprsa_turns_init(&backlog->turns, slots, reached);
    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        done &= warprsa_ring_init(&backlog->ring[c], count);
    if (done && pthread_mutex_init(&backlog->turns_lock, NULL) == 0)
        return true;
    free_rings(backlog);
    return false;
}

void warprsa_backlog_free(warprsa_backlog *backlog)
{
    pthread_mutex_destroy(&backlog->turns_lock);
    free_rings(backlog);
}

void warprsa_backlog_abandon(warprsa_backlog *backlog)
{
    free_rings(backlog);
}

size_t warprsa_backlog_bytes(const warprsa_backlog *backlog)
{
    size_t bytes = 0;

    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        bytes += warprsa_ring_bytes(&backlog->ring[c]);
    return bytes;
}

uint32_t warprsa_backlog_count(const warprsa_backlog *backlog)
{
    uint32_t count = 0;

    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        count += warprsa_backlog_of(backlog, c);
    return count;
}

bool warprsa_backlog_has(const warprsa_backlog *backlog,
                         warprsa_class_set classes)
{
    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        if ((classes >> c & 1) != 0 &&
            (!warprsa_ring_empty(&backlog->ring[c]) ||
             atomic_load(&backlog->turns.count[c]) != 0))
            return true;
    return false;
}

bool warprsa_backlog_is_sorted(const warprsa_backlog *backlog)
{
    for (unsigned c = 0; c < WARPRSA_CLASSES; c++)
        if (atomic_load(&backlog->turns.count[c]) != 0)
            return true;
    return false;
}

bool warprsa_backlog_take_any(warprsa_backlog *backlog, warprsa_size_class size,
                              uint32_t *slot)
{
    warprsa_turns *turns = &backlog->turns;
    warprsa_turn *turn;
    bool taken;

    if (warprsa_ring_take(&backlog->ring[size], slot, 1) == 1)
        return true;
    if (atomic_load(&turns->count[size]) == 0)
        return false;
    pthread_mutex_lock(&backlog->turns_lock);
    turn = warprsa_turns_next(turns, warprsa_class_alone(size));
    taken = turn != NULL && warprsa_turns_take(turns, turn, size, slot);
    pthread_mutex_unlock(&backlog->turns_lock);
    return taken;
}
