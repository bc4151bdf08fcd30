/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The ring by itself: numbers come out as they went in, each to one of the
 * threads that take, several at once.
 */
#include "tests/unit/support/unit_test.h"

#include <pthread.h>
#include <string.h>

#include "batching/base/ring.h"

enum {
    SIZE = 64, /* the smallest ring */
};

/* Takes up to `most` and asserts that they are first, first + 1, ... */
static uint32_t take_from(warprsa_ring *ring, uint32_t first, uint32_t most)
{
    uint32_t slots[2 * SIZE], head;
    uint32_t count = warprsa_ring_take(ring, slots, most);

    assert_true(count <= most);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(slots[i], first + i);
    assert_int_equal(warprsa_ring_peek(ring, &head), !warprsa_ring_empty(ring));
    if (!warprsa_ring_empty(ring))
        assert_int_equal(head, first + count);
    return count;
}

/* Makes a ring as it is once so many numbers have gone through it. */
static void begin_at(warprsa_ring *ring, uint32_t place)
{
    assert_true(warprsa_ring_init(ring, SIZE));
    atomic_store(&ring->head, place);
    atomic_store(&ring->tail, place);
    for (uint32_t i = 0; i < SIZE; i++)
        atomic_store(&ring->cells[(place + i) & ring->mask].sequence,
                     place + i);
}

/* Several times round, and past the wrap of positions. */
TEST(in_order)
{
    warprsa_ring ring;
    uint32_t put = 0, taken = 0;

    begin_at(&ring, UINT32_MAX - 5 * SIZE);
    assert_int_equal(take_from(&ring, 0, SIZE), 0);
    for (uint32_t round = 0; round < 1000; round++) {
        uint32_t most = round % (SIZE + 8);
        uint32_t waiting = put - taken;

        assert_int_equal(warprsa_ring_count(&ring), waiting);
        assert_int_equal(take_from(&ring, taken, most),
                         waiting < most ? waiting : most);
        taken += waiting < most ? waiting : most;
        for (uint32_t i = 0; i < round % 13 && put - taken < SIZE; i++)
            warprsa_ring_put(&ring, put++);
    }
    assert_true(put > 10 * SIZE);
    warprsa_ring_free(&ring);
}

/* Begins to put, as a thread that is preempted between the two steps. */
static warprsa_ring_cell *begin_put(warprsa_ring *ring, uint32_t *residency)
{
    *residency = atomic_fetch_add(&ring->tail, 1);
    return &ring->cells[*residency & ring->mask];
}

TEST(nothing_is_taken_past_an_unfinished_put)
{
    warprsa_ring ring;
    warprsa_ring_cell *cell;
    uint32_t place;

    assert_true(warprsa_ring_init(&ring, SIZE));
    for (uint32_t i = 0; i < 3; i++)
        warprsa_ring_put(&ring, i);
    cell = begin_put(&ring, &place);
    for (uint32_t i = 4; i < 9; i++)
        warprsa_ring_put(&ring, i);
    assert_int_equal(warprsa_ring_count(&ring), 9);
    assert_int_equal(take_from(&ring, 0, SIZE), 3);
    assert_int_equal(take_from(&ring, 3, SIZE), 0);
    atomic_store(&cell->slot, 3);
    atomic_store(&cell->sequence, place + 1);
    assert_int_equal(take_from(&ring, 3, SIZE), 6);
    assert_true(warprsa_ring_empty(&ring));
    warprsa_ring_free(&ring);
}

enum {
    PUTTERS = 3,
    TAKERS = 3,
    EACH = 40, /* numbers of a putter, in the ring or not */
    ROUNDS = 4000,
};

typedef struct shared {
    warprsa_ring ring;
    _Atomic uint32_t
        puts[PUTTERS * EACH]; /* of a number: odd, it is in there */
    _Atomic uint32_t taken;
} shared;

typedef struct party {
    pthread_t thread;
    shared *all;
    unsigned number;
    unsigned wrong; /* numbers that were not in the ring, or out of order */
} party;

static void *put_all(void *arg)
{
    party *me = arg;

    for (uint32_t i = 0; i < EACH * ROUNDS; i++) {
        uint32_t number = me->number * EACH + i % EACH;
        _Atomic uint32_t *puts = &me->all->puts[number];

        while (atomic_load(puts) & 1)
            sched_yield();
        atomic_fetch_add(puts, 1);
        warprsa_ring_put(&me->all->ring, number);
    }
    return NULL;
}

/* Numbers of one putter are put in turn: a taker gets them in that order. */
static void *take_all(void *arg)
{
    enum {
        MOST = 7
    };
    party *me = arg;
    uint32_t slots[MOST], last[PUTTERS] = {0};

    while (atomic_load(&me->all->taken) < PUTTERS * EACH * ROUNDS) {
        uint32_t count =
            warprsa_ring_take(&me->all->ring, slots, 1 + me->number % MOST);

        for (uint32_t i = 0; i < count; i++) {
            uint32_t puts = me->all->puts[slots[i]];
            uint32_t turn = puts / 2 * EACH + slots[i] % EACH + 1;
            uint32_t *before = &last[slots[i] / EACH];

            me->wrong += !(puts & 1) || turn <= *before;
            *before = turn;
            atomic_fetch_add(&me->all->puts[slots[i]], 1);
        }
        atomic_fetch_add(&me->all->taken, count);
        if (count == 0)
            sched_yield();
    }
    return NULL;
}

TEST(each_number_to_one_taker)
{
    static shared all;
    party parties[PUTTERS + TAKERS];

    memset(parties, 0, sizeof(parties));
    assert_true(warprsa_ring_init(&all.ring, PUTTERS * EACH));
    for (unsigned i = 0; i < PUTTERS + TAKERS; i++) {
        parties[i].all = &all;
        parties[i].number = i < PUTTERS ? i : 3 * (i - PUTTERS);
        assert_int_equal(pthread_create(&parties[i].thread, NULL,
                                        i < PUTTERS ? put_all : take_all,
                                        &parties[i]),
                         0);
    }
    for (unsigned i = 0; i < PUTTERS + TAKERS; i++) {
        pthread_join(parties[i].thread, NULL);
        assert_int_equal(parties[i].wrong, 0);
    }
    assert_int_equal(all.taken, PUTTERS * EACH * ROUNDS);
    assert_true(warprsa_ring_empty(&all.ring));
    for (unsigned i = 0; i < PUTTERS * EACH; i++)
        assert_int_equal(all.puts[i], 2 * ROUNDS);
    warprsa_ring_free(&all.ring);
}

RUN_TESTS(NULL, NULL)
