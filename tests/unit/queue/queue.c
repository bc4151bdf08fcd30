/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Requests through the queue on a device that works: batches, answers,
 * callers of every kind, slots and what is counted.
 */
#include "tests/unit/support/fake_queue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "batching/base/clock.h"
#include "batching/base/thread_shard.h"

static int reset(void **state)
{
    fake_reset();
    return 0;
}

static void one_request_is_answered(void **state)
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

/* Submits `count` requests of a class while the device is busy. */
static fake_request *submit_many(warprsa_queue *queue, warprsa_key *key,
                                 warprsa_size_class size, unsigned key_seed,
                                 unsigned count)
{
    fake_request *r = calloc(count, sizeof(*r));

    assert_non_null(r);
    for (unsigned i = 0; i < count; i++) {
        fake_fill(&r[i], size, key_seed, i);
        assert_int_equal(fake_submit(queue, key, &r[i]), WARPRSA_DONE);
    }
    return r;
}

static void wait_for_all(warprsa_queue *queue, fake_request *r, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(warprsa_queue_wait(queue, r[i].ticket, r[i].output),
                         WARPRSA_DONE);
        assert_true(fake_is_right(&r[i]));
    }
    free(r);
}

/* While the only stream is busy requests collect; then one batch per class,
 * the class whose first request is oldest first. */
static void batches_by_class_oldest_first(void **state)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *small = fake_add_key(queue, WARPRSA_CLASS_1024, 1);
    warprsa_key *big = fake_add_key(queue, WARPRSA_CLASS_4096, 2);
    warprsa_key *other = fake_add_key(queue, WARPRSA_CLASS_4096, 3);
    fake_request *first, *a, *b, *c;

    /* Requests with new keys would be set aside. */
    wait_for_all(queue, submit_many(queue, big, WARPRSA_CLASS_4096, 2, 1), 1);
    wait_for_all(queue, submit_many(queue, other, WARPRSA_CLASS_4096, 3, 1), 1);
    FAKE_SET(hold, true);
    first = submit_many(queue, small, WARPRSA_CLASS_1024, 1, 1);
    FAKE_WAIT(fake.running == 1);
    a = submit_many(queue, big, WARPRSA_CLASS_4096, 2, 5);
    b = submit_many(queue, small, WARPRSA_CLASS_1024, 1, 9);
    c = submit_many(queue, other, WARPRSA_CLASS_4096, 3, 6);
    assert_int_equal(warprsa_queue_depth(queue), 21);
    FAKE_SET(hold, false);
    wait_for_all(queue, first, 1);
    wait_for_all(queue, a, 5);
    wait_for_all(queue, b, 9);
    wait_for_all(queue, c, 6);
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
    fake_close_queue(queue, &config);
    warprsa_counters_free(config.counters);
}

static void batch_max_is_kept(void **state)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;
    warprsa_key *key;
    fake_request *first, *rest;

    config.engines[0].batch_max = 4;
    queue = fake_ready_queue(&config);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    FAKE_SET(hold, true);
    first = submit_many(queue, key, WARPRSA_CLASS_2048, 1, 1);
    FAKE_WAIT(fake.running == 1);
    rest = submit_many(queue, key, WARPRSA_CLASS_2048, 1, 10);
    FAKE_SET(hold, false);
    wait_for_all(queue, first, 1);
    wait_for_all(queue, rest, 10);
    assert_int_equal(fake.batches, 4);
    assert_int_equal(config.counters->batch_max, 4);
    warprsa_key_release(key);
    fake_close_queue(queue, &config);
    warprsa_counters_free(config.counters);
}

enum {
    PAIRS_BUSY = 32, /* 16 times the granularity of 2 */
};

/* A queue whose device computes two requests together, and has that many under
 * way with a key of this owner, one by one, and four idle streams. */
