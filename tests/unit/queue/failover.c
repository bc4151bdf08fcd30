/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a host does not answer, another device does.
 */
#include "batching/queue/queue_core.h"
#include "tests/unit/support/fake_queue.h"

enum {
    HOSTS = 2,
    MANY = 20,
    FAILOVERS_MAX = 3, /* as in failover.c */
};

typedef struct setting {
    warprsa_queue_config config;
    warprsa_counters *c;
    warprsa_queue *queue;
    warprsa_key *key;
} setting;

static setting set_up(const warprsa_engine *engine, unsigned devices)
{
    setting s = {.config = fake_config()};

    FAKE_SET(devices, devices);
    s.config.engines[0].engine = engine;
    s.c = s.config.counters;
    s.queue = fake_ready_queue(&s.config);
    WAIT_UNTIL(s.c->devices == devices);
    s.key = fake_add_key(s.queue, WARPRSA_CLASS_2048, 1);
    return s;
}

static void tear_down(setting *s)
{
    warprsa_key_release(s->key);
    assert_true(warprsa_queue_close(s->queue));
    assert_int_equal(fake.keys, 0);
    assert_int_equal(fake.opens, fake.closes);
    if (fake.broken != NULL)
        fail_msg("the queue broke a rule of gpu/engine.h: %s", fake.broken);
    warprsa_counters_free(s->c);
}

static uint64_t failovers(const setting *s)
{
    uint64_t sum = 0;

    for (unsigned d = 0; d < WARPRSA_COUNTERS_DEVICES; d++)
        sum += s->c->device_of[d].failovers;
    return sum;
}

static void submit(setting *s, fake_request *r, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        fake_fill(&r[i], WARPRSA_CLASS_2048, 1, i);
        assert_int_equal(fake_submit(s->queue, s->key, &r[i]), WARPRSA_DONE);
    }
}

static void all_are_right(setting *s, fake_request *r, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(warprsa_queue_wait(s->queue, r[i].ticket, r[i].output),
                         WARPRSA_DONE);
        assert_true(fake_is_right(&r[i]));
    }
    assert_int_equal(fake_sum(s->c->cpu_reason, WARPRSA_CPU_REASONS), 0);
    assert_int_equal(fake_sum(s->c->gpu, WARPRSA_CLASSES), count);
    assert_int_equal(warprsa_queue_depth(s->queue), 0);
}

TEST_IN(the_batch_of_a_lost_host_goes_to_another, reset, NULL)
{
    setting s = set_up(fake_engine_hosts(), HOSTS);
    fake_request r[MANY];

    FAKE_SET(hold, true);
    submit(&s, r, MANY);
    FAKE_WAIT(fake.running >= 1);
    FAKE_SET(wait_failures, 1);
    FAKE_SET(hold, false);
    all_are_right(&s, r, MANY);
    assert_true(failovers(&s) >= 1);
    assert_int_equal(s.c->device_losses, 1);
    tear_down(&s);
}

/* start() fails, as it does once a host has said that it drains. */
TEST_IN(a_batch_that_does_not_start_goes_to_another, reset, NULL)
{
    setting s = set_up(fake_engine_hosts(), HOSTS);
    fake_request r[1];

    FAKE_SET(start_status, WARPRSA_DEVICE_ERROR);
    FAKE_SET(start_failures, 1);
    submit(&s, r, 1);
    all_are_right(&s, r, 1);
    assert_int_equal(failovers(&s), 1);
    tear_down(&s);
}

TEST_IN(requests_whose_key_is_not_loaded_go_to_another, reset, NULL)
{
    setting s = set_up(fake_engine_hosts(), HOSTS);
    fake_request r[MANY];

    FAKE_SET(load_failures, 1);
    submit(&s, r, MANY);
    all_are_right(&s, r, MANY);
    assert_true(failovers(&s) >= 1);
    tear_down(&s);
}

