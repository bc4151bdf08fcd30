/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The life of a queue: opening without means, closing with work and callers
 * of every kind still there, forking.
 */
#include "tests/unit/support/fake_queue.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "batching/queue/queue_core.h"
#include "tests/unit/support/sanitizers.h"

static void wake_counter(void *arg)
{
    atomic_fetch_add((_Atomic unsigned *)arg, 1);
}

TEST_IN(bad_configurations_are_told, reset, NULL)
{
    warprsa_queue_config good = fake_config();
    warprsa_queue_config bad[5] = {good, good, good, good, good};
    warprsa_cpu_reason reason;
    char why[256];

    bad[0].engines[0].engine = NULL;
    bad[1].slots = 65537;
    bad[2].engines[0].streams = WARPRSA_STREAMS_MAX + 1;
    bad[3].engines[0].batch_max = 0;
    bad[4].deadline_ms = 0;
    for (unsigned i = 0; i < 5; i++) {
        why[0] = '\0';
        assert_null(warprsa_queue_open(&bad[i], &reason, why, sizeof(why)));
        assert_int_equal(reason, WARPRSA_CPU_ERROR);
        assert_true(strlen(why) > 10);
    }
    warprsa_counters_free(good.counters);
}

/* haproxy without privileges sets the limit on processes to 0. */
TEST_IN(no_thread_to_be_had, reset, NULL)
{
    pid_t child;
    int status;

    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit none = {0, 0};
        warprsa_queue_config config = fake_config();
        warprsa_cpu_reason reason = WARPRSA_CPU_ERROR;
        char why[256] = "";

        /* The limit does not hold for root. */
        if (setrlimit(RLIMIT_NPROC, &none) != 0 ||
            (getuid() == 0 && setuid(65534) != 0))
            _exit(77);
        if (warprsa_queue_open(&config, &reason, why, sizeof(why)) != NULL)
            _exit(1);
        if (strstr(why, "thread") == NULL || reason != WARPRSA_CPU_NO_THREADS)
            _exit(2);
        warprsa_counters_free(config.counters);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Threads of the queue's first device that block SIGTERM. */
static unsigned quiet_threads(void)
{
    char command[64], line[256];
    unsigned found = 0;
    FILE *list;

    snprintf(command, sizeof(command),
             "grep -l '^warprsa/0' /proc/%d/task/*/comm", getpid());
    list = popen(command, "r");
    assert_non_null(list);
    while (fgets(line, sizeof(line), list) != NULL) {
        FILE *status;

        strcpy(strstr(line, "/comm"), "/status");
        status = fopen(line, "r");
        assert_non_null(status);
        while (fgets(line, sizeof(line), status) != NULL)
            found += strncmp(line, "SigBlk:", 7) == 0 &&
                     (strtoull(line + 7, NULL, 16) & (1 << (SIGTERM - 1))) != 0;
        fclose(status);
    }
    pclose(list);
    return found;
}

/* The threads are named, and no signal of the program lands in them. */
TEST_IN(threads_are_named_and_take_no_signals, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;

    config.engines[0].streams = 2;
    queue = fake_ready_queue(&config);
    WAIT_UNTIL(quiet_threads() == 2);
    fake_finish(queue, &config);
}

typedef struct sleeper {
    pthread_t thread;
    warprsa_queue *queue;
    warprsa_key *key;
    fake_request request;
    warprsa_answer answer;
} sleeper;

static void *sleeper_main(void *arg)
{
    sleeper *s = arg;

    s->answer =
        warprsa_queue_wait(s->queue, s->request.ticket, s->request.output);
    /* The queue may be closed by now, all but its memory. */
    warprsa_key_release(s->key);
    return NULL;
}

static void *close_main(void *arg)
{
    return warprsa_queue_close(arg) ? arg : NULL;
}

/* A batch under way, requests queued behind it, their callers asleep or
 * paused: the batch is finished, the queued ones are refused, and all callers
 * are notified. */
TEST_IN(closing_with_requests_in_flight, reset, NULL)
{
    enum {
        SLEEPERS = 6
    };
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    sleeper sleepers[SLEEPERS];
    _Atomic unsigned woken = 0;
    fake_request paused;
    pthread_t closer;
    void *closed;

    FAKE_SET(hold, true);
    for (unsigned i = 0; i < SLEEPERS; i++) {
        sleeper *s = &sleepers[i];

        s->queue = queue;
        s->key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
        fake_fill(&s->request, WARPRSA_CLASS_2048, 1, i);
        assert_int_equal(fake_submit(queue, s->key, &s->request), WARPRSA_DONE);
        if (i == 0)
            FAKE_WAIT(fake.running == 1);
        assert_int_equal(pthread_create(&s->thread, NULL, sleeper_main, s), 0);
    }
    fake_fill(&paused, WARPRSA_CLASS_2048, 1, 9);
    assert_int_equal(warprsa_queue_submit(
                         queue, key, paused.input,
                         (warprsa_notify){.wake = wake_counter, .arg = &woken},
                         &paused.ticket),
                     WARPRSA_DONE);
    assert_int_equal(pthread_create(&closer, NULL, close_main, queue), 0);
    WAIT_UNTIL(woken == 1);
    FAKE_SET(hold, false);
    pthread_join(closer, &closed);
    assert_ptr_equal(closed, queue);
    assert_int_equal(
        warprsa_queue_collect(queue, paused.ticket, paused.output, NULL),
        WARPRSA_REFUSED);
    for (unsigned i = 0; i < SLEEPERS; i++) {
        pthread_join(sleepers[i].thread, NULL);
        assert_int_equal(sleepers[i].answer,
                         i == 0 ? WARPRSA_DONE : WARPRSA_REFUSED);
    }
    assert_true(fake_is_right(&sleepers[0].request));
    assert_int_equal(config.counters->cpu_reason[WARPRSA_CPU_NO_DEVICE],
                     SLEEPERS);
    assert_int_equal(config.counters->gpu[WARPRSA_CLASS_2048], 1);
    assert_int_equal(config.counters->keys, 1);
    assert_int_equal(config.counters->keys_loaded, 1);
    assert_int_equal(config.counters->keys_wiped, 1);
    warprsa_key_release(key);
    assert_int_equal(config.counters->keys, 0);
    assert_null(fake.broken);
    warprsa_counters_free(config.counters);
}

/* Requests set aside, one whose key is being loaded and one that waits for its
 * turn: both are refused, and their references to keys are given back. */
TEST_IN(closing_with_requests_set_aside, reset, NULL)
{
    enum {
        REQUESTS = 2
    };
    warprsa_queue_config config = fake_config();
    _Atomic unsigned woken = 0;
    fake_request r[REQUESTS];
    warprsa_key *keys[REQUESTS];
    warprsa_queue *queue;
    pthread_t closer;
    void *closed;

    config.engines[0].streams = 2;
    queue = fake_ready_queue(&config);
    FAKE_SET(hold_load, true);
    for (unsigned i = 0; i < REQUESTS; i++) {
        warprsa_notify notify = {.wake = wake_counter, .arg = &woken};

        keys[i] = fake_add_key(queue, WARPRSA_CLASS_2048, i + 1);
        fake_fill(&r[i], WARPRSA_CLASS_2048, i + 1, i);
        assert_int_equal(warprsa_queue_submit(queue, keys[i], r[i].input,
                                              notify, &r[i].ticket),
                         WARPRSA_DONE);
        FAKE_WAIT(fake.waiting == 1);
        WAIT_UNTIL(!warprsa_backlog_has(
            &queue->backlog, warprsa_classes_below(WARPRSA_CLASSES)));
    }
    assert_int_equal(pthread_create(&closer, NULL, close_main, queue), 0);
    WAIT_UNTIL(woken == REQUESTS - 1); /* while the other's key is loading */
    FAKE_SET(hold_load, false);
    pthread_join(closer, &closed);
    assert_ptr_equal(closed, queue);
    assert_int_equal(woken, REQUESTS);
    for (unsigned i = 0; i < REQUESTS; i++) {
        assert_int_equal(
            warprsa_queue_collect(queue, r[i].ticket, r[i].output, NULL),
            WARPRSA_REFUSED);
        warprsa_key_release(keys[i]);
    }
    assert_int_equal(config.counters->cpu_reason[WARPRSA_CPU_NO_DEVICE],
                     REQUESTS);
    assert_int_equal(config.counters->keys, 0);
    assert_null(fake.broken);
    warprsa_counters_free(config.counters);
}

/* A key held beyond the queue's end can still be used, is refused, and can be
 * released. */
TEST_IN(a_key_outlives_the_queue, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue = fake_ready_queue(&config);
    warprsa_key *key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    fake_request done, late;

    fake_fill(&done, WARPRSA_CLASS_2048, 1, 1);
    fake_fill(&late, WARPRSA_CLASS_2048, 1, 2);
    assert_int_equal(fake_submit(queue, key, &done), WARPRSA_DONE);
    WAIT_UNTIL(warprsa_queue_depth(queue) == 0);
    fake_close_queue(queue, &config);
    assert_int_equal(fake_submit(queue, key, &late), WARPRSA_REFUSED);
    assert_int_equal(config.counters->cpu_reason[WARPRSA_CPU_NO_DEVICE], 1);
    assert_int_equal(warprsa_queue_wait(queue, done.ticket, done.output),
                     WARPRSA_DONE);
    assert_true(fake_is_right(&done));
    warprsa_key_release(key);
    assert_int_equal(config.counters->keys, 0);
    warprsa_counters_free(config.counters);
}

TEST_IN(closed_while_opening, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;
    pthread_t closer;
    void *closed;

    FAKE_SET(hold_open, true);
    config.engines[0].streams = 3;
    queue = fake_open_queue(&config);
    FAKE_WAIT(fake.waiting == 1);
    assert_int_equal(pthread_create(&closer, NULL, close_main, queue), 0);
    FAKE_SET(hold_open, false);
    pthread_join(closer, &closed);
    assert_ptr_equal(closed, queue);
    assert_int_equal(fake.opens, fake.closes);
    warprsa_counters_free(config.counters);
}

TEST_IN(closed_while_counting_devices, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;
    pthread_t closer;
    void *closed;

    FAKE_SET(hold_count, true);
    FAKE_SET(devices, 4);
    queue = fake_open_queue(&config);
    FAKE_WAIT(fake.waiting == 1);
    assert_int_equal(pthread_create(&closer, NULL, close_main, queue), 0);
    WAIT_UNTIL(warprsa_queue_wait_ready(queue, 0) == WARPRSA_QUEUE_DOWN);
    FAKE_SET(hold_count, false);
    pthread_join(closer, &closed);
    assert_ptr_equal(closed, queue);
    assert_int_equal(fake.opens, 0);
    warprsa_counters_free(config.counters);
}

/* The device of a batch that never ends cannot be closed: it is left open. */
TEST_IN(closed_with_a_batch_that_never_ends, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;
    warprsa_key *key;
    fake_request r;

    config.deadline_ms = 20;
    queue = fake_ready_queue(&config);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    FAKE_SET(hold, true);
    /* On a slow machine no worker has taken the first when it expires. */
    while (config.counters->device_losses == 0) {
        fake_fill(&r, WARPRSA_CLASS_2048, 1, 1);
        if (fake_submit(queue, key, &r) == WARPRSA_DONE)
            assert_int_equal(warprsa_queue_wait(queue, r.ticket, r.output),
                             WARPRSA_REFUSED);
    }
    assert_int_equal(config.counters->device_losses, 1);
    assert_true(warprsa_queue_close(queue));
    assert_int_equal(fake.closes, 0);
    assert_int_equal(config.counters->keys_loaded, 1);
    assert_int_equal(config.counters->keys_wiped, 0);
    warprsa_key_release(key);
    assert_null(fake.broken);
    warprsa_counters_free(config.counters);
    fake_free_device();
}

/* Opened and closed in a row, with a request each time. */
TEST_IN(again_and_again, reset, NULL)
{
    for (unsigned i = 0; i < 100; i++) {
        warprsa_queue_config config = fake_config();
        warprsa_queue *queue;
        warprsa_key *key;
        fake_request r;

        config.engines[0].streams = 1 + i % 3;
        queue = fake_ready_queue(&config);
        key = fake_add_key(queue, WARPRSA_CLASS_3072, 1);
        fake_fill(&r, WARPRSA_CLASS_3072, 1, i);
        assert_int_equal(fake_submit(queue, key, &r), WARPRSA_DONE);
        assert_int_equal(warprsa_queue_wait(queue, r.ticket, r.output),
                         WARPRSA_DONE);
        assert_true(fake_is_right(&r));
        warprsa_key_release(key);
        fake_finish(queue, &config);
    }
}

/* In the child: the parent's queue is dropped, a queue of its own works. */
static int child_main(warprsa_queue *parents, warprsa_key *key,
                      warprsa_counters *counters, fake_request *r)
{
    warprsa_queue_config config;
    warprsa_queue *queue;

    warprsa_key_abandon(key);
    warprsa_queue_abandon(parents);
    warprsa_counters_free(counters);
    fake_reset();
    config = fake_config();
    queue = fake_ready_queue(&config);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    if (fake_submit(queue, key, r) != WARPRSA_DONE ||
        warprsa_queue_wait(queue, r->ticket, r->output) != WARPRSA_DONE ||
        !fake_is_right(r) || config.counters->gpu[WARPRSA_CLASS_2048] != 1)
        return 1;
    warprsa_key_release(key);
    fake_finish(queue, &config);
    return 0;
}

TEST_IN(a_forked_child_starts_anew, reset, NULL)
{
    warprsa_queue_config config = fake_config();
    warprsa_queue *queue;
    warprsa_key *key;
    fake_request r, of_child;
    pid_t child;
    int status;

#ifdef UNDER_TSAN
    warprsa_counters_free(config.counters);
    skip(); /* it allows a forked child no threads */
#endif
    config.engines[0].streams = 2;
    queue = fake_ready_queue(&config);
    key = fake_add_key(queue, WARPRSA_CLASS_2048, 1);
    FAKE_SET(hold, true);
    fake_fill(&r, WARPRSA_CLASS_2048, 1, 1);
    fake_fill(&of_child, WARPRSA_CLASS_2048, 1, 2);
    assert_int_equal(fake_submit(queue, key, &r), WARPRSA_DONE);
    FAKE_WAIT(fake.running == 1);
    fflush(NULL);
    pthread_mutex_lock(&fake.lock); /* as no thread may hold it in the child */
    child = fork();
    pthread_mutex_unlock(&fake.lock);
    assert_true(child >= 0);
    if (child == 0) {
        pthread_cond_init(&fake.changed, NULL); /* forget its sleepers */
        _exit(child_main(queue, key, config.counters, &of_child));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    FAKE_SET(hold, false);
    assert_int_equal(warprsa_queue_wait(queue, r.ticket, r.output),
                     WARPRSA_DONE);
    assert_true(fake_is_right(&r));
    assert_int_equal(config.counters->gpu[WARPRSA_CLASS_2048], 1);
    warprsa_key_release(key);
    fake_finish(queue, &config);
}

RUN_TESTS(NULL, NULL)
