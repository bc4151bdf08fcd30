/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Async jobs: many under way on one thread, resumed too early, woken by
 * descriptor and by callback, blocked, and abandoned.
 */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/support/module_context.h"
#include "tests/unit/support/open_files.h"
#include "tests/unit/support/provider_subject.h"

enum {
    JOBS = 64,
    THREADS = 16,
};

/* The tests that fork come first: under ThreadSanitizer a child may start no
 * threads once its parent has some. */

/* Abandons jobs; in a child process, since an abandoned job is never freed. */
static int give_up_jobs(int with_callback)
{
    static signing works[JOBS];
    static atomic_int called[JOBS];
    unsigned before = 0;
    signing one = {0};

    if (!signs_right(subject, subject_key,
                     oracle_key)) /* everything is open now */
        return 1;
    if (plain_counter_of(subject, "warprsa-jobs-left") != 0)
        return 6;
    before = count_descriptors();
    for (unsigned i = 0; i < JOBS; i++) {
        works[i].wait_ctx = ASYNC_WAIT_CTX_new();
        if (with_callback &&
            ASYNC_WAIT_CTX_set_callback(works[i].wait_ctx, note_callback,
                                        &called[i]) != 1)
            return 1;
        if (signing_step(&works[i]) != ASYNC_PAUSE)
            return 2;
    }
    for (unsigned i = 0; i < JOBS; i++) {
        ASYNC_WAIT_CTX_free(works[i].wait_ctx);
        atomic_store(&called[i], 0);
    }
    /* Later ones are answered after those: then nobody holds a descriptor. */
    if (run_impatiently(&one, 1) == UINT32_MAX || !signings_end(&one, 1))
        return 3;
    for (unsigned i = 0; i < 30000 && count_descriptors() != before; i++)
        usleep(1000);
    if (count_descriptors() != before)
        return 4;
    for (unsigned i = 0; i < JOBS; i++)
        if (atomic_load(&called[i]))
            return 5;
    /* The one that came to its end is none of them. */
    return plain_counter_of(subject, "warprsa-jobs-left") == JOBS ? 0 : 7;
}

TEST(jobs_given_up)
{
    for (int with_callback = 0; with_callback < 2; with_callback++)
        ASSERT_CHILD(give_up_jobs(with_callback));
}

static atomic_int inside, freed;

/* As if the machine were stopped, with this thread delayed a little more. */
static int slow_callback(void *arg)
{
    atomic_int *called = arg;

    atomic_store(&inside, 1);
    while (!atomic_load(&freed))
        sched_yield();
    usleep(100000); /* the other thread waits for this one now */
    raise(SIGSTOP);
    usleep(20000);
    atomic_store(called, 1);
    return 1;
}

static int free_under_callback(void)
{
    static atomic_int called;
    signing one = {.wait_ctx = ASYNC_WAIT_CTX_new()};

    if (ASYNC_WAIT_CTX_set_callback(one.wait_ctx, slow_callback, &called) != 1)
        return 1;
    if (signing_step(&one) != ASYNC_PAUSE)
        return 2;
    while (!atomic_load(&inside))
        sched_yield();
    atomic_store(&freed, 1);
    ASYNC_WAIT_CTX_free(one.wait_ctx);
    return atomic_load(&called) ? 0 : 3;
}

/* The thread that frees a wait ctx waits for a callback that is running, even
 * if the machine stops meanwhile. */
TEST(freed_under_a_callback)
{
    pid_t child = fork_quietly();
    int status = 0;

    if (child == 0)
        _exit(free_under_callback());
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
    sleep(2);
    assert_int_equal(kill(child, SIGCONT), 0);
    assert_all_right(child);
}

TEST(jobs_resumed_too_early)
{
    static signing works[JOBS];
    uint64_t before = counter_of(subject, "warprsa-gpu");
    unsigned early = 0, rounds = 0;

    /* Repeated, since this thread may be preempted until all are answered. */
    for (; early <= JOBS && rounds < 20; rounds++) {
        memset(works, 0, sizeof(works));
        early = run_impatiently(works, JOBS);
        assert_true(early != UINT32_MAX);
        assert_true(signings_end(works, JOBS));
    }
    assert_true(early > JOBS);
    assert_counted(subject, before + (uint64_t)rounds * JOBS, 0);
}

