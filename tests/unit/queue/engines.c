/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A queue with the devices of several engines side by side.
 */
#include "tests/unit/support/fake_queue.h"

#include "batching/queue/router.h"
#include "batching/queue/scheduling.h"

enum {
    FIRST_STREAMS = 2,
    SECOND_STREAMS = 12,
    SECOND_BATCH_MAX = 4,
    TRIES = 8,
};

static warprsa_queue_config two_engines(void)
{
    warprsa_queue_config config = fake_config();

    config.engines[0].streams = FIRST_STREAMS;
    config.engines[1] = (warprsa_queue_engine){
        .engine = fake_engine_second(),
        .devices = UINT32_MAX,
        .streams = SECOND_STREAMS,
        .batch_max = SECOND_BATCH_MAX,
    };
    config.engine_count = 2;
    return config;
}

/* As many requests as streams, one after the other, all under way at once.
 * Returns whether the first engine's streams got the first ones. */
static bool first_engine_was_preferred(warprsa_queue *queue, warprsa_key *key)
{
    enum {
        ALL = FIRST_STREAMS + SECOND_STREAMS
    };
    unsigned first = fake.batches, streams = 0;
    fake_request r[ALL];
    bool preferred = true;

    FAKE_SET(hold, true);
    for (unsigned i = 0; i < ALL; i++) {
        fake_fill(&r[i], WARPRSA_CLASS_2048, 1, i);
        assert_int_equal(fake_submit(queue, key, &r[i]), WARPRSA_DONE);
        FAKE_WAIT(fake.running == i + 1);
    }
    for (unsigned i = 0; i < ALL; i++) {
        preferred &= fake.log[first + i].second == (i >= FIRST_STREAMS);
        if (fake.log[first + i].second)
            streams |= 1u << fake.log[first + i].stream;
    }
    assert_int_equal(streams, (1u << SECOND_STREAMS) - 1);
    FAKE_SET(hold, false);
    for (unsigned i = 0; i < ALL; i++) {
        assert_int_equal(warprsa_queue_wait(queue, r[i].ticket, r[i].output),
                         WARPRSA_DONE);
        assert_true(fake_is_right(&r[i]));
    }
    return preferred;
}

/* A worker that was not asleep yet may be faster than the one that is woken;
 * then the test tries again, as often as the log has room. */
