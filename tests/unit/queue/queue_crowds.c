/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Many threads at one queue, more than CPUs: each gets its own answers.
 */
#include "tests/unit/support/fake_queue.h"

#include <pthread.h>
#include <stdlib.h>

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
    fake_listener l[MEMBER_AT_ONCE] = {FAKE_LISTENER, FAKE_LISTENER,
                                       FAKE_LISTENER, FAKE_LISTENER};
    fake_request r[MEMBER_AT_ONCE];
    bool queued[MEMBER_AT_ONCE];

    for (unsigned i = 0; i < MEMBER_AT_ONCE; i++) {
        bool sleeps = (i + m->number) % 2 == 0;
        warprsa_notify notify = {.wake = sleeps ? NULL : fake_tell,
                                 .arg = &l[i]};

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
            fake_listen_to(&l[i]);
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

TEST_IN(a_crowd_gets_its_own_answers, reset, NULL)
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

TEST_IN(many_more_threads_than_cpus, reset, NULL)
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
    fake_finish(queue, &config);
    free(server);
}

RUN_TESTS(NULL, NULL)
