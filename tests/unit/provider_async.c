/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Async jobs: many under way on one thread, resumed too early, woken by
 * descriptor and by callback, blocked, and given up.
 */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include <openssl/async.h>

#include "tests/unit/provider_support.h"

enum {
    JOBS = 64,
    THREADS = 16,
};

static OSSL_LIB_CTX *subject;
static EVP_PKEY *oracle_key, *subject_key;

typedef struct work {
    ASYNC_JOB *job;
    ASYNC_WAIT_CTX *wait_ctx;
    size_t length; /* of the signature; 0: failed */
    unsigned char signature[128];
    int finished;
    atomic_int called; /* by the callback */
} work;

static int setup(void **state)
{
    (void)state;
    subject = subject_open(HOST_ENGINE);
    oracle_key = key_make(NULL, "RSA", 1024, 2);
    subject_key = key_in(subject, oracle_key);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    EVP_PKEY_free(subject_key);
    EVP_PKEY_free(oracle_key);
    OSSL_LIB_CTX_free(subject);
    return 0;
}

static int sign_job(void *arg)
{
    work *one = *(work **)arg;

    one->length = sign_with(subject, subject_key, 0, one->signature,
                            sizeof(one->signature));
    return 1;
}

/* Starts or resumes; 1 while it is paused, 0 when it has finished, -1. */
static int step(work *one)
{
    int ret = 0;

    if (one->wait_ctx == NULL)
        one->wait_ctx = ASYNC_WAIT_CTX_new();
    switch (ASYNC_start_job(&one->job, one->wait_ctx, &ret, sign_job, &one,
                            sizeof(one))) {
    case ASYNC_PAUSE:
        return 1;
    case ASYNC_FINISH:
        one->finished = 1;
        return ret == 1 ? 0 : -1;
    }
    return -1;
}

static int right(const work *one)
{
    return one->finished && one->length == sizeof(one->signature) &&
           is_right(oracle_key, 0, one->signature, one->length);
}

/* Resumes whatever isn't finished, answered or not, until all are. The number
 * of resumptions that found no answer, or UINT_MAX. */
static unsigned run_impatiently(work *works, unsigned count)
{
    unsigned paused = 1, early = 0;

    while (paused > 0) {
        paused = 0;
        for (unsigned i = 0; i < count; i++) {
            int state = works[i].finished ? 0 : step(&works[i]);

            if (state < 0)
                return UINT32_MAX;
            paused += (unsigned)state;
        }
        early += paused;
    }
    return early;
}

static void jobs_resumed_too_early(void **state)
{
    static work works[JOBS];
    uint64_t before = counter_of(subject, "warprsa-gpu");
    unsigned early = 0;

    (void)state;
    memset(works, 0, sizeof(works));
    early = run_impatiently(works, JOBS);
    assert_true(early != UINT32_MAX && early > JOBS);
    for (unsigned i = 0; i < JOBS; i++) {
        assert_true(right(&works[i]));
        ASYNC_WAIT_CTX_free(works[i].wait_ctx);
    }
    assert_counted(subject, before + JOBS, 0);
}

/* Waits for the one descriptor of a paused job to become readable. */
static void wait_for_fd(work *one)
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

/* One wait ctx for job after job, each resumed by its descriptor alone, as a
 * server does: one descriptor, announced once, quiet between the jobs. */
static void woken_by_descriptor(void **state)
{
    work one = {0};
    uint64_t before = counter_of(subject, "warprsa-gpu");

    (void)state;
    for (unsigned round = 0; round < 8; round++) {
        size_t added = 0, removed = 0, count = 1;
        OSSL_ASYNC_FD fd = -1;
        struct pollfd poller;
        int paused = step(&one);

        assert_int_equal(paused, 1);
        assert_int_equal(ASYNC_WAIT_CTX_get_changed_fds(one.wait_ctx, NULL,
                                                        &added, NULL, &removed),
                         1);
        assert_int_equal(added, round == 0 ? 1 : 0);
        assert_int_equal(removed, 0);
        while (paused == 1) {
            wait_for_fd(&one);
            paused = step(&one);
        }
        assert_int_equal(paused, 0);
        assert_true(right(&one));
        assert_int_equal(ASYNC_WAIT_CTX_get_all_fds(one.wait_ctx, &fd, &count),
                         1);
        poller = (struct pollfd){fd, POLLIN, 0};
        assert_int_equal(poll(&poller, 1, 0), 0);
        one.finished = 0;
    }
    ASYNC_WAIT_CTX_free(one.wait_ctx);
    assert_counted(subject, before + 8, 0);
}