TEST_IN(the_first_engine_is_preferred, reset, NULL)
{
    warprsa_queue_config config = two_engines();
    unsigned tries = FAKE_BATCHES_LOGGED / (FIRST_STREAMS + SECOND_STREAMS);
    char text[WARPRSA_COUNTERS_TEXT];
    warprsa_queue *queue;
    warprsa_key *key;

    FAKE_SET(second_devices, 1);
    queue = fake_ready_queue(&config);
    WAIT_UNTIL(config.counters->devices == 2);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    while (!first_engine_was_preferred(queue, key))
        assert_true(--tries > 0);
    warprsa_counters_device(config.counters, text);
    assert_string_equal(text, "Fake (fake 0)");
    assert_true(config.counters->device_of[0].gpu >= FIRST_STREAMS);
    assert_true(config.counters->device_of[1].gpu >= 1);
    assert_int_equal(fake.keys, 2); /* uploaded where it was needed */
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

/* More requests than all batches hold: each engine's take no more than its own
 * do. */
TEST_IN(each_engine_has_its_own_batches, reset, NULL)
{
    enum {
        MANY = 40
    };
    warprsa_queue_config config = two_engines();
    fake_request r[MANY];
    warprsa_queue *queue;
    warprsa_key *key;

    FAKE_SET(second_devices, 2);
    config.engines[0].batch_max = 2 * SECOND_BATCH_MAX;
    config.engines[1].streams = 1;
    queue = fake_ready_queue(&config);
    WAIT_UNTIL(config.counters->devices == 3);
    key = fake_add_key(queue, WARPRSA_CLASS_4096, 1);
    FAKE_SET(hold, true);
    for (unsigned i = 0; i < MANY; i++) {
        fake_fill(&r[i], WARPRSA_CLASS_4096, 1, i);
        assert_int_equal(fake_submit(queue, key, &r[i]), WARPRSA_DONE);
    }
    FAKE_WAIT(fake.running >= 1);
    FAKE_SET(hold, false);
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(warprsa_queue_wait(queue, r[i].ticket, r[i].output),
                         WARPRSA_DONE);
        assert_true(fake_is_right(&r[i]));
    }
    for (unsigned i = 0; i < fake.batches && i < FAKE_BATCHES_LOGGED; i++)
        assert_true(
            fake.log[i].count <=
            (fake.log[i].second ? SECOND_BATCH_MAX : 2 * SECOND_BATCH_MAX));
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

/* The first engine has no device: the queue is as good as one without it. */
TEST_IN(an_engine_may_have_no_device, reset, NULL)
{
    warprsa_queue_config config = two_engines();
    char text[WARPRSA_COUNTERS_TEXT];
    warprsa_queue *queue;
    warprsa_key *key;
    fake_request r;

    FAKE_SET(devices, 0);
    FAKE_SET(second_devices, 1);
    queue = fake_ready_queue(&config);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    fake_fill(&r, WARPRSA_CLASS_2048, 1, 7);
    assert_int_equal(fake_submit(queue, key, &r), WARPRSA_DONE);
    assert_int_equal(warprsa_queue_wait(queue, r.ticket, r.output),
                     WARPRSA_DONE);
    assert_true(fake_is_right(&r));
    assert_true(fake.log[0].second);
    warprsa_counters_device(config.counters, text);
    assert_string_equal(text, "Fake (second 0)");
    assert_int_equal(config.counters->devices, 1);
    assert_false(warprsa_queue_has_lost_device(queue));
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

/* No engine has one: the reason is the preferred engine's. */
TEST_IN(no_engine_has_a_device, reset, NULL)
{
    warprsa_queue_config config = two_engines();
    char text[WARPRSA_COUNTERS_TEXT];
    warprsa_queue *queue;

    FAKE_SET(devices, 3);
    config.engines[0].devices = 1u << 5;
    queue = fake_open_queue(&config);
    assert_int_equal(warprsa_queue_wait_ready(queue, LONG_MS),
                     WARPRSA_QUEUE_DOWN);
    warprsa_counters_device(config.counters, text);
    assert_string_equal(text, "none: none of the 3 devices is chosen");
    fake_finish(queue, &config);
}

/* The device that has the first batch fails, and the other engine's goes on: no
 * request is lost, and the queue stays ready. Each other thread of the device
 * may have taken one more request before it saw the loss. The first batch is
 * the first engine's, unless its threads find no CPU. */
TEST_IN(a_device_of_another_engine_goes_on, reset, NULL)
{
    warprsa_queue_config config = two_engines();
    unsigned refused = 0;
    warprsa_queue *queue;
    warprsa_key *key;
    fake_request r;

    FAKE_SET(second_devices, 1);
    queue = fake_ready_queue(&config);
    WAIT_UNTIL(config.counters->devices == 2);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    FAKE_SET(open_failures, UINT32_MAX);
    FAKE_SET(wait_failures, 1);
    for (unsigned i = 0; i < TRIES + refused; i++) {
        warprsa_answer answer;

        fake_fill(&r, WARPRSA_CLASS_2048, 1, i);
        assert_int_equal(fake_submit(queue, key, &r), WARPRSA_DONE);
        answer = warprsa_queue_wait(queue, r.ticket, r.output);
        assert_true(answer == WARPRSA_DONE || answer == WARPRSA_REFUSED);
        refused += answer == WARPRSA_REFUSED;
        assert_true(refused <=
                    (fake.log[0].second ? SECOND_STREAMS : FIRST_STREAMS));
    }
    assert_true(refused >= 1);
    assert_int_equal(config.counters->cpu_reason[WARPRSA_CPU_ERROR], refused);
    assert_int_equal(config.counters->device_losses, 1);
    assert_int_equal(config.counters->devices, 1);
    FAKE_SET(open_failures, 0);
    WAIT_UNTIL(config.counters->devices == 2);
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

static void submit_all(warprsa_queue *queue, warprsa_key *key, fake_request *r,
                       unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        fake_fill(&r[i], WARPRSA_CLASS_2048, 1, i);
        assert_int_equal(fake_submit(queue, key, &r[i]), WARPRSA_DONE);
    }
}

static void wait_for_all(warprsa_queue *queue, fake_request *r, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(warprsa_queue_wait(queue, r[i].ticket, r[i].output),
                         WARPRSA_DONE);
        assert_true(fake_is_right(&r[i]));
    }
}

/* A queue with a GPU and CPUs beside it, both ready. */
static warprsa_queue *ready_gpu_and_cpus(warprsa_queue_config *config)
{
    warprsa_queue *queue;

    FAKE_SET(second_devices, 1);
    config->engines[1].on_cpus = true;
    queue = fake_ready_queue(config);
    WAIT_UNTIL(config->counters->devices == 2);
    return queue;
}

/* The CPUs beside a GPU take nothing, since callers need them, however much is
 * queued for the GPU, and whether or not there is a router. */
static void leave_it_to_the_gpu(warprsa_router *router)
{
    enum {
        MANY = 6 * SECOND_BATCH_MAX
    };
    warprsa_queue_config config = two_engines();
    fake_request r[MANY];
    warprsa_queue *queue;
    warprsa_key *key;

    config.router = router;
    config.engines[0].streams = config.engines[0].batch_max = 1;
    queue = ready_gpu_and_cpus(&config);
    assert_false(warprsa_queue_on_cpus(queue));
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    FAKE_SET(hold, true);
    submit_all(queue, key, r, MANY);
    FAKE_WAIT(fake.running == 1);
    assert_int_equal(warprsa_queue_takes_now(queue, 1), 0);
    FAKE_SET(hold, false);
    wait_for_all(queue, r, MANY);
    for (unsigned i = 0; i < fake.batches && i < FAKE_BATCHES_LOGGED; i++)
        assert_false(fake.log[i].second);
    assert_int_equal(fake_sum(config.counters->gpu, WARPRSA_CLASSES), MANY);
    assert_int_equal(fake_sum(config.counters->ifma, WARPRSA_CLASSES), 0);
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

TEST_IN(cpus_leave_it_to_the_gpu, reset, NULL)
{
    leave_it_to_the_gpu(NULL);
}

TEST_IN(cpus_leave_a_saturated_gpu_alone, reset, NULL)
{
    warprsa_router router;

    warprsa_router_init(&router, &warprsa_router_system_clocks, 4);
    leave_it_to_the_gpu(&router);
}

/* A batch of CPUs that is not full lets other threads go first, whether or not
 * its thread ever had to wait for a CPU; one of GPUs never does. */
TEST_IN(fuller_batches_are_worth_a_yield, reset, NULL)
{
    warprsa_queue_config config = two_engines();
    _Atomic uint32_t *queued;
    warprsa_queue *queue;

    queue = ready_gpu_and_cpus(&config);
    queued = &queue->backlog.turns.count[WARPRSA_CLASS_2048];
    atomic_store(queued, SECOND_BATCH_MAX - 1);
    assert_true(warprsa_queue_would_be_fuller(queue, 1));
    assert_false(warprsa_queue_would_be_fuller(queue, 0));
    atomic_store(queued, SECOND_BATCH_MAX);
    assert_false(warprsa_queue_would_be_fuller(queue, 1));
    atomic_store(queued, 0);
    fake_finish(queue, &config);
}

/* Once the GPU is lost they take all, what was queued before included, and are
 * counted apart. */
TEST_IN(cpus_take_over_from_a_lost_gpu, reset, NULL)
{
    enum {
        MANY = 20
    };
    warprsa_queue_config config = two_engines();
    uint64_t done = 0, refused = 0;
    fake_request r[MANY];
    warprsa_queue *queue;
    warprsa_key *key;

    config.engines[0].streams = config.engines[0].batch_max = 1;
    queue = ready_gpu_and_cpus(&config);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    FAKE_SET(open_failures, UINT32_MAX);
    FAKE_SET(hold, true);
    for (unsigned i = 0; i < MANY; i++) {
        fake_fill(&r[i], WARPRSA_CLASS_2048, 1, i);
        assert_int_equal(fake_submit(queue, key, &r[i]), WARPRSA_DONE);
    }
    FAKE_WAIT(fake.running == 1);
    FAKE_SET(wait_failures, 1);
    FAKE_SET(hold, false);
    for (unsigned i = 0; i < MANY; i++) {
        warprsa_answer answer =
            warprsa_queue_wait(queue, r[i].ticket, r[i].output);

        done += answer == WARPRSA_DONE;
        refused += answer == WARPRSA_REFUSED;
    }
    assert_int_equal(refused, 1); /* the batch that was lost */
    assert_int_equal(done, MANY - 1);
    assert_int_equal(fake_sum(config.counters->ifma, WARPRSA_CLASSES), done);
    assert_true(warprsa_queue_on_cpus(queue));
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

/* One request, from submission to its answer. */
static void operate(warprsa_queue *queue, warprsa_key *key, unsigned seed)
{
    fake_request r;

    fake_fill(&r, WARPRSA_CLASS_2048, 1, seed);
    assert_int_equal(fake_submit(queue, key, &r), WARPRSA_DONE);
    assert_int_equal(warprsa_queue_wait(queue, r.ticket, r.output),
                     WARPRSA_DONE);
    assert_true(fake_is_right(&r));
}

/* Beside another host the CPUs take what they answer sooner: nothing before the
 * host was measured, then some, since it is made slow. No request waits for
 * CPUs that have been woken for it and leave it to the host. */
TEST_IN(cpus_help_a_slow_host, reset, NULL)
{
    enum {
        MORE = 2000
    };
    warprsa_queue_config config = two_engines();
    const _Atomic uint64_t *ifma = config.counters->ifma;
    const _Atomic uint64_t *gpu = config.counters->gpu;
    warprsa_queue *queue;
    unsigned seed = 0;
    warprsa_key *key;

    FAKE_SET(second_devices, 1);
    config.engines[0].engine = fake_engine_hosts();
    config.engines[1].on_cpus = true;
    queue = fake_ready_queue(&config);
    WAIT_UNTIL(config.counters->devices == 2);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    operate(queue, key, seed++);
    assert_int_equal(fake_sum(gpu, WARPRSA_CLASSES), 1);
    /* On a busy machine the measurement may be old before it is used. */
    while (fake_sum(ifma, WARPRSA_CLASSES) == 0) {
        assert_true(seed < MORE);
        FAKE_SET(slow_starts, 1);
        operate(queue, key, seed++);
        operate(queue, key, seed++);
    }
    for (unsigned i = 0; i < MORE; i++)
        operate(queue, key, seed++);
    assert_int_equal(
        fake_sum(gpu, WARPRSA_CLASSES) + fake_sum(ifma, WARPRSA_CLASSES), seed);
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

enum {
    FILLED = 4, /* batch_max below */
};

/* CPUs alone, with two threads. */
static warprsa_queue_config two_cpus(void)
{
    warprsa_queue_config config = fake_config();

    config.engines[0].streams = 2;
    config.engines[0].batch_max = FILLED;
    config.engines[0].on_cpus = true;
    return config;
}

/* A second thread begins at once, though there is but one request for it. */
TEST_IN(free_cpus_take_what_there_is, reset, NULL)
{
    warprsa_queue_config config = two_cpus();
    fake_request r[2];
    warprsa_queue *queue;
    warprsa_key *key;

    queue = fake_ready_queue(&config);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    FAKE_SET(hold, true);
    submit_all(queue, key, r, 1);
    FAKE_WAIT(fake.running == 1);
    submit_all(queue, key, r + 1, 1);
    FAKE_WAIT(fake.running == 2);
    FAKE_SET(hold, false);
    wait_for_all(queue, r, 2);
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

/* While threads of the engine have to wait for CPUs, the second one waits for a
 * whole batch, or for the end of the one under way. */
TEST_IN(contended_cpus_fill_batches, reset, NULL)
{
    const struct timespec while_nothing_happens = {.tv_nsec = 50000000};
    warprsa_queue_config config = two_cpus();
    fake_request r[1 + FILLED + 2];
    warprsa_queue *queue;
    warprsa_key *key;

    queue = fake_ready_queue(&config);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    FAKE_SET(slow_starts, 4);
    for (unsigned i = 0; i < 4; i++) {
        submit_all(queue, key, r, 1);
        wait_for_all(queue, r, 1);
    }
    FAKE_SET(hold, true);
    submit_all(queue, key, r, 1);
    FAKE_WAIT(fake.running == 1);
    submit_all(queue, key, r + 1, FILLED - 1);
    nanosleep(&while_nothing_happens, NULL);
    FAKE_WAIT(fake.running == 1);
    submit_all(queue, key, r + FILLED, 1);
    FAKE_WAIT(fake.running == 2);
    assert_int_equal(fake.log[5].count, FILLED);
    submit_all(queue, key, r + 1 + FILLED, 2);
    FAKE_SET(hold, false);
    wait_for_all(queue, r, 1 + FILLED + 2);
    assert_int_equal(fake.batches, 7);
    assert_int_equal(fake.log[6].count, 2);
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

/* Ten requests of a class: one that is under way while the others are queued.
 * Returns how many the batch after it had. */
static unsigned second_batch(warprsa_queue *queue, warprsa_size_class size,
                             uint64_t key_number)
{
    enum {
        MANY = 10
    };
    const unsigned before = fake.batches;
    warprsa_key *key = fake_add_key(queue, size, key_number);
    fake_request r[MANY];

    FAKE_SET(hold, true);
    for (unsigned i = 0; i < MANY; i++) {
        fake_fill(&r[i], size, key_number, i);
        assert_int_equal(fake_submit(queue, key, &r[i]), WARPRSA_DONE);
        if (i == 0)
            FAKE_WAIT(fake.running == 1);
    }
    FAKE_SET(hold, false);
    wait_for_all(queue, r, MANY);
    warprsa_key_release(key);
    return (unsigned)fake.log[before + 1].count;
}

/* Where an engine's memory is for half as many requests of the large classes,
 * batches are no longer than that, rounded up. */
TEST_IN(large_batches_are_half_as_long, reset, NULL)
{
    static warprsa_engine halving;
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;

    halving = *fake_engine_get();
    halving.halves_large_batches = true;
    config.engines[0].engine = &halving;
    config.engines[0].batch_max = 7;
    queue = fake_ready_queue(&config);
    assert_int_equal(second_batch(queue, WARPRSA_CLASS_4096, 1), 7);
    assert_int_equal(second_batch(queue, WARPRSA_CLASS_6144, 2), 4);
    assert_int_equal(second_batch(queue, WARPRSA_CLASS_8192, 3), 4);
    fake_finish(queue, &config);
}

/* The first engine, which takes no large classes, and the CPUs. */
static warprsa_queue_config gpu_and_cpus(void)
{
    static warprsa_engine usual;
    warprsa_queue_config config = two_engines();

    usual = *fake_engine_get();
    usual.classes = WARPRSA_CLASS_LARGE;
    config.engines[0].engine = &usual;
    config.engines[1].on_cpus = true;
    return config;
}

/* What the GPU does not take is the CPUs', and nothing else, once the key is
 * there; input and output of 1024 bytes share their slot. */
TEST_IN(each_engine_takes_its_classes, reset, NULL)
{
    enum {
        MANY = 20
    };
    warprsa_queue_config config = gpu_and_cpus();
    fake_request r[MANY];
    warprsa_key *small, *large;
    warprsa_queue *queue;

    FAKE_SET(second_devices, 1);
    queue = fake_ready_queue(&config);
    WAIT_UNTIL(config.counters->devices == 2);
    small = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    large = fake_add_key(queue, WARPRSA_CLASS_8192, 2);
    assert_true(warprsa_queue_takes(queue, large));
    fake_fill(&r[0], WARPRSA_CLASS_8192, 2, MANY);
    assert_int_equal(fake_submit(queue, large, &r[0]), WARPRSA_DONE);
    assert_int_equal(warprsa_queue_wait(queue, r[0].ticket, r[0].output),
                     WARPRSA_DONE);
    for (unsigned i = 0; i < MANY; i++) {
        const bool is_large = i % 2 == 1;

        fake_fill(&r[i], is_large ? WARPRSA_CLASS_8192 : WARPRSA_CLASS_2048,
                  1 + is_large, i);
        assert_int_equal(fake_submit(queue, is_large ? large : small, &r[i]),
                         WARPRSA_DONE);
    }
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(warprsa_queue_wait(queue, r[i].ticket, r[i].output),
                         WARPRSA_DONE);
        assert_true(fake_is_right(&r[i]));
    }
    for (unsigned i = 0; i < fake.batches && i < FAKE_BATCHES_LOGGED; i++)
        assert_int_equal(fake.log[i].second,
                         fake.log[i].size == WARPRSA_CLASS_8192);
    assert_int_equal(config.counters->gpu[WARPRSA_CLASS_2048], MANY / 2);
    assert_int_equal(config.counters->ifma[WARPRSA_CLASS_8192], MANY / 2 + 1);
    warprsa_key_release(small);
    warprsa_key_release(large);
    fake_finish(queue, &config);
}

/* When the only device that takes a class goes down, what is queued of it is
 * refused, and so is what comes later; the other device is not concerned. */
TEST_IN(a_class_that_no_device_takes_is_refused, reset, NULL)
{
    enum {
        MANY = 5
    };
    warprsa_queue_config config = gpu_and_cpus();
    fake_request r[MANY], other;
    warprsa_key *small, *large;
    warprsa_queue *queue;

    FAKE_SET(second_devices, 1);
    config.engines[1].streams = config.engines[1].batch_max = 1;
    queue = fake_ready_queue(&config);
    WAIT_UNTIL(config.counters->devices == 2);
    small = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    large = fake_add_key(queue, WARPRSA_CLASS_6144, 2);
    FAKE_SET(open_failures, UINT32_MAX);
    FAKE_SET(hold, true);
    for (unsigned i = 0; i < MANY; i++) {
        fake_fill(&r[i], WARPRSA_CLASS_6144, 2, i);
        assert_int_equal(fake_submit(queue, large, &r[i]), WARPRSA_DONE);
    }
    FAKE_WAIT(fake.running == 1);
    FAKE_SET(wait_failures, 1);
    FAKE_SET(hold, false);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(warprsa_queue_wait(queue, r[i].ticket, r[i].output),
                         WARPRSA_REFUSED);
    assert_int_equal(config.counters->cpu_reason[WARPRSA_CPU_DEADLINE], 0);
    assert_false(warprsa_queue_takes(queue, large));
    assert_int_equal(fake_submit(queue, large, &r[0]), WARPRSA_REFUSED);
    assert_int_equal(config.counters->cpu_reason[WARPRSA_CPU_UNSUPPORTED_KEY],
                     1);
    fake_fill(&other, WARPRSA_CLASS_2048, 1, 1);
    assert_int_equal(fake_submit(queue, small, &other), WARPRSA_DONE);
    assert_int_equal(warprsa_queue_wait(queue, other.ticket, other.output),
                     WARPRSA_DONE);
    warprsa_key_release(small);
    warprsa_key_release(large);
    fake_finish(queue, &config);
}

RUN_TESTS(NULL, NULL)
