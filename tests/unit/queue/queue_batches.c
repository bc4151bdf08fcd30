/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Requests through the queue on a device that works: which of them a batch has,
 * who computes it, and who gets a slot.
 */
#include "tests/unit/support/fake_queue.h"

#include <pthread.h>
#include <stdlib.h>

#include "batching/base/thread_shard.h"
#include "batching/queue/queue_core.h"

TEST_IN(one_request_is_answered, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_counters *c = config.counters;

    for (unsigned size = 0; size < WARPRSA_CLASSES; size++) {
        warprsa_key *key = fake_add_key(queue, size, size);
        fake_request r;

        fake_fill(&r, size, size, 7 + size);
        assert_int_equal(fake_submit(queue, key, &r), WARPRSA_DONE);
        assert_int_equal(warprsa_queue_wait(queue, r.ticket, r.output),
                         WARPRSA_DONE);
        assert_true(fake_is_right(&r));
        assert_int_equal(c->gpu[size], 1);
        warprsa_key_release(key);
    }
    assert_int_equal(warprsa_queue_depth(queue), 0);
    assert_int_equal(c->batches, WARPRSA_CLASSES);
    assert_int_equal(c->batch_sizes[0], WARPRSA_CLASSES);
    assert_int_equal(c->batch_max, 1);
    assert_int_equal(c->devices, 1);
    assert_true(c->compute_ns > 0);
    assert_true(c->wait_ns > 0);
    assert_int_equal(fake_sum(c->cpu_reason, WARPRSA_CPU_REASONS), 0);
    fake_close_queue(queue, &config);
    assert_int_equal(c->keys, 0);
    assert_int_equal(c->keys_loaded, WARPRSA_CLASSES);
    warprsa_counters_free(c);
}

/* While the only stream is busy requests collect; then one batch per class,
 * the class whose first request is oldest first. */
TEST_IN(batches_by_class_oldest_first, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *small = fake_add_key(queue, WARPRSA_CLASS_1024, 1);
    warprsa_key *big = fake_add_key(queue, WARPRSA_CLASS_4096, 2);
    warprsa_key *other = fake_add_key(queue, WARPRSA_CLASS_4096, 3);
    fake_request *first, *a, *b, *c;

    /* Requests with new keys would be set aside. */
    fake_wait_for_all(
        queue, fake_submit_many(queue, big, WARPRSA_CLASS_4096, 2, 1), 1);
    fake_wait_for_all(
        queue, fake_submit_many(queue, other, WARPRSA_CLASS_4096, 3, 1), 1);
    FAKE_SET(hold, true);
    first = fake_submit_many(queue, small, WARPRSA_CLASS_1024, 1, 1);
    FAKE_WAIT(fake.running == 1);
    a = fake_submit_many(queue, big, WARPRSA_CLASS_4096, 2, 5);
    b = fake_submit_many(queue, small, WARPRSA_CLASS_1024, 1, 9);
    c = fake_submit_many(queue, other, WARPRSA_CLASS_4096, 3, 6);
    assert_int_equal(warprsa_queue_depth(queue), 21);
    FAKE_SET(hold, false);
    fake_wait_for_all(queue, first, 1);
    fake_wait_for_all(queue, a, 5);
    fake_wait_for_all(queue, b, 9);
    fake_wait_for_all(queue, c, 6);
    assert_int_equal(fake.batches, 5);
    assert_int_equal(fake.log[3].size, WARPRSA_CLASS_4096);
    assert_int_equal(fake.log[3].count, 11);
    assert_int_equal(fake.log[4].size, WARPRSA_CLASS_1024);
    assert_int_equal(fake.log[4].count, 9);
    assert_int_equal(config.counters->batches, 5);
    assert_int_equal(config.counters->batch_max, 11);
    assert_int_equal(config.counters->batch_sizes[0], 3);
    assert_int_equal(config.counters->batch_sizes[4], 2);
    assert_int_equal(config.counters->gpu[WARPRSA_CLASS_1024], 10);
    assert_int_equal(config.counters->gpu[WARPRSA_CLASS_4096], 13);
    warprsa_key_release(small);
    warprsa_key_release(big);
    warprsa_key_release(other);
    fake_finish(queue, &config);
}