static warprsa_queue *busy_queue(warprsa_queue_config *config, uint64_t owner,
                                 warprsa_key **key,
                                 fake_request *busy[PAIRS_BUSY])
{
    static warprsa_engine pairs;
    const warprsa_private_key numbers = fake_key(WARPRSA_CLASS_2048, 1);
    const uint8_t id[WARPRSA_KEY_ID_BYTES] = {1};
    warprsa_queue *queue;

    pairs = *fake_engine_get();
    pairs.granularity = 2;
    config->engines[0].engine = &pairs;
    config->engines[0].streams = PAIRS_BUSY + 4;
    queue = fake_ready_queue(config);
    *key = warprsa_queue_key(queue, owner, id, &numbers);
    assert_non_null(*key);
    FAKE_SET(hold, true);
    for (unsigned i = 0; i < PAIRS_BUSY; i++) {
        busy[i] = submit_many(queue, *key, WARPRSA_CLASS_2048, 1, 1);
        FAKE_WAIT(fake.running == i + 1);
    }
    return queue;
}

/* While a device is busy, a batch has a multiple of what its kernels compute
 * together, and what is less waits for more or for the end of a batch. */
static void a_busy_device_gets_multiples(void **state)
{
    static const struct timespec pause = {0, 20000000};
    warprsa_queue_config config = fake_config();
    fake_request *busy[PAIRS_BUSY], *one, *second, *two, *last;
    warprsa_key *key;
    warprsa_queue *queue = busy_queue(&config, WARPRSA_OWNER_SELF, &key, busy);

    one = submit_many(queue, key, WARPRSA_CLASS_2048, 1, 1);
    nanosleep(&pause, NULL);
    assert_int_equal(fake.batches, PAIRS_BUSY);
    second = submit_many(queue, key, WARPRSA_CLASS_2048, 1, 1);
    FAKE_WAIT(fake.running == PAIRS_BUSY + 1);
    assert_int_equal(fake.log[PAIRS_BUSY].count, 2);
    two = submit_many(queue, key, WARPRSA_CLASS_2048, 1, 2);
    FAKE_WAIT(fake.running == PAIRS_BUSY + 2);
    assert_int_equal(fake.log[PAIRS_BUSY + 1].count, 2);

    last = submit_many(queue, key, WARPRSA_CLASS_2048, 1, 1);
    FAKE_SET(hold, false);
    wait_for_all(queue, last, 1);
    for (unsigned i = 0; i < PAIRS_BUSY; i++)
        wait_for_all(queue, busy[i], 1);
    wait_for_all(queue, one, 1);
    wait_for_all(queue, second, 1);
    wait_for_all(queue, two, 2);
    assert_int_equal(fake.batches, PAIRS_BUSY + 3);
    warprsa_key_release(key);
    fake_close_queue(queue, &config);
    warprsa_counters_free(config.counters);
}

/* Another user's single request does not wait for the end of a batch, which may
 * be of long keys. */
static void no_user_waits_for_anothers_batch(void **state)
{
    warprsa_queue_config config = fake_config();
    const warprsa_private_key numbers = fake_key(WARPRSA_CLASS_2048, 2);
    const uint8_t id[WARPRSA_KEY_ID_BYTES] = {2};
    fake_request *busy[PAIRS_BUSY], *one;
    warprsa_key *key, *others;
    warprsa_queue *queue = busy_queue(&config, 1, &key, busy);

    others = warprsa_queue_key(queue, 2, id, &numbers);
    assert_non_null(others);
    one = submit_many(queue, others, WARPRSA_CLASS_2048, 2, 1);
    FAKE_WAIT(fake.running == PAIRS_BUSY + 1);
    assert_int_equal(fake.log[PAIRS_BUSY].count, 1);
    FAKE_SET(hold, false);
    for (unsigned i = 0; i < PAIRS_BUSY; i++)
        wait_for_all(queue, busy[i], 1);
    wait_for_all(queue, one, 1);
    warprsa_key_release(key);
    warprsa_key_release(others);
    fake_close_queue(queue, &config);
    warprsa_counters_free(config.counters);
}

/* A free stream takes what is queued at once while another is busy, on every
 * device. */