/* Waits for the one descriptor of a paused job to become readable. */
static void wait_for_fd(signing *one)
{
    OSSL_ASYNC_FD fd = -1;
    size_t count = 0;
    struct pollfd poller;

    assert_int_equal(ASYNC_WAIT_CTX_get_all_fds(one->wait_ctx, NULL, &count),
                     1);
    assert_int_equal(count, 1);
    assert_int_equal(ASYNC_WAIT_CTX_get_all_fds(one->wait_ctx, &fd, &count), 1);
    poller = (struct pollfd){fd, POLLIN, 0};
    assert_int_equal(poll(&poller, 1, 60000), 1);
}

/* One wait ctx for several jobs, one after the other, each resumed only when
 * its descriptor is readable, as a server does. There is one descriptor,
 * announced once, and it isn't readable between the jobs. */
TEST(woken_by_descriptor)
{
    signing one = {0};
    uint64_t before = counter_of(subject, "warprsa-gpu");

    for (unsigned round = 0; round < 8; round++) {
        size_t added = 0, removed = 0, count = 1;
        OSSL_ASYNC_FD fd = -1;
        struct pollfd poller;
        int status = signing_step(&one);

        assert_int_equal(status, ASYNC_PAUSE);
        assert_int_equal(ASYNC_WAIT_CTX_get_changed_fds(one.wait_ctx, NULL,
                                                        &added, NULL, &removed),
                         1);
        assert_int_equal(added, round == 0 ? 1 : 0);
        assert_int_equal(removed, 0);
        while (status == ASYNC_PAUSE) {
            wait_for_fd(&one);
            status = signing_step(&one);
        }
        assert_true(signing_is_right(&one));
        assert_int_equal(ASYNC_WAIT_CTX_get_all_fds(one.wait_ctx, &fd, &count),
                         1);
        poller = (struct pollfd){fd, POLLIN, 0};
        assert_int_equal(poll(&poller, 1, 0), 0);
        one.length = 0;
    }
    ASYNC_WAIT_CTX_free(one.wait_ctx);
    assert_counted(subject, before + 8, 0);
}

TEST(woken_by_callback)
{
    static signing works[JOBS];
    static atomic_int called[JOBS];
    uint64_t before = counter_of(subject, "warprsa-gpu");

    for (unsigned i = 0; i < JOBS; i++) {
        works[i].wait_ctx = ASYNC_WAIT_CTX_new();
        assert_int_equal(ASYNC_WAIT_CTX_set_callback(works[i].wait_ctx,
                                                     note_callback, &called[i]),
                         1);
        assert_int_equal(signing_step(&works[i]), ASYNC_PAUSE);
        assert_int_equal(ASYNC_WAIT_CTX_get_status(works[i].wait_ctx),
                         ASYNC_STATUS_OK);
    }
    for (unsigned i = 0; i < JOBS; i++) {
        while (!atomic_load(&called[i]))
            sched_yield();
        assert_true(run_impatiently(&works[i], 1) != UINT32_MAX);
    }
    assert_true(signings_end(works, JOBS));
    assert_counted(subject, before + JOBS, 0);
}

/* route = auto probes the device for a thread that is busy with several jobs.
 * Until the device is open, the CPU computes them. This checks only that the
 * provider follows the router; the router has a unit test of its own. */
TEST(routed_by_itself)
{
    OSSL_LIB_CTX *usual = subject;
    EVP_PKEY *usual_key = subject_key;
    static signing works[JOBS];
    uint64_t made = 0, gpu = 0;

    subject_set(subject_open("engine = host\ndeadline_ms = 300000\n"));
    do {
        memset(works, 0, sizeof(works));
        assert_true(run_impatiently(works, JOBS) != UINT32_MAX);
        assert_true(signings_end(works, JOBS));
        made += JOBS;
        gpu = counter_of(subject, "warprsa-gpu");
    } while (gpu == 0);
    assert_counted(subject, gpu, made - gpu);
    assert_true(counter_of(subject, "warprsa-cpu-route") > 0);
    subject_free();
    subject = usual;
    subject_key = usual_key;
}