static int called_back(void *arg)
{
    work *one = arg;

    atomic_store(&one->called, 1);
    return 1;
}

static void woken_by_callback(void **state)
{
    static work works[JOBS];
    uint64_t before = counter_of(subject, "warprsa-gpu");

    (void)state;
    memset(works, 0, sizeof(works));
    for (unsigned i = 0; i < JOBS; i++) {
        works[i].wait_ctx = ASYNC_WAIT_CTX_new();
        assert_int_equal(ASYNC_WAIT_CTX_set_callback(works[i].wait_ctx,
                                                     called_back, &works[i]),
                         1);
        assert_int_equal(step(&works[i]), 1);
        assert_int_equal(ASYNC_WAIT_CTX_get_status(works[i].wait_ctx),
                         ASYNC_STATUS_OK);
    }
    for (unsigned i = 0; i < JOBS; i++) {
        while (!atomic_load(&works[i].called))
            sched_yield();
        while (step(&works[i]) == 1)
            ;
        assert_true(right(&works[i]));
        ASYNC_WAIT_CTX_free(works[i].wait_ctx);
    }
    assert_counted(subject, before + JOBS, 0);
}

/* route = auto tries the device for a thread that is busy with several jobs:
 * until it is open they are computed where they are. The router's decisions
 * are for the test of route.c; here, that it is asked and obeyed. */
static void routed_by_itself(void **state)
{
    OSSL_LIB_CTX *saved = subject;
    EVP_PKEY *saved_key = subject_key;
    static work works[JOBS];
    uint64_t made = 0, gpu = 0;

    (void)state;
    subject = subject_open("engine = host\ndeadline_ms = 300000\n");
    subject_key = key_in(subject, oracle_key);
    do {
        memset(works, 0, sizeof(works));
        assert_true(run_impatiently(works, JOBS) != UINT32_MAX);
        for (unsigned i = 0; i < JOBS; i++) {
            assert_true(right(&works[i]));
            ASYNC_WAIT_CTX_free(works[i].wait_ctx);
        }
        made += JOBS;
        gpu = counter_of(subject, "warprsa-gpu");
    } while (gpu == 0);
    assert_counted(subject, gpu, made - gpu);
    assert_true(counter_of(subject, "warprsa-cpu-route") > 0);
    EVP_PKEY_free(subject_key);
    OSSL_LIB_CTX_free(subject);
    subject = saved;
    subject_key = saved_key;
}

static int blocked_job(void *arg)
{
    int ret = 0;

    ASYNC_block_pause();
    ret = sign_job(arg);
    ASYNC_unblock_pause();
    return ret;
}

/* A job that may not pause waits all the same. */
static void pause_blocked(void **state)
{
    work one = {0}, *arg = &one;
    uint64_t before = counter_of(subject, "warprsa-gpu");
    int ret = 0;

    (void)state;
    one.wait_ctx = ASYNC_WAIT_CTX_new();
    assert_int_equal(ASYNC_start_job(&one.job, one.wait_ctx, &ret, blocked_job,
                                     &arg, sizeof(arg)),
                     ASYNC_FINISH);
    one.finished = ret;
    assert_true(right(&one));
    ASYNC_WAIT_CTX_free(one.wait_ctx);
    assert_counted(subject, before + 1, 0);
}