static void streams_and_devices_share_the_work(void **state)
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
        r[i] = submit_many(queue, key, WARPRSA_CLASS_2048, 1, 1);
        FAKE_WAIT(fake.running == i + 1);
    }
    for (unsigned i = 0; i < 4; i++)
        seen |= 1u << (2 * fake.log[i].device + fake.log[i].stream);
    assert_int_equal(seen, 0xf);
    FAKE_SET(hold, false);
    for (unsigned i = 0; i < 4; i++)
        wait_for_all(queue, r[i], 1);
    assert_int_equal(config.counters->keys_loaded, 2);
    warprsa_key_release(key);
    fake_close_queue(queue, &config);
    assert_int_equal(fake.closes, 2);
    warprsa_counters_free(config.counters);
}

static void only_chosen_devices_are_used(void **state)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;
    warprsa_key *key;
    char text[WARPRSA_COUNTERS_TEXT];

    FAKE_SET(devices, 3);
    config.engines[0].devices = 1u << 2;
    queue = fake_ready_queue(&config);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    wait_for_all(queue, submit_many(queue, key, WARPRSA_CLASS_2048, 1, 1), 1);
    assert_int_equal(fake.log[0].device, 2);
    assert_int_equal(fake.opens, 1);
    warprsa_counters_device(config.counters, text);
    assert_string_equal(text, "Fake (fake 2)");
    warprsa_key_release(key);
    fake_close_queue(queue, &config);
    warprsa_counters_free(config.counters);
}

static void a_full_queue_refuses(void **state)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;
    warprsa_key *key;
    fake_request *r, extra;

    config.slots = 5;
    queue = fake_ready_queue(&config);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    FAKE_SET(hold, true);
    r = submit_many(queue, key, WARPRSA_CLASS_2048, 1, 5);
    fake_fill(&extra, WARPRSA_CLASS_2048, 1, 99);
    assert_int_equal(fake_submit(queue, key, &extra), WARPRSA_REFUSED);
    assert_int_equal(config.counters->cpu_reason[WARPRSA_CPU_QUEUE_FULL], 1);
    FAKE_SET(hold, false);
    wait_for_all(queue, r, 5);
    wait_for_all(queue, submit_many(queue, key, WARPRSA_CLASS_2048, 1, 5), 5);
    assert_int_equal(config.counters->gpu[WARPRSA_CLASS_2048], 10);
    warprsa_key_release(key);
    fake_close_queue(queue, &config);
    warprsa_counters_free(config.counters);
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
static void slots_stay_with_their_threads(void **state)
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
    fake_close_queue(mine.queue, &config);
    warprsa_counters_free(config.counters);
}

/* A caller that does not sleep but is notified, like an async job. */
typedef struct listener {
    pthread_mutex_t lock;
    pthread_cond_t told;
    unsigned calls;
} listener;

#define LISTENER                                                               \
    {                                                                          \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0                 \
    }

static void tell(void *arg)
{
    listener *l = arg;

    pthread_mutex_lock(&l->lock);
    l->calls++;
    pthread_cond_signal(&l->told);
    pthread_mutex_unlock(&l->lock);
}

