/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Owners of keys, which are the users of the daemon: what one of them asks for
 * leaves the others room for keys and for requests.
 */
#include "batching/queue/queue_core.h"
#include "tests/unit/support/fake_queue.h"

#include <stdlib.h>
#include <time.h>

static warprsa_key *key_of_size(warprsa_queue *queue, uint64_t owner,
                                warprsa_size_class size, unsigned seed)
{
    warprsa_private_key key = fake_key(size, seed);
    uint8_t id[WARPRSA_KEY_ID_BYTES] = {(uint8_t)seed, (uint8_t)(seed >> 8)};
    warprsa_key *added = warprsa_queue_key(queue, owner, id, &key);

    assert_non_null(added);
    return added;
}

static warprsa_key *key_of_owner(warprsa_queue *queue, uint64_t owner,
                                 unsigned seed)
{
    return key_of_size(queue, owner, WARPRSA_CLASS_2048, seed);
}

/* One owner goes through hundreds of keys. It makes room for them itself, and
 * the keys of another one stay where they are. */
TEST_IN(many_keys_of_one_owner_leave_those_of_another, reset, NULL)
{
    enum {
        KEYS = 200,
        FEW = 4,
    };
    warprsa_queue_config config = fake_config();
    warprsa_key *few[FEW], *keys[KEYS];
    warprsa_queue *queue;

    config.keys_max = 3 * FEW;
    queue = fake_ready_queue(&config);
    for (unsigned i = 0; i < FEW; i++) {
        few[i] = key_of_owner(queue, 1000, i);
        assert_int_equal(fake_answer(queue, few[i], i), WARPRSA_DONE);
    }
    for (unsigned i = 0; i < KEYS; i++) {
        keys[i] = key_of_owner(queue, 1001, 100 + i);
        assert_int_equal(fake_answer(queue, keys[i], 100 + i), WARPRSA_DONE);
    }
    assert_int_equal(config.counters->keys_loaded, FEW + KEYS);
    assert_int_equal(config.counters->keys_evicted, KEYS - 2 * FEW);
    for (unsigned i = 0; i < FEW; i++)
        assert_int_equal(fake_answer(queue, few[i], i), WARPRSA_DONE);
    assert_int_equal(config.counters->keys_loaded, FEW + KEYS);
    /* A third owner gets room, at the cost of the one that has most. */
    assert_int_equal(fake_answer(queue, few[0], 0), WARPRSA_DONE);
    warprsa_key_release(keys[0]);
    keys[0] = key_of_owner(queue, 1002, 500);
    assert_int_equal(fake_answer(queue, keys[0], 500), WARPRSA_DONE);
    for (unsigned i = 0; i < FEW; i++)
        assert_int_equal(fake_answer(queue, few[i], i), WARPRSA_DONE);
    assert_int_equal(config.counters->keys_loaded, FEW + KEYS + 1);
    for (unsigned i = 0; i < FEW; i++)
        warprsa_key_release(few[i]);
    for (unsigned i = 0; i < KEYS; i++)
        warprsa_key_release(keys[i]);
    fake_close_queue(queue, &config);
    assert_int_equal(config.counters->keys_wiped, FEW + KEYS + 1);
    warprsa_counters_free(config.counters);
}

/* Keys that are made up without end cost so much memory and no more, which
 * another owner's do not count for. It goes back when they are released. */
TEST_IN(keys_of_an_owner_are_bounded, reset, NULL)
{
    enum {
        KEYS = 16384,
        MORE = 100,
    };
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key **keys = calloc(KEYS, sizeof(warprsa_key *));
    warprsa_key *other;

    assert_non_null(keys);
    for (unsigned i = 0; i < KEYS; i++)
        keys[i] = key_of_owner(queue, 1000, i);
    for (unsigned i = KEYS; i < KEYS + MORE; i++) {
        warprsa_private_key key = fake_key(WARPRSA_CLASS_2048, i);
        uint8_t id[WARPRSA_KEY_ID_BYTES] = {(uint8_t)i, (uint8_t)(i >> 8)};

        assert_null(warprsa_queue_key(queue, 1000, id, &key));
    }
    assert_int_equal(config.counters->keys, KEYS);
    other = key_of_owner(queue, 1001, KEYS + MORE);
    warprsa_key_release(other);
    warprsa_key_release(keys[0]);
    keys[0] = key_of_owner(queue, 1000, KEYS);
    for (unsigned i = 0; i < KEYS; i++)
        warprsa_key_release(keys[i]);
    assert_int_equal(config.counters->keys, 0);
    fake_finish(queue, &config);
    free(keys);
}

