/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Forks before the first operation, after it, and with requests under way:
 * parent and child each go on with a queue and counters of their own.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>

#include <openssl/async.h>

#include "tests/unit/provider_support.h"

enum {
    JOBS = 16,
    THREADS = 4,
};

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

static OSSL_LIB_CTX *subject;
static EVP_PKEY *oracle_key, *subject_key;

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

/* What a child finds out, as its exit status. */
enum {
    ALL_RIGHT,
    WRONG_SIGNATURE,
    WRONG_COUNTERS,
    WRONG_GRANDCHILD,
};

static int sign_in_child(uint64_t gpu)
{
    if (!signs_right(subject, subject_key, oracle_key) ||
        !signs_right(subject, subject_key, oracle_key))
        return WRONG_SIGNATURE;
    return plain_counter_of(subject, "warprsa-gpu") == gpu &&
                   plain_counter_of(subject, "warprsa-cpu") == 0
               ? ALL_RIGHT
               : WRONG_COUNTERS;
}

static void assert_all_right(pid_t child)
{
    int status = -1;

    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), ALL_RIGHT);
}

/* Ends a child the way a program does: everything freed, exit handlers run. All
 * but the queue of the parent, which the child has forgotten. */
static void leave(int status)
{
    leaks_are_meant = 1;
    EVP_PKEY_free(subject_key);
    EVP_PKEY_free(oracle_key);
    OSSL_LIB_CTX_free(subject);
    exit(status);
}

static pid_t fork_quietly(void)
{
    fflush(NULL);
    return fork();
}

static void before_the_first_operation(void **state)
{
    pid_t child = fork_quietly();

    (void)state;
    if (child == 0)
        leave(sign_in_child(2));
    assert_all_right(child);
    assert_counted(subject, 0, 0);
    assert_true(signs_right(subject, subject_key, oracle_key));
    assert_counted(subject, 1, 0);
}

static int grandchild(void)
{
    int status = -1;
    pid_t child = fork_quietly();

    if (child == 0)
        leave(sign_in_child(2));
    return waitpid(child, &status, 0) == child && WIFEXITED(status) &&
                   WEXITSTATUS(status) == ALL_RIGHT
               ? ALL_RIGHT
               : WRONG_GRANDCHILD;
}

static void after_an_operation(void **state)
{
    uint64_t before = 0;
    pid_t child = -1;

    (void)state;
    assert_true(signs_right(subject, subject_key, oracle_key));
    before = counter_of(subject, "warprsa-gpu");
    child = fork_quietly();
    if (child == 0) {
        int status = sign_in_child(2);

        if (status == ALL_RIGHT)
            status = grandchild();
        if (status == ALL_RIGHT)
            status = sign_in_child(4);
        leave(status);
    }
    assert_all_right(child);
    /* A child that does nothing, and tears everything down. */
    child = fork_quietly();
    if (child == 0)
        leave(ALL_RIGHT);
    assert_all_right(child);
    /* And one that just ends. */
    child = fork_quietly();
    if (child == 0) {
        leaks_are_meant = 1;
        exit(ALL_RIGHT);
    }
    assert_all_right(child);
    assert_true(signs_right(subject, subject_key, oracle_key));
    assert_counted(subject, before + 1, 0);
}

typedef struct work {
    ASYNC_JOB *job;
    ASYNC_WAIT_CTX *wait_ctx;
    unsigned char signature[128];
    size_t length;
} work;

static int sign_job(void *arg)
{
    work *one = *(work **)arg;

    one->length = sign_with(subject, subject_key, 0, one->signature,
                            sizeof(one->signature));
    return 1;
}

static int step(work *one)
{
    int ret = 0;

    return ASYNC_start_job(&one->job, one->wait_ctx, &ret, sign_job, &one,
                           sizeof(one));
}

static int finish_jobs(work works[JOBS])
{
    for (unsigned i = 0; i < JOBS; i++) {
        while (step(&works[i]) == ASYNC_PAUSE)
            ;
        if (works[i].length != sizeof(works[i].signature) ||
            !is_right(oracle_key, 0, works[i].signature, works[i].length))
            return WRONG_SIGNATURE;
        ASYNC_WAIT_CTX_free(works[i].wait_ctx);
    }
    return ALL_RIGHT;
}

/* Jobs paused across the fork go on in both: in the parent with their answers,
 * in the child, which has no answers to get, on the CPU. */