static void listen_to(listener *l)
{
    pthread_mutex_lock(&l->lock);
    while (l->calls == 0)
        pthread_cond_wait(&l->told, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

/* Requests that their caller gives up are not computed, but for those that a
 * batch has, and their slots are free again. */
static void withdrawn_requests_are_not_computed(void **state)
{
    enum {
        SLOTS = 8,
        RUNNING = 0,
        FIRST = 1, /* of those withdrawn from the ring */
        LAST = SLOTS - 1,
    };
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;
    warprsa_key *key;
    fake_request *r;

    config.slots = SLOTS;
    queue = fake_ready_queue(&config);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    wait_for_all(queue, submit_many(queue, key, WARPRSA_CLASS_2048, 1, 1), 1);
    FAKE_SET(hold, true);
    r = submit_many(queue, key, WARPRSA_CLASS_2048, 1, 1);
    FAKE_WAIT(fake.running == 1);
    assert_true(warprsa_queue_withdraw(queue, r[RUNNING].ticket));
    free(r);
    r = submit_many(queue, key, WARPRSA_CLASS_2048, 1, SLOTS - 1);
    for (unsigned i = FIRST; i < LAST; i++) {
        assert_true(warprsa_queue_withdraw(queue, r[i - 1].ticket));
        assert_false(warprsa_queue_withdraw(queue, r[i - 1].ticket));
    }
    FAKE_SET(hold, false);
    WAIT_UNTIL(warprsa_queue_depth(queue) == 0);
    assert_false(warprsa_queue_withdraw(queue, r[LAST - 1].ticket));
    assert_int_equal(
        warprsa_queue_wait(queue, r[LAST - 1].ticket, r[LAST - 1].output),
        WARPRSA_DONE);
    assert_true(fake_is_right(&r[LAST - 1]));
    free(r);
    /* The first one, that which was running, and the last one. */
    assert_int_equal(config.counters->batch_operations, 3);
    assert_int_equal(config.counters->gpu[WARPRSA_CLASS_2048], 2);
    wait_for_all(queue, submit_many(queue, key, WARPRSA_CLASS_2048, 1, SLOTS),
                 SLOTS);
    warprsa_key_release(key);
    fake_close_queue(queue, &config);
    warprsa_counters_free(config.counters);
}

static void notified_once_and_then_collects(void **state)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    listener l = LISTENER;
    fake_request r;

    fake_fill(&r, WARPRSA_CLASS_2048, 1, 1);
    FAKE_SET(hold, true);
    assert_int_equal(warprsa_queue_submit(
                         queue, key, r.input,
                         (warprsa_notify){.wake = tell, .arg = &l}, &r.ticket),
                     WARPRSA_DONE);
    FAKE_WAIT(fake.running == 1);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(warprsa_queue_collect(queue, r.ticket, r.output, NULL),
                         WARPRSA_PENDING);
    assert_int_equal(l.calls, 0);
    FAKE_SET(hold, false);
    listen_to(&l);
    assert_int_equal(warprsa_queue_collect(queue, r.ticket, r.output, NULL),
                     WARPRSA_DONE);
    assert_true(fake_is_right(&r));
    assert_int_equal(l.calls, 1);
    warprsa_key_release(key);
    fake_close_queue(queue, &config);
    warprsa_counters_free(config.counters);
}

/* ASYNC_pause_job() may return without pausing: then the job has to wait. */
static void notified_caller_may_wait_too(void **state)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);

    for (unsigned i = 0; i < 100; i++) {
        listener l = LISTENER;
        fake_request r;

        fake_fill(&r, WARPRSA_CLASS_2048, 1, i);
        assert_int_equal(
            warprsa_queue_submit(queue, key, r.input,
                                 (warprsa_notify){.wake = tell, .arg = &l},
                                 &r.ticket),
            WARPRSA_DONE);
        assert_int_equal(warprsa_queue_wait(queue, r.ticket, r.output),
                         WARPRSA_DONE);
        assert_true(fake_is_right(&r));
        listen_to(&l); /* the answer is there before anyone is told */
        assert_int_equal(l.calls, 1);
    }
    warprsa_key_release(key);
    fake_close_queue(queue, &config);
    warprsa_counters_free(config.counters);
}

/* A program's callback that waits for something: for a lock, say. */
typedef struct gate {
    listener entered, opened;
} gate;

static void wait_at_gate(void *arg)
{
    gate *g = arg;

    tell(&g->entered);
    listen_to(&g->opened);
}

/* An answer can be collected before anyone is told of it, and so can those of
 * the same batch: whoever is told may wait for the one that collects. */
static void answers_are_there_before_anyone_is_told(void **state)
{
    static gate g = {LISTENER, LISTENER};
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    fake_request first, r[3];

    fake_fill(&first, WARPRSA_CLASS_2048, 1, 1);
    FAKE_SET(hold, true);
    assert_int_equal(fake_submit(queue, key, &first), WARPRSA_DONE);
    FAKE_WAIT(fake.running == 1);
    for (unsigned i = 0; i < 3; i++) {
        fake_fill(&r[i], WARPRSA_CLASS_2048, 1, 2 + i);
        assert_int_equal(warprsa_queue_submit(
                             queue, key, r[i].input,
                             (warprsa_notify){.wake = wait_at_gate, .arg = &g},
                             &r[i].ticket),
                         WARPRSA_DONE);
    }
    FAKE_SET(hold, false);
    listen_to(&g.entered);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(
            warprsa_queue_collect(queue, r[i].ticket, r[i].output, NULL),
            WARPRSA_DONE);
        assert_true(fake_is_right(&r[i]));
    }
    assert_int_equal(g.entered.calls, 1);
    tell(&g.opened);
    assert_int_equal(warprsa_queue_wait(queue, first.ticket, first.output),
                     WARPRSA_DONE);
    warprsa_key_release(key);
    fake_close_queue(queue, &config);
    assert_int_equal(g.entered.calls, 3);
    warprsa_counters_free(config.counters);
}