/* Owners come, and with each come those without keys are forgotten, while a
 * worker counts the loads of one that has some. For ThreadSanitizer. */
TEST_IN(owners_come_during_loads, reset, NULL)
{
    enum {
        OWNERS = 20,
    };
    const struct timespec pause = {.tv_nsec = 200000};
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);

    for (unsigned i = 0; i < OWNERS; i++) {
        warprsa_key *key = key_of_owner(queue, 1000, i), *other;
        fake_request r;

        fake_fill(&r, WARPRSA_CLASS_2048, i, i);
        assert_int_equal(fake_submit(queue, key, &r), WARPRSA_DONE);
        nanosleep(&pause, NULL); /* a lock would order what is to race */
        other = key_of_owner(queue, 2000 + i, OWNERS + i);
        assert_int_equal(warprsa_queue_wait(queue, r.ticket, r.output),
                         WARPRSA_DONE);
        assert_true(fake_is_right(&r));
        warprsa_key_release(other);
        warprsa_key_release(key);
    }
    assert_int_equal(config.counters->keys_loaded, OWNERS);
    fake_finish(queue, &config);
}

/* An owner whose keys take long to load has part of the slots; the others'
 * requests find room. */
TEST_IN(requests_that_wait_for_keys_leave_slots, reset, NULL)
{
    enum {
        SLOTS = 64,
        PART = SLOTS / 4,
    };
    warprsa_queue_config config = fake_config();
    fake_request r[SLOTS];
    warprsa_key *greedy, *other;
    warprsa_queue *queue;
    unsigned refused = 0;

    config.slots = SLOTS;
    config.engines[0].streams = 2;
    queue = fake_ready_queue(&config);
    greedy = key_of_owner(queue, 1001, 1);
    other = key_of_owner(queue, 1000, 2);
    assert_int_equal(fake_answer(queue, other, 2), WARPRSA_DONE);
    FAKE_SET(hold_load, true);
    for (unsigned i = 0; i < PART + 8; i++) {
        fake_fill(&r[i], WARPRSA_CLASS_2048, 1, i);
        assert_int_equal(fake_submit(queue, greedy, &r[i]), WARPRSA_DONE);
    }
    WAIT_UNTIL(warprsa_queue_depth(queue) == PART);
    assert_int_equal(fake_answer(queue, other, 2), WARPRSA_DONE);
    FAKE_SET(hold_load, false);
    for (unsigned i = 0; i < PART + 8; i++) {
        if (warprsa_queue_wait(queue, r[i].ticket, r[i].output) == WARPRSA_DONE)
            assert_true(fake_is_right(&r[i]));
        else
            refused++;
    }
    assert_int_equal(refused, 8);
    assert_int_equal(config.counters->cpu_reason[WARPRSA_CPU_KEY_RATE], 8);
    warprsa_key_release(greedy);
    warprsa_key_release(other);
    fake_finish(queue, &config);
}

/* Both owners have a key. Whoever gives it up first, it stays on the device for
 * the other, and is gone with the last one. */
TEST_IN(a_shared_key_goes_with_its_last_owner, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    const warprsa_counters *c = config.counters;
    warprsa_queue *queue = fake_ready_queue(&config);

    for (unsigned last = 0; last < 2; last++) {
        warprsa_key *key[2] = {key_of_owner(queue, 1000, 1),
                               key_of_owner(queue, 1001, 1)};
        warprsa_key *again = key_of_owner(queue, 1001, 1);

        assert_ptr_not_equal(key[0], key[1]);
        assert_ptr_equal(key[1], again);
        assert_int_equal(c->keys, 2);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(fake_answer(queue, key[i], 1), WARPRSA_DONE);
        assert_int_equal(c->keys_loaded, last + 1);
        warprsa_key_release(again);
        warprsa_key_release(key[1 - last]);
        /* Then it has been taken off the device. */
        WAIT_UNTIL(atomic_load(&queue->keys.unloads[0]) == 0);
        assert_int_equal(c->keys_wiped, last);
        assert_int_equal(fake_answer(queue, key[last], 1), WARPRSA_DONE);
        assert_int_equal(c->keys_loaded, last + 1);
        warprsa_key_release(key[last]);
        WAIT_UNTIL(c->keys_wiped == last + 1);
        FAKE_WAIT(fake.keys == 0);
        assert_int_equal(c->keys, 0);
    }
    fake_finish(queue, &config);
}

