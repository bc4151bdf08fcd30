/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The queue under load: several devices share it, and devices that fail, hang
 * and come back during that load cost no operation.
 */
#include "tests/unit/support/fake_queue.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    DEVICES = 4
};

/* As many requests as devices, one after the other, all under way at once.
 * Returns how many devices got one. */
static unsigned devices_used(warprsa_queue *queue, warprsa_key *key)
{
    unsigned first = fake.batches, used = 0;
    fake_request r[DEVICES];

    FAKE_SET(hold, true);
    for (unsigned i = 0; i < DEVICES; i++) {
        fake_fill(&r[i], WARPRSA_CLASS_2048, 1, i);
        assert_int_equal(fake_submit(queue, key, &r[i]), WARPRSA_DONE);
        FAKE_WAIT(fake.running == i + 1);
    }
    for (unsigned i = 0; i < DEVICES; i++)
        used |= 1u << fake.log[first + i].device;
    FAKE_SET(hold, false);
    for (unsigned i = 0; i < DEVICES; i++)
        assert_int_equal(warprsa_queue_wait(queue, r[i].ticket, r[i].output),
                         WARPRSA_DONE);
    return (unsigned)__builtin_popcount(used);
}

/* Requests go to the device with least to do, though each could take two. A
 * worker that was not asleep yet may be faster than the one that is woken; then
 * the test tries again. */
