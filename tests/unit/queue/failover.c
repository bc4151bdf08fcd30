/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a host does not answer, another device does.
 */
#include "batching/queue/queue_core.h"

#include <stdatomic.h>

#include "batching/queue/queue_device.h"
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

/* A key that a host does not take is no reason to leave the host alone: whoever
 * has such a key could keep it from all others. */
TEST_IN(a_key_that_a_host_does_not_take_pauses_no_host, reset, NULL)
{
    setting s = set_up(fake_engine_hosts(), HOSTS);
    fake_request r;

    FAKE_SET(unsupported, true);
    FAKE_SET(unanswered, 1);
    submit(&s, &r, 1);
    assert_int_equal(warprsa_queue_wait(s.queue, r.ticket, r.output),
                     WARPRSA_REFUSED);
    for (unsigned d = 0; d < HOSTS; d++)
        assert_int_equal(s.queue->activity[d].paused_until_ns, 0);
    assert_int_equal(failovers(&s), 0);
    assert_int_equal(s.c->cpu_reason[WARPRSA_CPU_UNSUPPORTED_KEY], 1);
    /* Control: a host that can't compute pauses. */
    FAKE_SET(unsupported, false);
    FAKE_SET(unanswered, 1);
    submit(&s, &r, 1);
    assert_int_equal(warprsa_queue_wait(s.queue, r.ticket, r.output),
                     WARPRSA_DONE);
    assert_true(s.queue->activity[0].paused_until_ns +
                    s.queue->activity[1].paused_until_ns >
                0);
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

static setting set_up_beside_cpus(void)
{
    setting s = {.config = fake_config()};

    FAKE_SET(second_devices, 1);
    s.config.engines[0].engine = fake_engine_hosts();
    s.config.engines[1] = s.config.engines[0];
    s.config.engines[1].engine = fake_engine_second();
    s.config.engines[1].on_cpus = true;
    s.config.engine_count = 2;
    s.c = s.config.counters;
    s.queue = fake_ready_queue(&s.config);
    WAIT_UNTIL(s.c->devices == 2);
    s.key = fake_add_key(s.queue, WARPRSA_CLASS_2048, 1);
    return s;
}

/* The CPUs beside a host are nobody else: they leave it its requests ... */
TEST_IN(a_full_host_beside_cpus_refuses, reset, NULL)
{
    setting s = set_up_beside_cpus();
    fake_request r;

    FAKE_SET(unanswered, 1);
    submit(&s, &r, 1);
    assert_int_equal(warprsa_queue_wait(s.queue, r.ticket, r.output),
                     WARPRSA_REFUSED);
    assert_int_equal(failovers(&s), 0);
    assert_int_equal(fake.batches, 1);
    tear_down(&s);
}

/* ... until it is lost. */
TEST_IN(the_batch_of_a_lost_host_goes_to_the_cpus, reset, NULL)
{
    setting s = set_up_beside_cpus();
    fake_request r;

    FAKE_SET(hold_open, true);
    FAKE_SET(wait_failures, 1);
    submit(&s, &r, 1);
    assert_int_equal(warprsa_queue_wait(s.queue, r.ticket, r.output),
                     WARPRSA_DONE);
    assert_true(fake_is_right(&r));
    assert_int_equal(failovers(&s), 1);
    assert_true(fake.log[1].second);
    FAKE_SET(hold_open, false);
    tear_down(&s);
}

static unsigned batches_running(void)
{
    unsigned running;

    pthread_mutex_lock(&fake.lock);
    running = fake.running;
    pthread_mutex_unlock(&fake.lock);
    return running;
}

/* A host that has given a request back pauses. The other one has begun with a
 * batch that does not end: the first takes the request after its pause. */
TEST_IN(a_host_looks_again_after_its_pause, reset, NULL)
{
    setting s = set_up(fake_engine_hosts(), HOSTS);
    fake_request r[2];

    FAKE_SET(hold, true);
    submit(&s, r, 1);
    FAKE_WAIT(fake.running == 1);
    FAKE_SET(start_status, WARPRSA_NO_MEMORY);
    FAKE_SET(start_failures, 1);
    fake_fill(&r[1], WARPRSA_CLASS_2048, 1, 1);
    assert_int_equal(fake_submit(s.queue, s.key, &r[1]), WARPRSA_DONE);
    WAIT_UNTIL(batches_running() == 2);
    FAKE_SET(hold, false);
    all_are_right(&s, r, 2);
    assert_int_equal(failovers(&s), 1);
    assert_int_equal(s.c->device_losses, 0);
    tear_down(&s);
}

/* A thread may arm the eventcount of a host whose workers it saw idle, after
 * they have found the host lost. A request does not wake them then, but the
 * worker of the other host. */
TEST_IN(a_lost_host_takes_no_wake_up, reset, NULL)
{
    setting s = set_up(fake_engine_hosts(), HOSTS);
    warprsa_device_activity *activity = s.queue->activity;
    fake_request r;

    FAKE_SET(hold_open, true);
    warprsa_device_failed(&s.queue->devices[0], WARPRSA_DEVICE_ERROR);
    FAKE_WAIT(fake.waiting == 1);
    WAIT_UNTIL(warprsa_eventcount_has_waiter(&activity[1].eventcount));
    (void)warprsa_eventcount_prepare_wait(&activity[0].eventcount);
    submit(&s, &r, 1);
    assert_true(warprsa_eventcount_has_waiter(&activity[0].eventcount));
    all_are_right(&s, &r, 1);
    FAKE_SET(hold_open, false);
    tear_down(&s);
}

static atomic_bool looked_enough;

static void *look_for_lost(void *arg)
{
    while (!atomic_load(&looked_enough))
        (void)warprsa_queue_has_lost_device(arg);
    return NULL;
}

/* For ThreadSanitizer: the supervisor of a queue asks while hosts are found and
 * added. */
TEST_IN(hosts_are_added_while_others_are_asked, reset, NULL)
{
    setting s = {.config = fake_config()};
    pthread_t looker;

    s.config.engines[0].engine = fake_engine_hosts();
    s.c = s.config.counters;
    FAKE_SET(hold_count, true);
    s.queue = fake_open_queue(&s.config);
    assert_int_equal(pthread_create(&looker, NULL, look_for_lost, s.queue), 0);
    FAKE_SET(hold_count, false);
    WAIT_UNTIL(s.c->devices == 1);
    FAKE_SET(devices, HOSTS);
    warprsa_queue_add_devices(s.queue);
    WAIT_UNTIL(s.c->devices == HOSTS);
    s.key = fake_add_key(s.queue, WARPRSA_CLASS_2048, 1);
    atomic_store(&looked_enough, true);
    assert_int_equal(pthread_join(looker, NULL), 0);
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

/* A host that goes while it is opened is not in use until it is opened again,
 * though open() has succeeded. */
static void opens_twice(setting *s, unsigned opened, unsigned losses)
{
    fake_request r;

    WAIT_UNTIL(warprsa_queue_wait_ready(s->queue, 0) == WARPRSA_QUEUE_READY);
    assert_int_equal(fake.opens, opened + 2);
    assert_int_equal(fake.closes, opened + 1);
    assert_int_equal(s->c->device_losses, losses);
    submit(s, &r, 1);
    all_are_right(s, &r, 1);
    tear_down(s);
}

TEST_IN(a_host_that_goes_while_it_is_opened, reset, NULL)
{
    setting s = {.config = fake_config()};

    s.config.engines[0].engine = fake_engine_hosts();
    s.c = s.config.counters;
    FAKE_SET(open_losses, 1);
    s.queue = fake_open_queue(&s.config);
    s.key = fake_add_key(s.queue, WARPRSA_CLASS_2048, 1);
    opens_twice(&s, 0, 0);
}

TEST_IN(a_host_that_goes_while_it_is_opened_again, reset, NULL)
{
    setting s = set_up(fake_engine_hosts(), 1);

    FAKE_SET(hold_open, true);
    FAKE_SET(open_losses, 1);
    fake_lose_device();
    WAIT_UNTIL(warprsa_queue_wait_ready(s.queue, 0) == WARPRSA_QUEUE_DOWN);
    FAKE_SET(hold_open, false);
    opens_twice(&s, 1, 1);
}

/* The host goes after a batch has missed its deadline, and the test that would
 * bring it back passes all the same. */
TEST_IN(a_host_that_goes_while_it_is_tested, reset, NULL)
{
    setting s = set_up(fake_engine_hosts(), 1);
    fake_request r;

    FAKE_SET(hold, true);
    FAKE_SET(overdue, 1);
    submit(&s, &r, 1);
    assert_int_equal(warprsa_queue_wait(s.queue, r.ticket, r.output),
                     WARPRSA_REFUSED);
    WAIT_UNTIL(warprsa_queue_wait_ready(s.queue, 0) == WARPRSA_QUEUE_DOWN);
    fake_lose_device();
    FAKE_SET(hold, false);
    WAIT_UNTIL(warprsa_queue_wait_ready(s.queue, 0) == WARPRSA_QUEUE_READY);
    assert_int_equal(fake.opens, 2);
    assert_int_equal(s.c->device_losses, 1);
    assert_int_equal(fake_answer(s.queue, s.key, 1), WARPRSA_DONE);
    tear_down(&s);
}

/* The host goes when this is set and it has loaded a key: a worker is done with
 * that, and has not left the device yet. */
static atomic_bool goes_with_a_key;
void __real_warprsa_wipe_registers(void);
void __wrap_warprsa_wipe_registers(void);
void __wrap_warprsa_wipe_registers(void)
{
    unsigned loads;

    __real_warprsa_wipe_registers();
    pthread_mutex_lock(&fake.lock);
    loads = fake.loads;
    pthread_mutex_unlock(&fake.lock);
    if (loads != 0 && atomic_exchange(&goes_with_a_key, false))
        fake_lose_device();
}

/* The request must not wait for the host, which will have no such key. */
TEST_IN(a_host_that_goes_when_it_has_the_key, reset, NULL)
{
    setting s = set_up(fake_engine_hosts(), 1);
    fake_request r;

    FAKE_SET(hold_open, true);
    atomic_store(&goes_with_a_key, true);
    submit(&s, &r, 1);
    assert_int_equal(warprsa_queue_wait(s.queue, r.ticket, r.output),
                     WARPRSA_REFUSED);
    assert_int_equal(s.c->cpu_reason[WARPRSA_CPU_ERROR], 1);
    FAKE_SET(hold_open, false);
    FAKE_WAIT(fake.opens == 2);
    WAIT_UNTIL(warprsa_queue_wait_ready(s.queue, 0) == WARPRSA_QUEUE_READY);
    assert_int_equal(fake_answer(s.queue, s.key, 1), WARPRSA_DONE);
    assert_int_equal(fake.loads, 2);
    tear_down(&s);
}

/* Nor does it wait there for another key, at which the host may hang. */
TEST_IN(a_host_that_goes_while_it_loads_another_key, reset, NULL)
{
    setting s = {.config = fake_config()};
    fake_request loading, other;
    warprsa_key *key;

    s.config.engines[0].engine = fake_engine_hosts();
    s.config.engines[0].streams = 2;
    s.c = s.config.counters;
    s.queue = fake_ready_queue(&s.config);
    s.key = fake_add_key(s.queue, WARPRSA_CLASS_2048, 1);
    key = fake_add_key(s.queue, WARPRSA_CLASS_2048, 2);
    FAKE_SET(hold_load, true);
    submit(&s, &loading, 1);
    FAKE_WAIT(fake.waiting == 1);
    fake_fill(&other, WARPRSA_CLASS_2048, 2, 2);
    assert_int_equal(fake_submit(s.queue, key, &other), WARPRSA_DONE);
    WAIT_UNTIL(s.queue->devices[0].loads->requests == 2);
    fake_lose_device();
    assert_int_equal(warprsa_queue_wait(s.queue, other.ticket, other.output),
                     WARPRSA_REFUSED);
    assert_int_equal(s.c->cpu_reason[WARPRSA_CPU_ERROR], 1);
    assert_int_equal(fake.waiting, 1);
    FAKE_SET(hold_load, false);
    assert_int_equal(
        warprsa_queue_wait(s.queue, loading.ticket, loading.output),
        WARPRSA_REFUSED);
    warprsa_key_release(key);
    tear_down(&s);
}

RUN_TESTS(NULL, NULL)