/* A job that may not pause waits on its thread. */
TEST(pause_blocked)
{
    signing one = {0}, *arg = &one;
    uint64_t before = counter_of(subject, "warprsa-gpu");
    int ret = 0;

    one.wait_ctx = ASYNC_WAIT_CTX_new();
    assert_int_equal(ASYNC_start_job(&one.job, one.wait_ctx, &ret,
                                     blocked_sign_job, &arg, sizeof(arg)),
                     ASYNC_FINISH);
    one.finished = ret == 1;
    assert_true(signings_end(&one, 1));
    assert_counted(subject, before + 1, 0);
}

static size_t descriptors_of(const signing *one)
{
    size_t count = 0;

    assert_int_equal(ASYNC_WAIT_CTX_get_all_fds(one->wait_ctx, NULL, &count),
                     1);
    return count;
}

/*
 * With no slot left the CPU computes a job, which doesn't pause. Its wait ctx
 * then has no descriptor, since the program had no pause to look for one.
 */
TEST(job_refused)
{
    OSSL_LIB_CTX *usual = subject;
    EVP_PKEY *usual_key = subject_key;
    signing first = {0}, second = {0};

    subject_set(subject_open(HOST_ENGINE "slots = 1\n"));
    assert_int_equal(signing_step(&first), ASYNC_PAUSE);
    assert_int_equal(descriptors_of(&first), 1);
    assert_int_equal(signing_step(&second), ASYNC_FINISH);
    assert_int_equal(descriptors_of(&second), 0);
    assert_true(run_impatiently(&first, 1) != UINT32_MAX);
    assert_counted(subject, 1, 1);
    assert_true(signings_end(&first, 1));
    assert_true(signings_end(&second, 1));
    subject_free();
    subject = usual;
    subject_key = usual_key;
}

static void *thread_of_jobs(void *arg)
{
    signing *works = arg;
    bool wrong = run_impatiently(works, JOBS) == UINT32_MAX;

    wrong |= !signings_end(works, JOBS);
    return wrong ? works : NULL;
}

TEST(threads_of_jobs)
{
    static signing works[THREADS][JOBS];
    pthread_t threads[THREADS];
    unsigned count = module_context_scaled(THREADS);
    uint64_t before = counter_of(subject, "warprsa-gpu");

    memset(works, 0, sizeof(works));
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, thread_of_jobs, works[i]), 0);
    for (unsigned i = 0; i < count; i++) {
        void *wrong = NULL;

        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    assert_counted(subject, before + (uint64_t)count * JOBS, 0);
}

/* The callback takes a lock that the thread which collects the answer holds. */
TEST(resumed_under_a_lock)
{
    uint64_t before = counter_of(subject, "warprsa-gpu");
    unsigned count = module_context_scaled(2000);

    assert_true(signs_under_a_lock(count));
    assert_counted(subject, before + count, 0);
}

static atomic_int job_told, job_ended;

/* Has the job resumed, and waits until it has ended: 60 s at most, since this
 * used to take for ever. */
static int wait_for_end(void *arg)
{
    atomic_store(&job_told, 1);
    for (unsigned i = 0; i < 60000 && atomic_load(&job_ended) == 0; i++)
        usleep(1000);
    atomic_compare_exchange_strong(&job_ended, &(int){0}, -1);
    return 1;
}

TEST(ended_by_its_callback)
{
    signing one = {.wait_ctx = ASYNC_WAIT_CTX_new()};
    uint64_t before = counter_of(subject, "warprsa-gpu");

    assert_int_equal(
        ASYNC_WAIT_CTX_set_callback(one.wait_ctx, wait_for_end, NULL), 1);
    assert_int_equal(signing_step(&one), ASYNC_PAUSE);
    while (!atomic_load(&job_told))
        usleep(100);
    assert_int_equal(signing_step(&one), ASYNC_FINISH);
    assert_int_equal(atomic_exchange(&job_ended, 1), 0);
    assert_true(signings_end(&one, 1));
    assert_counted(subject, before + 1, 0);
}

TEST(jobs_of_one_wait_ctx)
{
    uint64_t before = counter_of(subject, "warprsa-gpu");

    assert_true(signs_in_jobs_of_one_wait_ctx());
    assert_counted(subject, before + 3, 0);
}

RUN_TESTS(host_subject_setup, host_subject_teardown)