static void count_call(void *arg)
{
    atomic_fetch_add((atomic_uint *)arg, 1);
}

static void count_drop(void *arg)
{
    atomic_fetch_add((atomic_uint *)arg, 1000);
}

/* `arg` comes back by exactly one call: a wake, or a drop where the caller gave
 * up, however late the worker is. */
static void given_back_once(void **state)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;
    warprsa_key *key;
    warprsa_answer answer = WARPRSA_PENDING;
    atomic_uint calls = 0;
    fake_request r;

    config.deadline_ms = 20;
    queue = fake_ready_queue(&config);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    fake_fill(&r, WARPRSA_CLASS_2048, 1, 1);
    FAKE_SET(hold_load, true);
    assert_int_equal(
        warprsa_queue_submit(queue, key, r.input,
                             (warprsa_notify){count_call, count_drop, &calls},
                             &r.ticket),
        WARPRSA_DONE);
    FAKE_WAIT(fake.waiting == 1); /* the only worker hangs in its driver */
    while (answer == WARPRSA_PENDING)
        answer = warprsa_queue_collect(queue, r.ticket, r.output, NULL);
    assert_int_equal(answer, WARPRSA_REFUSED);
    assert_int_equal(calls, 1000);
    FAKE_SET(hold_load, false);
    WAIT_UNTIL(warprsa_queue_depth(queue) == 0);
    warprsa_key_release(key);
    fake_close_queue(queue, &config);
    assert_int_equal(calls, 1000);
    warprsa_counters_free(config.counters);
}

static void a_used_or_wild_ticket_is_refused(void **state)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    warprsa_ticket wild = {config.slots + 3, 64};
    fake_request r;

    fake_fill(&r, WARPRSA_CLASS_2048, 1, 1);
    assert_int_equal(fake_submit(queue, key, &r), WARPRSA_DONE);
    assert_int_equal(warprsa_queue_wait(queue, r.ticket, r.output),
                     WARPRSA_DONE);
    assert_int_equal(warprsa_queue_collect(queue, r.ticket, r.output, NULL),
                     WARPRSA_REFUSED);
    assert_int_equal(warprsa_queue_wait(queue, r.ticket, r.output),
                     WARPRSA_REFUSED);
    assert_int_equal(warprsa_queue_collect(queue, wild, r.output, NULL),
                     WARPRSA_REFUSED);
    assert_int_equal(warprsa_queue_wait(queue, wild, r.output),
                     WARPRSA_REFUSED);
    assert_int_equal(config.counters->cpu_reason[WARPRSA_CPU_DEADLINE], 4);
    warprsa_key_release(key);
    fake_close_queue(queue, &config);
    warprsa_counters_free(config.counters);
}

/* A job that is never resumed leaves its answer behind; the slot comes back. */
static void an_answer_nobody_collects_is_reclaimed(void **state)
{
    warprsa_queue_config config = fake_config();
    listener l = LISTENER;
    fake_request left, next;
    warprsa_queue *queue;
    warprsa_key *key;
    uint64_t submitted_ns;

    config.slots = 1;
    config.deadline_ms = 200;
    queue = fake_ready_queue(&config);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    fake_fill(&left, WARPRSA_CLASS_2048, 1, 1);
    fake_fill(&next, WARPRSA_CLASS_2048, 1, 2);
    submitted_ns = warprsa_clock_ns();
    assert_int_equal(
        warprsa_queue_submit(queue, key, left.input,
                             (warprsa_notify){.wake = tell, .arg = &l},
                             &left.ticket),
        WARPRSA_DONE);
    listen_to(&l);
    WAIT_UNTIL(fake_submit(queue, key, &next) == WARPRSA_DONE);
    assert_true(warprsa_clock_ns() - submitted_ns >=
                2 * config.deadline_ms * WARPRSA_NS_PER_MS);
    assert_int_equal(next.ticket.slot, left.ticket.slot);
    assert_int_equal(
        warprsa_queue_collect(queue, left.ticket, left.output, NULL),
        WARPRSA_REFUSED);
    assert_int_equal(config.counters->cpu_reason[WARPRSA_CPU_DEADLINE], 1);
    /* A slow machine may miss so short a deadline. */
    while (warprsa_queue_wait(queue, next.ticket, next.output) != WARPRSA_DONE)
        WAIT_UNTIL(fake_submit(queue, key, &next) == WARPRSA_DONE);
    assert_true(fake_is_right(&next));
    assert_int_equal(config.counters->gpu[WARPRSA_CLASS_2048], 1);
    warprsa_key_release(key);
    fake_close_queue(queue, &config);
    warprsa_counters_free(config.counters);
}