static unsigned open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    unsigned count = 0;

    while (directory != NULL && readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

/* In a process of its own, since a job that is given up stays allocated. */
static int give_up_jobs(int with_callback)
{
    static work works[JOBS];
    unsigned before = 0;
    work one = {0};

    if (!signs_right(subject, subject_key, oracle_key)) /* all is open now */
        return 1;
    before = open_descriptors();
    for (unsigned i = 0; i < JOBS; i++) {
        works[i].wait_ctx = ASYNC_WAIT_CTX_new();
        if (with_callback)
            ASYNC_WAIT_CTX_set_callback(works[i].wait_ctx, called_back,
                                        &works[i]);
        if (step(&works[i]) != 1)
            return 2;
    }
    for (unsigned i = 0; i < JOBS; i++) {
        ASYNC_WAIT_CTX_free(works[i].wait_ctx);
        atomic_store(&works[i].called, 0);
    }
    /* Later ones are answered after those: then nobody holds a descriptor. */
    if (run_impatiently(&one, 1) == UINT32_MAX || !right(&one))
        return 3;
    ASYNC_WAIT_CTX_free(one.wait_ctx);
    for (unsigned i = 0; i < 30000 && open_descriptors() != before; i++)
        usleep(1000);
    if (open_descriptors() != before)
        return 4;
    for (unsigned i = 0; i < JOBS; i++)
        if (atomic_load(&works[i].called))
            return 5;
    return 0;
}

static void jobs_given_up(void **state)
{
    (void)state;
    for (int with_callback = 0; with_callback < 2; with_callback++) {
        int status = 0;
        pid_t child = fork();

        if (child == 0)
            _exit(give_up_jobs(with_callback));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

static size_t descriptors_of(const work *one)
{
    size_t count = 0;

    assert_int_equal(ASYNC_WAIT_CTX_get_all_fds(one->wait_ctx, NULL, &count),
                     1);
    return count;
}

/*
 * With no slot left a job is computed here and doesn't pause: its wait ctx has
 * no descriptor then, since the program never had an occasion to look for it.
 */
static void job_refused(void **state)
{
    OSSL_LIB_CTX *usual = subject;
    EVP_PKEY *usual_key = subject_key;
    work first = {0}, second = {0};

    (void)state;
    subject = subject_open(HOST_ENGINE "slots = 1\n");
    subject_key = key_in(subject, oracle_key);
    assert_int_equal(step(&first), 1);
    assert_int_equal(descriptors_of(&first), 1);
    assert_int_equal(step(&second), 0);
    assert_true(right(&second));
    assert_int_equal(descriptors_of(&second), 0);
    assert_true(run_impatiently(&first, 1) != UINT32_MAX);
    assert_true(right(&first));
    assert_counted(subject, 1, 1);
    ASYNC_WAIT_CTX_free(first.wait_ctx);
    ASYNC_WAIT_CTX_free(second.wait_ctx);
    EVP_PKEY_free(subject_key);
    OSSL_LIB_CTX_free(subject);
    subject = usual;
    subject_key = usual_key;
}

static void *thread_of_jobs(void *arg)
{
    work *works = arg;
    intptr_t wrong = run_impatiently(works, JOBS) == UINT32_MAX;

    for (unsigned i = 0; i < JOBS; i++) {
        wrong += !right(&works[i]);
        ASYNC_WAIT_CTX_free(works[i].wait_ctx);
    }
    return (void *)wrong;
}

static void threads_of_jobs(void **state)
{
    static work works[THREADS][JOBS];
    pthread_t threads[THREADS];
    unsigned count = module_context_scaled(THREADS);
    uint64_t before = counter_of(subject, "warprsa-gpu");

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_given_up),
        cmocka_unit_test(jobs_resumed_too_early),
        cmocka_unit_test(woken_by_descriptor),
        cmocka_unit_test(woken_by_callback),
        cmocka_unit_test(routed_by_itself),
        cmocka_unit_test(job_refused),
        cmocka_unit_test(pause_blocked),
        cmocka_unit_test(threads_of_jobs),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
