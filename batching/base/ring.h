/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A ring buffer of slot numbers that any number of threads put and take, after
 * Dmitry Vyukov's bounded queue. Each cell has a sequence number that says
 * whose turn it is. A thread that is preempted half way holds up only the
 * threads that wait for that very cell. There is always room (the caller sees
 * to that), so a thread that puts takes its position without looking.
 *
 * Concurrency Kit's ck_ring is no choice: there every putting thread spins
 * until all threads before it are done, and 200 threads of a server on few CPUs
 * then hand on one number per time slice.
 *
 * Positions count up for ever and wrap; position p is in the cell p & mask. The
 * sequence of that cell is p while it is free for the put at p, p + 1 while it
 * is filled, for the take at p, and p + size when it is free for the next
 * round.
 */
#ifndef WARPRSA_BATCHING_BASE_RING_H
#define WARPRSA_BATCHING_BASE_RING_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct warprsa_ring_cell {
    _Atomic uint32_t sequence;
    _Atomic uint32_t slot;
} warprsa_ring_cell;

typedef struct warprsa_ring {
    _Alignas(64) _Atomic uint32_t head; /* next position to take */
    _Alignas(64) _Atomic uint32_t tail; /* next position to put */
    _Alignas(64) warprsa_ring_cell *cells;
    uint32_t mask;
} warprsa_ring;

/* Makes an empty ring that holds `count` numbers; false: no memory. */
static inline bool warprsa_ring_init(warprsa_ring *ring, uint32_t count)
{
    uint32_t size = 64;

    while (size < count)
        size *= 2;
    ring->mask = size - 1;
    atomic_init(&ring->head, 0);
    atomic_init(&ring->tail, 0);
    ring->cells = calloc(size, sizeof(*ring->cells));
    if (ring->cells == NULL)
        return false;
    for (uint32_t i = 0; i < size; i++)
        atomic_init(&ring->cells[i].sequence, i);
    return true;
}

static inline void warprsa_ring_free(warprsa_ring *ring)
{
    free(ring->cells);
}

static inline size_t warprsa_ring_bytes(const warprsa_ring *ring)
{
    return (size_t)(ring->mask + 1) * sizeof(*ring->cells);
}

/*
 * Appends a number. The caller must see to it that the ring never holds more
 * than the `count` of init(). The cell may still be busy: a thread took its
 * number a whole round ago and was preempted before it could say so. Then this
 * thread yields the CPU.
 *
 * The last store is in the one total order of sequentially consistent
 * operations. So if one thread puts and then looks for a sleeper, and another
 * says that it sleeps and then looks here, at least one sees the other.
 */
static inline void warprsa_ring_put(warprsa_ring *ring, uint32_t slot)
{
    uint32_t position =
        atomic_fetch_add_explicit(&ring->tail, 1, memory_order_relaxed);
    warprsa_ring_cell *cell = &ring->cells[position & ring->mask];

    while (atomic_load_explicit(&cell->sequence, memory_order_acquire) !=
           position)
        sched_yield();
    atomic_store_explicit(&cell->slot, slot, memory_order_relaxed);
    atomic_store(&cell->sequence, position + 1);
}

/* The oldest number, without taking it. A hint: another thread may take it at
 * any moment. False when empty. */
static inline bool warprsa_ring_peek(const warprsa_ring *ring, uint32_t *slot)
{
    for (;;) {
        uint32_t position = atomic_load(&ring->head);
        const warprsa_ring_cell *cell = &ring->cells[position & ring->mask];
        int32_t turn = (int32_t)(atomic_load(&cell->sequence) - (position + 1));

        if (turn < 0)
            return false;
        *slot = atomic_load_explicit(&cell->slot, memory_order_relaxed);
        if (turn == 0)
            return true;
    }
}

/* How many positions from `head` on are filled, `most` at most, and the numbers
 * there. The numbers are right if `head` is still the head afterwards. */
static inline uint32_t warprsa_ring_peek_many(const warprsa_ring *ring,
                                              uint32_t head, uint32_t *slots,
                                              uint32_t most)
{
    uint32_t count = 0;

    while (count < most) {
        const warprsa_ring_cell *cell =
            &ring->cells[(head + count) & ring->mask];

        if (atomic_load(&cell->sequence) != head + count + 1)
            break;
        slots[count++] =
            atomic_load_explicit(&cell->slot, memory_order_relaxed);
    }
    return count;
}

/*
 * Takes the oldest numbers, `most` at most; returns how many. 0 when empty, or
 * when the thread that puts the oldest one has not finished. That thread will
 * notify the eventcount when it has.
 *
 * All numbers are taken in one step. Threads that take one by one hand the
 * head's cache line to each other for each number: 32 threads of four devices
 * took no more than 1.7 million a second together.
 */
static inline uint32_t warprsa_ring_take(warprsa_ring *ring, uint32_t *slots,
                                         uint32_t most)
{
    uint32_t head = atomic_load(&ring->head);
    uint32_t count;

    for (;;) {
        uint32_t now;

        count = warprsa_ring_peek_many(ring, head, slots, most);
        if (count > 0 && atomic_compare_exchange_strong_explicit(
                             &ring->head, &head, head + count,
                             memory_order_relaxed, memory_order_relaxed))
            break;
        now = atomic_load(&ring->head);
        if (count == 0 && now == head)
            return 0;
        head = now;
    }
    for (uint32_t i = 0; i < count; i++)
        atomic_store_explicit(&ring->cells[(head + i) & ring->mask].sequence,
                              head + i + ring->mask + 1, memory_order_release);
    return count;
}

static inline bool warprsa_ring_empty(const warprsa_ring *ring)
{
    uint32_t slot;

    return !warprsa_ring_peek(ring, &slot);
}

/* How many numbers are in the ring or about to be; a hint. */
static inline uint32_t warprsa_ring_count(const warprsa_ring *ring)
{
    uint32_t head = atomic_load(&ring->head);
    int32_t count = (int32_t)(atomic_load(&ring->tail) - head);

    return count > 0 ? (uint32_t)count : 0;
}

#endif