TEST_IN(batch_max_is_kept, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;
    warprsa_key *key;
    fake_request *first, *rest;

    config.engines[0].batch_max = 4;
    queue = fake_ready_queue(&config);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    FAKE_SET(hold, true);
    first = fake_submit_many(queue, key, WARPRSA_CLASS_2048, 1, 1);
    FAKE_WAIT(fake.running == 1);
    rest = fake_submit_many(queue, key, WARPRSA_CLASS_2048, 1, 10);
    FAKE_SET(hold, false);
    fake_wait_for_all(queue, first, 1);
    fake_wait_for_all(queue, rest, 10);
    assert_int_equal(fake.batches, 4);
    assert_int_equal(config.counters->batch_max, 4);
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

enum {
    PAIRS_BUSY = 32, /* 16 times the granularity of 2 */
    STREAMS = PAIRS_BUSY + 4,
};

/* A queue whose device computes two requests together, and whose batches do not
 * end. */
static warprsa_queue *queue_of_pairs(warprsa_queue_config *config)
{
    static warprsa_engine pairs;
    warprsa_queue *queue;

    pairs = *fake_engine_get();
    pairs.granularity = 2;
    config->engines[0].engine = &pairs;
    config->engines[0].streams = STREAMS;
    queue = fake_ready_queue(config);
    FAKE_SET(hold, true);
    return queue;
}

static warprsa_key *key_of_class(warprsa_queue *queue, uint64_t owner,
                                 warprsa_size_class size, unsigned number)
{
    const warprsa_private_key numbers = fake_key(size, number);
    const uint8_t id[WARPRSA_KEY_ID_BYTES] = {(uint8_t)number};
    warprsa_key *key = warprsa_queue_key(queue, owner, id, &numbers);

    assert_non_null(key);
    return key;
}

static warprsa_key *pairs_key(warprsa_queue *queue, uint64_t owner,
                              unsigned number)
{
    return key_of_class(queue, owner, WARPRSA_CLASS_2048, number);
}

/* Requests under way one by one, each with a key of this owner. */
typedef struct busy {
    warprsa_key *key[PAIRS_BUSY];
    fake_request *request[PAIRS_BUSY];
} busy;

static void make_busy(warprsa_queue *queue, uint64_t owner, busy *b)
{
    for (unsigned i = 0; i < PAIRS_BUSY; i++) {
        b->key[i] = pairs_key(queue, owner, i + 1);
        b->request[i] =
            fake_submit_many(queue, b->key[i], WARPRSA_CLASS_2048, i + 1, 1);
        FAKE_WAIT(fake.running == i + 1);
    }
}

static void end_busy(warprsa_queue *queue, busy *b)
{
    for (unsigned i = 0; i < PAIRS_BUSY; i++) {
        fake_wait_for_all(queue, b->request[i], 1);
        warprsa_key_release(b->key[i]);
    }
}

/* Long enough for a worker to take what it should not. */
static void pause_a_little(void)
{
    static const struct timespec pause = {0, 20000000};

    nanosleep(&pause, NULL);
}

/* While a device is busy, a batch has a multiple of what its kernels compute
 * together, and what is less waits for more or for the end of a batch. With as
 * many keys as requests there is nothing else to wait for. */
TEST_IN(a_busy_device_gets_multiples, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = queue_of_pairs(&config);
    fake_request *one, *second, *two, *last;
    warprsa_key *key;
    busy b;

    make_busy(queue, WARPRSA_OWNER_SELF, &b);
    key = b.key[0];
    one = fake_submit_many(queue, key, WARPRSA_CLASS_2048, 1, 1);
    pause_a_little();
    assert_int_equal(fake.batches, PAIRS_BUSY);
    second = fake_submit_many(queue, key, WARPRSA_CLASS_2048, 1, 1);
    FAKE_WAIT(fake.running == PAIRS_BUSY + 1);
    assert_int_equal(fake.log[PAIRS_BUSY].count, 2);
    two = fake_submit_many(queue, key, WARPRSA_CLASS_2048, 1, 2);
    FAKE_WAIT(fake.running == PAIRS_BUSY + 2);
    assert_int_equal(fake.log[PAIRS_BUSY + 1].count, 2);

    last = fake_submit_many(queue, key, WARPRSA_CLASS_2048, 1, 1);
    FAKE_SET(hold, false);
    fake_wait_for_all(queue, last, 1);
    fake_wait_for_all(queue, one, 1);
    fake_wait_for_all(queue, second, 1);
    fake_wait_for_all(queue, two, 2);
    end_busy(queue, &b);
    assert_int_equal(fake.batches, PAIRS_BUSY + 3);
    fake_finish(queue, &config);
}

/* With four requests of a key under way, a batch waits for as many as are under
 * way, or for five. A single one goes when these have ended. */
TEST_IN(a_batch_waits_for_five_of_a_key, reset, NULL)
{
    enum {
        UNDER_WAY = 4
    };
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = queue_of_pairs(&config);
    warprsa_key *key = pairs_key(queue, WARPRSA_OWNER_SELF, 1);
    fake_request *first[UNDER_WAY], *next[UNDER_WAY], *five, *last;

    for (unsigned i = 0; i < UNDER_WAY; i++) {
        first[i] = fake_submit_many(queue, key, WARPRSA_CLASS_2048, 1, 1);
        FAKE_WAIT(fake.running == i + 1);
    }
    for (unsigned i = 0; i < UNDER_WAY; i++) {
        pause_a_little();
        assert_int_equal(fake.batches, UNDER_WAY);
        next[i] = fake_submit_many(queue, key, WARPRSA_CLASS_2048, 1, 1);
    }
    FAKE_WAIT(fake.running == UNDER_WAY + 1);
    assert_int_equal(fake.log[UNDER_WAY].count, UNDER_WAY);
    assert_int_equal(
        atomic_load(&queue->keys.pinned_often[0][WARPRSA_CLASS_2048]), 1);
    five = fake_submit_many(queue, key, WARPRSA_CLASS_2048, 1, 5);
    FAKE_WAIT(fake.running == UNDER_WAY + 2);
    assert_int_equal(fake.log[UNDER_WAY + 1].count, 5);

    last = fake_submit_many(queue, key, WARPRSA_CLASS_2048, 1, 1);
    pause_a_little();
    assert_int_equal(fake.batches, UNDER_WAY + 2);
    FAKE_SET(hold, false);
    fake_wait_for_all(queue, last, 1);
    for (unsigned i = 0; i < UNDER_WAY; i++) {
        fake_wait_for_all(queue, first[i], 1);
        fake_wait_for_all(queue, next[i], 1);
    }
    fake_wait_for_all(queue, five, 5);
    assert_int_equal(fake.batches, UNDER_WAY + 3);
    assert_int_equal(atomic_load(&queue->keys.pinned[0][WARPRSA_CLASS_2048]),
                     0);
    assert_int_equal(
        atomic_load(&queue->keys.pinned_often[0][WARPRSA_CLASS_2048]), 0);
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

/* Most keys have one request under way and one has many, as by Zipf's law: a
 * single request goes at once. */
TEST_IN(a_batch_waits_for_no_key_if_most_are_rare, reset, NULL)
{
    enum {
        UNDER_WAY = 9
    };
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = queue_of_pairs(&config);
    warprsa_key *often = pairs_key(queue, WARPRSA_OWNER_SELF, 1);
    warprsa_key *rare = pairs_key(queue, WARPRSA_OWNER_SELF, 2);
    fake_request *first[UNDER_WAY], *other, *next;

    other = fake_submit_many(queue, rare, WARPRSA_CLASS_2048, 2, 1);
    FAKE_WAIT(fake.running == 1);
    for (unsigned i = 0; i < UNDER_WAY; i++) {
        first[i] = fake_submit_many(queue, often, WARPRSA_CLASS_2048, 1, 1);
        FAKE_WAIT(fake.running == i + 2);
    }
    assert_int_equal(atomic_load(&queue->keys.pinned[0][WARPRSA_CLASS_2048]),
                     2);
    assert_int_equal(
        atomic_load(&queue->keys.pinned_often[0][WARPRSA_CLASS_2048]), 1);
    next = fake_submit_many(queue, often, WARPRSA_CLASS_2048, 1, 1);
    FAKE_WAIT(fake.running == UNDER_WAY + 2);

    FAKE_SET(hold, false);
    for (unsigned i = 0; i < UNDER_WAY; i++)
        fake_wait_for_all(queue, first[i], 1);
    fake_wait_for_all(queue, other, 1);
    fake_wait_for_all(queue, next, 1);
    warprsa_key_release(often);
    warprsa_key_release(rare);
    fake_finish(queue, &config);
}

/* A single request does not wait for the end of batches of another class, which
 * may be long. The next one of the busy class does. */
TEST_IN(no_request_waits_for_another_class, reset, NULL)
{
    static const warprsa_size_class others[] = {WARPRSA_CLASS_1024,
                                                WARPRSA_CLASS_4096};
    enum {
        OTHERS = sizeof(others) / sizeof(others[0])
    };
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = queue_of_pairs(&config);
    fake_request *one[OTHERS], *next;
    warprsa_key *key[OTHERS];
    busy b;

    make_busy(queue, WARPRSA_OWNER_SELF, &b);
    for (unsigned i = 0; i < OTHERS; i++) {
        const unsigned number = PAIRS_BUSY + 1 + i;

        key[i] = key_of_class(queue, WARPRSA_OWNER_SELF, others[i], number);
        one[i] = fake_submit_many(queue, key[i], others[i], number, 1);
        FAKE_WAIT(fake.running == PAIRS_BUSY + 1 + i);
        assert_int_equal(fake.log[PAIRS_BUSY + i].count, 1);
    }
    next = fake_submit_many(queue, b.key[0], WARPRSA_CLASS_2048, 1, 1);
    pause_a_little();
    assert_int_equal(fake.batches, PAIRS_BUSY + OTHERS);
    FAKE_SET(hold, false);
    end_busy(queue, &b);
    fake_wait_for_all(queue, next, 1);
    for (unsigned i = 0; i < OTHERS; i++) {
        fake_wait_for_all(queue, one[i], 1);
        warprsa_key_release(key[i]);
    }
    for (int c = 0; c < WARPRSA_CLASSES; c++)
        assert_int_equal(atomic_load(&queue->activity[0].running_of[c]), 0);
    fake_finish(queue, &config);
}

/* Another user's single request does not wait for the end of a batch, which may
 * be of long keys. */
TEST_IN(no_user_waits_for_anothers_batch, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = queue_of_pairs(&config);
    fake_request *one;
    warprsa_key *others;
    busy b;

    make_busy(queue, 1, &b);
    others = pairs_key(queue, 2, PAIRS_BUSY + 1);
    one =
        fake_submit_many(queue, others, WARPRSA_CLASS_2048, PAIRS_BUSY + 1, 1);
    FAKE_WAIT(fake.running == PAIRS_BUSY + 1);
    assert_int_equal(fake.log[PAIRS_BUSY].count, 1);
    FAKE_SET(hold, false);
    end_busy(queue, &b);
    fake_wait_for_all(queue, one, 1);
    warprsa_key_release(others);
    fake_finish(queue, &config);
}

/* A free stream takes what is queued at once while another is busy, on every
 * device. */
TEST_IN(streams_and_devices_share_the_work, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;
    warprsa_key *key;
    fake_request *r[4];
    unsigned seen = 0;

    FAKE_SET(devices, 2);
    config.engines[0].streams = 2;
    queue = fake_ready_queue(&config);
    WAIT_UNTIL(config.counters->devices == 2);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    FAKE_SET(hold, true);
    for (unsigned i = 0; i < 4; i++) {
        r[i] = fake_submit_many(queue, key, WARPRSA_CLASS_2048, 1, 1);
        FAKE_WAIT(fake.running == i + 1);
    }
    for (unsigned i = 0; i < 4; i++)
        seen |= 1u << (2 * fake.log[i].device + fake.log[i].stream);
    assert_int_equal(seen, 0xf);
    FAKE_SET(hold, false);
    for (unsigned i = 0; i < 4; i++)
        fake_wait_for_all(queue, r[i], 1);
    assert_int_equal(config.counters->keys_loaded, 2);
    warprsa_key_release(key);
    fake_finish(queue, &config);
    assert_int_equal(fake.closes, 2);
}

TEST_IN(only_chosen_devices_are_used, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;
    warprsa_key *key;
    char text[WARPRSA_COUNTERS_TEXT];

    FAKE_SET(devices, 3);
    config.engines[0].devices = 1u << 2;
    queue = fake_ready_queue(&config);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    fake_wait_for_all(
        queue, fake_submit_many(queue, key, WARPRSA_CLASS_2048, 1, 1), 1);
    assert_int_equal(fake.log[0].device, 2);
    assert_int_equal(fake.opens, 1);
    warprsa_counters_device(config.counters, text);
    assert_string_equal(text, "Fake (fake 2)");
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

TEST_IN(a_full_queue_refuses, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;
    warprsa_key *key;
    fake_request *r, extra;

    config.slots = 5;
    queue = fake_ready_queue(&config);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    FAKE_SET(hold, true);
    r = fake_submit_many(queue, key, WARPRSA_CLASS_2048, 1, 5);
    fake_fill(&extra, WARPRSA_CLASS_2048, 1, 99);
    assert_int_equal(fake_submit(queue, key, &extra), WARPRSA_REFUSED);
    assert_int_equal(config.counters->cpu_reason[WARPRSA_CPU_QUEUE_FULL], 1);
    FAKE_SET(hold, false);
    fake_wait_for_all(queue, r, 5);
    fake_wait_for_all(
        queue, fake_submit_many(queue, key, WARPRSA_CLASS_2048, 1, 5), 5);
    assert_int_equal(config.counters->gpu[WARPRSA_CLASS_2048], 10);
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

/* A thread that makes one request, and the slot it got. */
typedef struct visitor {
    warprsa_queue *queue;
    warprsa_key *key;
    unsigned place;
    uint32_t slot;
} visitor;

static void *visit(void *arg)
{
    visitor *me = arg;
    fake_request r;

    me->place = warprsa_thread_shard();
    fake_fill(&r, WARPRSA_CLASS_2048, 1, me->place);
    assert_int_equal(fake_submit(me->queue, me->key, &r), WARPRSA_DONE);
    assert_int_equal(warprsa_queue_wait(me->queue, r.ticket, r.output),
                     WARPRSA_DONE);
    me->slot = r.ticket.slot;
    return NULL;
}

/* A thread of another shard than `a` and `b`. */
static visitor visit_from_elsewhere(visitor like, unsigned a, unsigned b)
{
    for (;;) {
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, visit, &like), 0);
        pthread_join(thread, NULL);
        assert_true(like.place < WARPRSA_THREAD_SHARDS);
        if (like.place != a && like.place != b)
            return like;
    }
}

/* As long as there are slots never used, no thread takes one that another has
 * given back. */
TEST_IN(slots_stay_with_their_threads, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    visitor mine = {0}, second, third, last;

    config.slots = 3;
    mine.queue = fake_ready_queue(&config);
    mine.key = fake_add_key(mine.queue, WARPRSA_CLASS_2048, 1);
    visit(&mine);
    assert_int_equal(mine.place, warprsa_thread_shard());
    assert_int_equal(mine.slot, 0);
    second = visit_from_elsewhere(mine, mine.place, mine.place);
    assert_int_equal(second.slot, 1);
    visit(&mine);
    assert_int_equal(mine.slot, 0);
    third = visit_from_elsewhere(mine, mine.place, second.place);
    assert_int_equal(third.slot, 2);
    /* All three were given back, and belong to other threads. */
    last = visit_from_elsewhere(mine, third.place, second.place);
    assert_true(last.slot < 3);
    visit(&mine);
    warprsa_key_release(mine.key);
    fake_finish(mine.queue, &config);
}

RUN_TESTS(NULL, NULL)