/* A full host: it does a part of a batch. */
TEST_IN(what_a_host_does_not_do_another_does, reset, NULL)
{
    setting s = set_up(fake_engine_hosts(), HOSTS);
    fake_request r[MANY];

    FAKE_SET(unanswered, 3);
    submit(&s, r, MANY);
    all_are_right(&s, r, MANY);
    assert_int_equal(failovers(&s), 3);
    assert_int_equal(s.c->device_losses, 0);
    tear_down(&s);
}

/* All hosts are full: the caller computes, and need not wait for the deadline.
 */
TEST_IN(a_request_is_not_passed_round_for_ever, reset, NULL)
{
    setting s = set_up(fake_engine_hosts(), HOSTS);
    fake_request r;

    FAKE_SET(unanswered, 1000);
    submit(&s, &r, 1);
    assert_int_equal(warprsa_queue_wait(s.queue, r.ticket, r.output),
                     WARPRSA_REFUSED);
    assert_int_equal(s.c->cpu_reason[WARPRSA_CPU_ERROR], 1);
    assert_int_equal(failovers(&s), FAILOVERS_MAX);
    assert_int_equal(warprsa_queue_depth(s.queue), 0);
    tear_down(&s);
}

/* One host alone: there is nobody else. */
TEST_IN(the_last_host_refuses, reset, NULL)
{
    setting s = set_up(fake_engine_hosts(), 1);
    fake_request r;

    FAKE_SET(wait_failures, 1);
    submit(&s, &r, 1);
    assert_int_equal(warprsa_queue_wait(s.queue, r.ticket, r.output),
                     WARPRSA_REFUSED);
    assert_int_equal(failovers(&s), 0);
    tear_down(&s);
}

/* The batch may be what the GPU failed at. */
TEST_IN(a_gpus_batch_goes_to_no_other_gpu, reset, NULL)
{
    setting s = set_up(fake_engine_get(), 2);
    fake_request r;

    FAKE_SET(wait_failures, 1);
    submit(&s, &r, 1);
    assert_int_equal(warprsa_queue_wait(s.queue, r.ticket, r.output),
                     WARPRSA_REFUSED);
    assert_int_equal(failovers(&s), 0);
    tear_down(&s);
}

/* Callers give up while their requests are with the host that fails. */
TEST_IN(what_nobody_waits_for_is_dropped, reset, NULL)
{
    setting s = set_up(fake_engine_hosts(), HOSTS);
    fake_request r[MANY];

    FAKE_SET(hold, true);
    submit(&s, r, MANY);
    FAKE_WAIT(fake.running >= 1);
    for (unsigned i = 0; i < MANY; i++) /* as if the deadline had passed */
        s.queue->slots.slot[r[i].ticket.slot].submitted_ns -=
            s.queue->slots.deadline_ns;
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(
            warprsa_queue_collect(s.queue, r[i].ticket, r[i].output, NULL),
            WARPRSA_REFUSED);
    FAKE_SET(wait_failures, 1);
    FAKE_SET(hold, false);
    WAIT_UNTIL(warprsa_queue_depth(s.queue) == 0);
    assert_int_equal(failovers(&s), 0);
    tear_down(&s);
}

/* A host that goes while it has nothing to do is out of use at once, and is
 * opened again without a request. */
TEST_IN(an_idle_host_that_goes_is_noticed, reset, NULL)
{
    setting s = set_up(fake_engine_hosts(), 1);
    fake_request r;

    FAKE_SET(hold_open, true);
    fake_lose_device();
    WAIT_UNTIL(s.c->devices == 0);
    assert_int_equal(s.c->device_losses, 1);
    FAKE_SET(hold_open, false);
    WAIT_UNTIL(warprsa_queue_wait_ready(s.queue, 0) == WARPRSA_QUEUE_READY);
    submit(&s, &r, 1);
    all_are_right(&s, &r, 1);
    assert_int_equal(fake.opens, 2);
    tear_down(&s);
}

RUN_TESTS(NULL, NULL)