static void with_jobs_under_way(void **state)
{
    static work works[JOBS];
    uint64_t before = counter_of(subject, "warprsa-gpu");
    pid_t child = -1;

    (void)state;
    memset(works, 0, sizeof(works));
    for (unsigned i = 0; i < JOBS; i++) {
        works[i].wait_ctx = ASYNC_WAIT_CTX_new();
        assert_int_equal(step(&works[i]), ASYNC_PAUSE);
    }
    child = fork_quietly();
    if (child == 0) {
        int status = finish_jobs(works);

        if (status == ALL_RIGHT &&
            (plain_counter_of(subject, "warprsa-cpu") != JOBS ||
             plain_counter_of(subject, "warprsa-cpu-error") != JOBS))
            status = WRONG_COUNTERS;
        if (status == ALL_RIGHT &&
            !signs_right(subject, subject_key, oracle_key))
            status = WRONG_SIGNATURE;
        if (status == ALL_RIGHT &&
            plain_counter_of(subject, "warprsa-gpu") != 1)
            status = WRONG_COUNTERS;
        leave(status);
    }
    assert_all_right(child);
    assert_int_equal(finish_jobs(works), ALL_RIGHT);
    assert_counted(subject, before + JOBS, 0);
}

static atomic_bool stop;
static atomic_uint signed_by_threads;

static void *sign_until_stopped(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop)) {
        if (!signs_right(subject, subject_key, oracle_key))
            return "wrong";
        atomic_fetch_add(&signed_by_threads, 1);
    }
    return NULL;
}

/* Whatever the other threads and the workers hold at the moment of the fork,
 * the child must not wait for it. */
static void with_threads_at_work(void **state)
{
    pthread_t threads[THREADS];
    uint64_t before = counter_of(subject, "warprsa-gpu");
    unsigned forks = module_context_scaled(10);

    (void)state;
#ifdef __SANITIZE_ADDRESS__
    /* The lock of its allocator may be taken in the child for ever. */
    skip();
#endif
    atomic_store(&stop, false);
    atomic_store(&signed_by_threads, 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, sign_until_stopped, NULL), 0);
    for (unsigned i = 0; i < forks; i++) {
        pid_t child = fork_quietly();

        if (child == 0)
            _exit(sign_in_child(2));
        assert_all_right(child);
    }
    atomic_store(&stop, true);
    for (unsigned i = 0; i < THREADS; i++) {
        void *failure = NULL;

        assert_int_equal(pthread_join(threads[i], &failure), 0);
        assert_null(failure);
    }
    assert_counted(subject, before + atomic_load(&signed_by_threads), 0);
}

/* Each process that did an operation leaves its counters in the trace. */
static void counters_of_each_process(void **state)
{
    module_context module;
    EVP_PKEY *key = NULL;
    char line[4096];
    unsigned lines = 0;
    FILE *file = NULL;
    pid_t child = -1;
    long pid = 0, last = 0;

    (void)state;
    assert_int_equal(module_context_open(&module, "host", ""), 1);
    key = key_in(module.libctx, oracle_key);
    assert_true(signs_right(module.libctx, key, oracle_key));
    for (unsigned i = 0; i < 3; i++) {
        child = fork_quietly();
        if (child == 0) {
            if (i > 0 && !signs_right(module.libctx, key, oracle_key))
                _exit(WRONG_SIGNATURE);
            leaks_are_meant = 1;
            if (i == 1)
                exit(ALL_RIGHT); /* nothing freed */
            EVP_PKEY_free(key);
            OSSL_LIB_CTX_free(module.libctx);
            _exit(ALL_RIGHT);
        }
        assert_all_right(child);
    }
    file = fopen(module.trace, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strstr(line, "counters: ") == NULL)
            continue;
        assert_int_equal(sscanf(line, "warprsa[%ld]", &pid), 1);
        assert_true(pid != last && pid != (long)getpid());
        assert_non_null(strstr(line, " gpu=1 "));
        assert_non_null(strstr(line, " cpu=0 "));
        last = pid;
        lines++;
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(lines, 2); /* not the one that did nothing */
    EVP_PKEY_free(key);
    assert_int_equal(module_context_close(&module), 1);
    assert_int_equal(module_context_counter(&module, "gpu"), 1);
    assert_int_equal(unsetenv("WARPRSA_TRACE"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_the_first_operation),
        cmocka_unit_test(after_an_operation),
        cmocka_unit_test(with_jobs_under_way),
        cmocka_unit_test(with_threads_at_work),
        cmocka_unit_test(counters_of_each_process),
    };

#ifdef __SANITIZE_THREAD__
    /* It dies in a child that starts threads: "dup thread with used id". */
    return 77;
#endif
    return cmocka_run_group_tests(tests, setup, teardown);
}