/* Where there is no room, a key that another owner has there, too, makes none:
 * the next one goes. */
TEST_IN(a_shared_key_makes_no_room_alone, reset, NULL)
{
    enum {
        ROOM = 4,
    };
    warprsa_queue_config config = fake_config();
    const warprsa_counters *c = config.counters;
    warprsa_key *mine[ROOM], *others[2], *fresh;
    warprsa_queue *queue;

    config.keys_max = ROOM;
    queue = fake_ready_queue(&config);
    for (unsigned i = 0; i < ROOM; i++) {
        mine[i] = key_of_owner(queue, 1000, i);
        assert_int_equal(fake_answer(queue, mine[i], i), WARPRSA_DONE);
    }
    for (unsigned i = 0; i < 2; i++) {
        others[i] = key_of_owner(queue, 1001, i);
        assert_int_equal(fake_answer(queue, others[i], i), WARPRSA_DONE);
    }
    assert_int_equal(c->keys_loaded, ROOM);
    fresh = key_of_owner(queue, 1002, 50);
    assert_int_equal(fake_answer(queue, fresh, 50), WARPRSA_DONE);
    assert_int_equal(c->keys_evicted, 1);
    assert_int_equal(c->keys_loaded, ROOM + 1);
    /* Those of the other owner, who has fewer, are where they were, and so is
     * the last one; the third had to go. */
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(fake_answer(queue, others[i], i), WARPRSA_DONE);
    assert_int_equal(fake_answer(queue, mine[3], 3), WARPRSA_DONE);
    assert_int_equal(c->keys_loaded, ROOM + 1);
    for (unsigned i = 0; i < ROOM; i++)
        warprsa_key_release(mine[i]);
    for (unsigned i = 0; i < 2; i++)
        warprsa_key_release(others[i]);
    warprsa_key_release(fresh);
    fake_finish(queue, &config);
}

/* An operation with a large key. Its key was loaded for it, or was there. */
static void answer_large(warprsa_queue *queue, warprsa_key *key, unsigned seed,
                         bool is_there)
{
    const unsigned before = fake.loads;
    fake_request r;

    fake_fill(&r, WARPRSA_CLASS_8192, seed, seed);
    assert_int_equal(fake_submit(queue, key, &r), WARPRSA_DONE);
    assert_int_equal(warprsa_queue_wait(queue, r.ticket, r.output),
                     WARPRSA_DONE);
    assert_true(fake_is_right(&r));
    assert_int_equal(fake.loads, before + !is_there);
}

/* A device takes so many large keys and no more. One of the owner with most of
 * these makes room, the one used longest ago, however many other keys another
 * owner has. No other key does. */
TEST_IN(large_keys_make_room_for_each_other, reset, NULL)
{
    enum {
        LARGE = 4,
        OTHERS = 10,
    };
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *large[LARGE], *others[OTHERS], *fresh[2];

    FAKE_SET(large_keys_max, LARGE);
    for (unsigned i = 0; i < OTHERS; i++) {
        others[i] = key_of_owner(queue, 1000, i);
        assert_int_equal(fake_answer(queue, others[i], i), WARPRSA_DONE);
    }
    for (unsigned i = 0; i < LARGE; i++) {
        large[i] = key_of_size(queue, 1001, WARPRSA_CLASS_8192, 50 + i);
        answer_large(queue, large[i], 50 + i, false);
    }
    answer_large(queue, large[0], 50, true);
    for (unsigned i = 0; i < 2; i++) {
        fresh[i] = key_of_size(queue, 1000, WARPRSA_CLASS_8192, 60 + i);
        answer_large(queue, fresh[i], 60 + i, false);
        assert_int_equal(config.counters->keys_evicted, 1 + i);
    }
    answer_large(queue, fresh[0], 60, true);
    answer_large(queue, large[0], 50, true);
    answer_large(queue, large[3], 53, true);
    for (unsigned i = 0; i < OTHERS; i++)
        assert_int_equal(fake_answer(queue, others[i], i), WARPRSA_DONE);
    assert_int_equal(config.counters->keys_loaded, OTHERS + LARGE + 2);
    answer_large(queue, large[1], 51, false); /* both owners have two */
    answer_large(queue, fresh[0], 60, true);
    answer_large(queue, fresh[1], 61, true);
    for (unsigned i = 0; i < OTHERS; i++)
        warprsa_key_release(others[i]);
    for (unsigned i = 0; i < LARGE; i++)
        warprsa_key_release(large[i]);
    for (unsigned i = 0; i < 2; i++)
        warprsa_key_release(fresh[i]);
    fake_finish(queue, &config);
}