TEST_IN(devices_share_the_load, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;
    warprsa_key *key;
    unsigned tries = FAKE_BATCHES_LOGGED / DEVICES;

    FAKE_SET(devices, DEVICES);
    config.engines[0].streams = 2;
    queue = fake_ready_queue(&config);
    WAIT_UNTIL(config.counters->devices == DEVICES);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    while (devices_used(queue, key) < DEVICES)
        assert_true(--tries > 0);
    for (unsigned i = 0; i < DEVICES; i++) {
        assert_true(config.counters->device_of[i].gpu >= 1);
        assert_true(config.counters->device_of[i].batches >= 1);
        assert_int_equal(config.counters->device_of[i].ready, 1);
    }
    assert_int_equal(fake.keys, DEVICES); /* uploaded where it was needed */
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

TEST_IN(only_chosen_devices_are_used, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;
    warprsa_key *key;
    fake_request r;

    FAKE_SET(devices, 4);
    config.engines[0].devices = 1u << 1 | 1u << 3;
    queue = fake_ready_queue(&config);
    WAIT_UNTIL(config.counters->devices == 2);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    for (unsigned i = 0; i < 40; i++) {
        fake_fill(&r, WARPRSA_CLASS_2048, 1, i);
        assert_int_equal(fake_submit(queue, key, &r), WARPRSA_DONE);
        assert_int_equal(warprsa_queue_wait(queue, r.ticket, r.output),
                         WARPRSA_DONE);
        assert_true(fake.log[i].device == 1 || fake.log[i].device == 3);
    }
    assert_int_equal(config.counters->device_of[0].gpu +
                         config.counters->device_of[1].gpu,
                     40);
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

/* Every slot taken: the next caller is refused at once, nothing grows. */
TEST_IN(a_full_queue_refuses, reset, NULL)
{
    enum {
        SLOTS = 8
    };
    warprsa_queue_config config = fake_config();
    fake_request r[SLOTS], late;
    warprsa_queue *queue;
    warprsa_key *key;
    uint64_t bytes;

    config.slots = SLOTS;
    queue = fake_ready_queue(&config);
    bytes = config.counters->slots_bytes;
    assert_int_equal(config.counters->slots, SLOTS);
    assert_true(bytes > SLOTS * 1024);
    key = fake_add_key(queue, WARPRSA_CLASS_4096, 1);
    FAKE_SET(hold, true);
    for (unsigned i = 0; i < SLOTS; i++) {
        fake_fill(&r[i], WARPRSA_CLASS_4096, 1, i);
        assert_int_equal(fake_submit(queue, key, &r[i]), WARPRSA_DONE);
    }
    fake_fill(&late, WARPRSA_CLASS_4096, 1, 99);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(fake_submit(queue, key, &late), WARPRSA_REFUSED);
    assert_int_equal(config.counters->cpu_reason[WARPRSA_CPU_QUEUE_FULL], 1000);
    FAKE_SET(hold, false);
    for (unsigned i = 0; i < SLOTS; i++)
        assert_int_equal(warprsa_queue_wait(queue, r[i].ticket, r[i].output),
                         WARPRSA_DONE);
    assert_int_equal(fake_submit(queue, key, &late), WARPRSA_DONE);
    assert_int_equal(warprsa_queue_wait(queue, late.ticket, late.output),
                     WARPRSA_DONE);
    assert_int_equal(config.counters->slots_bytes, bytes);
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

enum {
    SLEEPERS = 6, /* threads that wait asleep */
    LOOPS = 3,    /* threads that are notified */
    EACH = 32,    /* requests at once of one of the latter */
};

/* One thread of callers, and what became of its operations. */
typedef struct caller {
    pthread_t thread;
    warprsa_queue *queue;
    const _Atomic bool *stop;
    unsigned number;
    unsigned made, done, refused, wrong;
} caller;

static void note(caller *me, warprsa_answer answer, const fake_request *r)
{
    me->made++;
    if (answer == WARPRSA_DONE) {
        me->done++;
        me->wrong += !fake_is_right(r);
    } else {
        me->refused++; /* the caller computes it itself */
    }
}

static void *sleeper_main(void *arg)
{
    caller *me = arg;

    while (!atomic_load(me->stop)) {
        unsigned seed = me->made % 5;
        warprsa_key *key = fake_add_key(me->queue, WARPRSA_CLASS_2048, seed);
        fake_request r;
        warprsa_answer answer;

        fake_fill(&r, WARPRSA_CLASS_2048, seed, me->made * 64 + me->number);
        answer = fake_submit(me->queue, key, &r);
        if (answer == WARPRSA_DONE)
            answer = warprsa_queue_wait(me->queue, r.ticket, r.output);
        note(me, answer, &r);
        warprsa_key_release(key);
        if (answer != WARPRSA_DONE)
            sched_yield();
    }
    return NULL;
}

static void post(void *arg)
{
    sem_post(arg);
}

/* A round of requests at once; each is notified once, or refused at once. */
static void run_round(caller *me, warprsa_key *key, sem_t *told)
{
    fake_request r[EACH];
    bool pending[EACH];

    for (unsigned i = 0; i < EACH; i++) {
        warprsa_answer answer;

        sem_init(&told[i], 0, 0);
        fake_fill(&r[i], WARPRSA_CLASS_4096, 9, me->made * 64 + me->number);
        answer = warprsa_queue_submit(
            me->queue, key, r[i].input,
            (warprsa_notify){.wake = post, .arg = &told[i]}, &r[i].ticket);
        pending[i] = answer == WARPRSA_DONE;
        if (!pending[i])
            note(me, answer, &r[i]);
    }
    for (unsigned i = 0; i < EACH; i++) {
        warprsa_answer answer = WARPRSA_PENDING;

        if (!pending[i])
            continue;
        while (sem_wait(&told[i]) != 0)
            ;
        while (answer == WARPRSA_PENDING)
            answer = warprsa_queue_collect(me->queue, r[i].ticket, r[i].output,
                                           NULL);
        note(me, answer, &r[i]);
    }
}

static void *loop_main(void *arg)
{
    caller *me = arg;
    warprsa_key *key = fake_add_key(me->queue, WARPRSA_CLASS_4096, 9);
    sem_t told[EACH];

    while (!atomic_load(me->stop))
        run_round(me, key, told);
    warprsa_key_release(key);
    return NULL;
}

static void start_callers(caller *callers, warprsa_queue *queue,
                          const _Atomic bool *stop)
{
    for (unsigned i = 0; i < SLEEPERS + LOOPS; i++) {
        callers[i] = (caller){.queue = queue, .stop = stop, .number = i};
        assert_int_equal(pthread_create(&callers[i].thread, NULL,
                                        i < SLEEPERS ? sleeper_main : loop_main,
                                        &callers[i]),
                         0);
    }
}

/* Joins them; every operation has an answer and none is wrong. Returns those
 * that devices answered. */
static unsigned stop_callers(caller *callers, _Atomic bool *stop,
                             const warprsa_counters *c)
{
    unsigned done = 0, refused = 0;

    atomic_store(stop, true);
    for (unsigned i = 0; i < SLEEPERS + LOOPS; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].wrong, 0);
        assert_int_equal(callers[i].made, callers[i].done + callers[i].refused);
        done += callers[i].done;
        refused += callers[i].refused;
    }
    assert_int_equal(fake_sum(c->gpu, WARPRSA_CLASSES), done);
    assert_int_equal(fake_sum(c->cpu_reason, WARPRSA_CPU_REASONS), refused);
    return done;
}

static void wait_for_answers(const warprsa_counters *c, uint64_t more)
{
    uint64_t until = fake_sum(c->gpu, WARPRSA_CLASSES) + more;

    WAIT_UNTIL(fake_sum(c->gpu, WARPRSA_CLASSES) >= until);
}

static void ready_again(const warprsa_counters *c, unsigned devices)
{
    WAIT_UNTIL(c->devices == devices);
    wait_for_answers(c, 200);
}

/* Devices die in the middle of it: of a batch, of a launch, of a key, and with
 * them the attempts to open them again; one hangs past the deadline. */
TEST_IN(lost_under_full_load, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    caller callers[SLEEPERS + LOOPS];
    _Atomic bool stop = false;
    warprsa_queue *queue;
    uint64_t losses;

    FAKE_SET(devices, 2);
    config.engines[0].streams = 2;
    config.slots = 96; /* fewer than wanted, too */
    config.deadline_ms = 1000;
    queue = fake_ready_queue(&config);
    start_callers(callers, queue, &stop);
    ready_again(config.counters, 2);
    for (unsigned i = 0; i < 5; i++) {
        losses = config.counters->device_losses;
        if (i == 1)
            FAKE_SET(open_failures, 2);
        if (i % 2 == 0)
            FAKE_SET(wait_failures, 1 + i / 2);
        FAKE_SET(start_status, WARPRSA_DEVICE_ERROR);
        if (i % 2 == 1)
            FAKE_SET(start_failures, i);
        WAIT_UNTIL(config.counters->device_losses > losses);
        ready_again(config.counters, 2);
    }
    losses = config.counters->device_losses;
    FAKE_SET(hold, true); /* both hang */
    WAIT_UNTIL(config.counters->device_losses >= losses + 2);
    WAIT_UNTIL(config.counters->devices == 0);
    FAKE_SET(hold, false);
    ready_again(config.counters, 2);
    assert_true(stop_callers(callers, &stop, config.counters) > 1000);
    assert_int_equal(config.counters->device_losses,
                     config.counters->device_of[0].losses +
                         config.counters->device_of[1].losses);
    /* A request whose caller has given up keeps its key until a worker has
     * answered it. */
    WAIT_UNTIL(config.counters->keys == 0);
    fake_finish(queue, &config);
}

RUN_TESTS(NULL, NULL)