/* Many threads, some sleeping, some notified, all classes, several keys, two
 * devices, a queue that is full at times. */
enum {
    MEMBERS = 12,
    MEMBER_ROUNDS = 400,
    MEMBER_AT_ONCE = 4,
};

typedef struct member {
    pthread_t thread;
    warprsa_queue *queue;
    unsigned number;
    unsigned done, refused, wrong;
} member;

static void member_round(member *m, warprsa_key *key, warprsa_size_class size,
                         unsigned round)
{
    listener l[MEMBER_AT_ONCE] = {LISTENER, LISTENER, LISTENER, LISTENER};
    fake_request r[MEMBER_AT_ONCE];
    bool queued[MEMBER_AT_ONCE];

    for (unsigned i = 0; i < MEMBER_AT_ONCE; i++) {
        bool sleeps = (i + m->number) % 2 == 0;
        warprsa_notify notify = {.wake = sleeps ? NULL : tell, .arg = &l[i]};

        fake_fill(&r[i], size, m->number % 3, round * 100 + i);
        queued[i] = warprsa_queue_submit(m->queue, key, r[i].input, notify,
                                         &r[i].ticket) == WARPRSA_DONE;
        m->refused += !queued[i];
    }
    for (unsigned i = 0; i < MEMBER_AT_ONCE; i++) {
        warprsa_answer answer;

        if (!queued[i])
            continue;
        if ((i + m->number) % 2 == 0) {
            answer = warprsa_queue_wait(m->queue, r[i].ticket, r[i].output);
        } else {
            listen_to(&l[i]);
            answer =
                warprsa_queue_collect(m->queue, r[i].ticket, r[i].output, NULL);
        }
        m->done += answer == WARPRSA_DONE;
        m->wrong += answer != WARPRSA_DONE || !fake_is_right(&r[i]);
    }
}

static void *member_main(void *arg)
{
    member *m = arg;

    for (unsigned round = 0; round < MEMBER_ROUNDS; round++) {
        warprsa_size_class size = (m->number + round) % WARPRSA_CLASSES;
        warprsa_key *key = fake_add_key(m->queue, size, m->number % 3);

        member_round(m, key, size, round);
        warprsa_key_release(key);
    }
    return NULL;
}

static void a_crowd_gets_its_own_answers(void **state)
{
    warprsa_queue_config config = fake_config();
    warprsa_counters *c = config.counters;
    member members[MEMBERS] = {0};
    unsigned done = 0, refused = 0;
    warprsa_queue *queue;

    FAKE_SET(devices, 2);
    config.engines[0].streams = 2;
    config.slots = MEMBERS * MEMBER_AT_ONCE - 8;
    config.engines[0].batch_max = 16;
    queue = fake_ready_queue(&config);
    for (unsigned i = 0; i < MEMBERS; i++) {
        members[i] = (member){.queue = queue, .number = i};
        assert_int_equal(
            pthread_create(&members[i].thread, NULL, member_main, &members[i]),
            0);
    }
    for (unsigned i = 0; i < MEMBERS; i++) {
        pthread_join(members[i].thread, NULL);
        assert_int_equal(members[i].wrong, 0);
        done += members[i].done;
        refused += members[i].refused;
    }
    assert_int_equal(done + refused, MEMBERS * MEMBER_ROUNDS * MEMBER_AT_ONCE);
    assert_int_equal(fake_sum(c->gpu, WARPRSA_CLASSES), done);
    assert_int_equal(c->cpu_reason[WARPRSA_CPU_QUEUE_FULL], refused);
    assert_int_equal(fake_sum(c->cpu_reason, WARPRSA_CPU_REASONS), refused);
    assert_int_equal(fake_sum(c->batch_sizes, WARPRSA_HISTOGRAM_BINS),
                     c->batches);
    assert_int_equal(c->batches, fake.batches);
    assert_int_equal(warprsa_queue_depth(queue), 0);
    assert_int_equal(c->keys, 0);
    fake_close_queue(queue, &config);
    assert_int_equal(c->keys_loaded, fake.loads);
    warprsa_counters_free(c);
}