/* If all of them are in use, another one is refused, and no other key goes. */
TEST_IN(large_keys_in_use_make_no_room, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_key *large[2], *other;
    fake_request r[2];
    warprsa_queue *queue;

    config.engines[0].streams = 2;
    queue = fake_ready_queue(&config);
    FAKE_SET(large_keys_max, 1);
    other = key_of_owner(queue, 1000, 1);
    assert_int_equal(fake_answer(queue, other, 1), WARPRSA_DONE);
    for (unsigned i = 0; i < 2; i++) {
        large[i] = key_of_size(queue, 1001 + i, WARPRSA_CLASS_8192, 50 + i);
        fake_fill(&r[i], WARPRSA_CLASS_8192, 50 + i, i);
    }
    FAKE_SET(hold, true);
    assert_int_equal(fake_submit(queue, large[0], &r[0]), WARPRSA_DONE);
    FAKE_WAIT(fake.running == 1);
    assert_int_equal(fake_submit(queue, large[1], &r[1]), WARPRSA_DONE);
    assert_int_equal(warprsa_queue_wait(queue, r[1].ticket, r[1].output),
                     WARPRSA_REFUSED);
    assert_int_equal(config.counters->cpu_reason[WARPRSA_CPU_KEY_CACHE_FULL],
                     1);
    assert_int_equal(config.counters->keys_evicted, 0);
    FAKE_SET(hold, false);
    assert_int_equal(warprsa_queue_wait(queue, r[0].ticket, r[0].output),
                     WARPRSA_DONE);
    answer_large(queue, large[1], 51, false);
    assert_int_equal(config.counters->keys_evicted, 1);
    warprsa_key_release(other);
    for (unsigned i = 0; i < 2; i++)
        warprsa_key_release(large[i]);
    fake_finish(queue, &config);
}

/* Submits requests of a key until one is refused. Returns how many were not. */
static unsigned fill_slots(warprsa_queue *queue, warprsa_key *key,
                           unsigned key_seed, fake_request *r)
{
    unsigned count = 0;

    do
        fake_fill(&r[count], WARPRSA_CLASS_2048, key_seed, count);
    while (fake_submit(queue, key, &r[count]) == WARPRSA_DONE && ++count);
    return count;
}

static void get_answers(warprsa_queue *queue, fake_request *r, unsigned count,
                        warprsa_answer expected)
{
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(warprsa_queue_wait(queue, r[i].ticket, r[i].output),
                         expected);
        assert_true(expected != WARPRSA_DONE || fake_is_right(&r[i]));
    }
}

/* An owner that submits without end gets nearly all slots, as long as it is
 * alone, and the others' requests find room; also after a device was lost. */
TEST_IN(requests_of_one_owner_leave_slots, reset, NULL)
{
    enum {
        SLOTS = 64,
        GREEDY = 57, /* 8 for each free one */
        OTHER = 7,
    };
    warprsa_queue_config config = fake_config();
    fake_request r[SLOTS + 1], s[SLOTS + 1];
    warprsa_key *greedy, *other;
    warprsa_queue *queue;

    config.slots = SLOTS;
    queue = fake_ready_queue(&config);
    greedy = key_of_owner(queue, 1001, 1);
    other = key_of_owner(queue, 1000, 2);
    for (unsigned round = 1; round <= 3; round++) {
        const bool lost = round == 2;

        assert_int_equal(fake_answer(queue, greedy, 1), WARPRSA_DONE);
        assert_int_equal(fake_answer(queue, other, 2), WARPRSA_DONE);
        FAKE_SET(hold, true);
        FAKE_SET(wait_failures, lost);
        assert_int_equal(fill_slots(queue, greedy, 1, r), GREEDY);
        assert_int_equal(fill_slots(queue, other, 2, s), OTHER);
        assert_int_equal(config.counters->cpu_reason[WARPRSA_CPU_QUEUE_FULL],
                         2 * round);
        FAKE_SET(hold, false);
        get_answers(queue, r, GREEDY, lost ? WARPRSA_REFUSED : WARPRSA_DONE);
        get_answers(queue, s, OTHER, lost ? WARPRSA_REFUSED : WARPRSA_DONE);
        WAIT_UNTIL(warprsa_queue_wait_ready(queue, 0) == WARPRSA_QUEUE_READY);
    }
    warprsa_key_release(greedy);
    warprsa_key_release(other);
    fake_finish(queue, &config);
}

RUN_TESTS(NULL, NULL)
