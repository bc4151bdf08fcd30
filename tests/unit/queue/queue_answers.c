/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How the queue gives answers: to callers that wait, are notified, collect
 * late, withdraw, or never come.
 */
#include "tests/unit/support/fake_queue.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "batching/base/clock.h"

/* Requests that their caller gives up are not computed, but for those that a
 * batch has, and their slots are free again. */
TEST_IN(withdrawn_requests_are_not_computed, reset, NULL)
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
    fake_wait_for_all(
        queue, fake_submit_many(queue, key, WARPRSA_CLASS_2048, 1, 1), 1);
    FAKE_SET(hold, true);
    r = fake_submit_many(queue, key, WARPRSA_CLASS_2048, 1, 1);
    FAKE_WAIT(fake.running == 1);
    assert_true(warprsa_queue_withdraw(queue, r[RUNNING].ticket));
    free(r);
    r = fake_submit_many(queue, key, WARPRSA_CLASS_2048, 1, SLOTS - 1);
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
    fake_wait_for_all(
        queue, fake_submit_many(queue, key, WARPRSA_CLASS_2048, 1, SLOTS),
        SLOTS);
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

TEST_IN(notified_once_and_then_collects, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    fake_listener l = FAKE_LISTENER;
    fake_request r;

    fake_fill(&r, WARPRSA_CLASS_2048, 1, 1);
    FAKE_SET(hold, true);
    assert_int_equal(
        warprsa_queue_submit(queue, key, r.input,
                             (warprsa_notify){.wake = fake_tell, .arg = &l},
                             &r.ticket),
        WARPRSA_DONE);
    FAKE_WAIT(fake.running == 1);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(warprsa_queue_collect(queue, r.ticket, r.output, NULL),
                         WARPRSA_PENDING);
    assert_int_equal(l.calls, 0);
    FAKE_SET(hold, false);
    fake_listen_to(&l);
    assert_int_equal(warprsa_queue_collect(queue, r.ticket, r.output, NULL),
                     WARPRSA_DONE);
    assert_true(fake_is_right(&r));
    assert_int_equal(l.calls, 1);
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

/* ASYNC_pause_job() may return without pausing: then the job has to wait. */
TEST_IN(notified_caller_may_wait_too, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);

    for (unsigned i = 0; i < 100; i++) {
        fake_listener l = FAKE_LISTENER;
        fake_request r;

        fake_fill(&r, WARPRSA_CLASS_2048, 1, i);
        assert_int_equal(
            warprsa_queue_submit(queue, key, r.input,
                                 (warprsa_notify){.wake = fake_tell, .arg = &l},
                                 &r.ticket),
            WARPRSA_DONE);
        assert_int_equal(warprsa_queue_wait(queue, r.ticket, r.output),
                         WARPRSA_DONE);
        assert_true(fake_is_right(&r));
        fake_listen_to(&l); /* the answer is there before anyone is told */
        assert_int_equal(l.calls, 1);
    }
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

/* A program's callback that waits for something: for a lock, say. */
typedef struct gate {
    fake_listener entered, opened;
} gate;

static void wait_at_gate(void *arg)
{
    gate *g = arg;

    fake_tell(&g->entered);
    fake_listen_to(&g->opened);
}

/* An answer can be collected before anyone is told of it, and so can those of
 * the same batch: whoever is told may wait for the one that collects. */
TEST_IN(answers_are_there_before_anyone_is_told, reset, NULL)
{
    static gate g = {FAKE_LISTENER, FAKE_LISTENER};
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
    fake_listen_to(&g.entered);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(
            warprsa_queue_collect(queue, r[i].ticket, r[i].output, NULL),
            WARPRSA_DONE);
        assert_true(fake_is_right(&r[i]));
    }
    assert_int_equal(g.entered.calls, 1);
    fake_tell(&g.opened);
    assert_int_equal(warprsa_queue_wait(queue, first.ticket, first.output),
                     WARPRSA_DONE);
    warprsa_key_release(key);
    fake_finish(queue, &config);
    assert_int_equal(g.entered.calls, 3);
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
TEST_IN(given_back_once, reset, NULL)
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
    fake_finish(queue, &config);
    assert_int_equal(calls, 1000);
}

TEST_IN(a_used_or_wild_ticket_is_refused, reset, NULL)
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
    fake_finish(queue, &config);
}

/* A job that is never resumed leaves its answer behind; the slot comes back. */
TEST_IN(an_answer_nobody_collects_is_reclaimed, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    fake_listener l = FAKE_LISTENER;
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
                             (warprsa_notify){.wake = fake_tell, .arg = &l},
                             &left.ticket),
        WARPRSA_DONE);
    fake_listen_to(&l);
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
    fake_finish(queue, &config);
}

RUN_TESTS(NULL, NULL)