/* A server has far more threads than CPUs: one that is preempted half way
 * through the queue must not hold up the others. */
enum {
    SERVER_THREADS = 200,
    SERVER_ROUNDS = 100,
};

static void *server_thread(void *arg)
{
    member *m = arg;
    warprsa_key *key = fake_add_key(m->queue, WARPRSA_CLASS_2048, 1);

    for (unsigned i = 0; i < SERVER_ROUNDS; i++) {
        fake_request r;

        fake_fill(&r, WARPRSA_CLASS_2048, 1, i);
        m->done +=
            fake_submit(m->queue, key, &r) == WARPRSA_DONE &&
            warprsa_queue_wait(m->queue, r.ticket, r.output) == WARPRSA_DONE &&
            fake_is_right(&r);
    }
    warprsa_key_release(key);
    return NULL;
}

static void many_more_threads_than_cpus(void **state)
{
    warprsa_queue_config config = fake_config();
    member *server = calloc(SERVER_THREADS, sizeof(*server));
    warprsa_queue *queue;

    assert_non_null(server);
    config.engines[0].streams = 2;
    config.slots = SERVER_THREADS;
    config.engines[0].batch_max = SERVER_THREADS;
    queue = fake_ready_queue(&config);
    for (unsigned i = 0; i < SERVER_THREADS; i++) {
        server[i] = (member){.queue = queue, .number = i};
        assert_int_equal(
            pthread_create(&server[i].thread, NULL, server_thread, &server[i]),
            0);
    }
    for (unsigned i = 0; i < SERVER_THREADS; i++) {
        pthread_join(server[i].thread, NULL);
        assert_int_equal(server[i].done, SERVER_ROUNDS);
    }
    assert_int_equal(config.counters->gpu[WARPRSA_CLASS_2048],
                     SERVER_THREADS * SERVER_ROUNDS);
    fake_close_queue(queue, &config);
    free(server);
    warprsa_counters_free(config.counters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_request_is_answered, reset),
        cmocka_unit_test_setup(batches_by_class_oldest_first, reset),
        cmocka_unit_test_setup(batch_max_is_kept, reset),
        cmocka_unit_test_setup(a_busy_device_gets_multiples, reset),
        cmocka_unit_test_setup(no_user_waits_for_anothers_batch, reset),
        cmocka_unit_test_setup(streams_and_devices_share_the_work, reset),
        cmocka_unit_test_setup(only_chosen_devices_are_used, reset),
        cmocka_unit_test_setup(a_full_queue_refuses, reset),
        cmocka_unit_test_setup(slots_stay_with_their_threads, reset),
        cmocka_unit_test_setup(withdrawn_requests_are_not_computed, reset),
        cmocka_unit_test_setup(notified_once_and_then_collects, reset),
        cmocka_unit_test_setup(notified_caller_may_wait_too, reset),
        cmocka_unit_test_setup(answers_are_there_before_anyone_is_told, reset),
        cmocka_unit_test_setup(given_back_once, reset),
        cmocka_unit_test_setup(a_used_or_wild_ticket_is_refused, reset),
        cmocka_unit_test_setup(an_answer_nobody_collects_is_reclaimed, reset),
        cmocka_unit_test_setup(a_crowd_gets_its_own_answers, reset),
        cmocka_unit_test_setup(many_more_threads_than_cpus, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
