/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Forks before the first operation, after it, and with requests under way:
 * parent and child each go on with a queue and counters of their own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/support/module_context.h"
#include "tests/unit/support/provider_subject.h"
#include "tests/unit/support/sanitizers.h"
#include "tests/unit/support/vault_daemon.h"

enum {
    JOBS = 16,
    THREADS = 4,
};

/* Ends a child as a program ends: frees everything and runs the exit handlers.
 * The parent's queue isn't freed, since the child has given it up. */
static void leave(int status)
{
    leaks_are_intended = 1;
    subject_free();
    EVP_PKEY_free(oracle_key);
    exit(status);
}

TEST(before_the_first_operation)
{
    pid_t child = fork_quietly();

    if (child == 0)
        leave(sign_in_child(2, 2, 0));
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
        leave(sign_in_child(2, 2, 0));
    return waitpid(child, &status, 0) == child && WIFEXITED(status) &&
                   WEXITSTATUS(status) == ALL_RIGHT
               ? ALL_RIGHT
               : WRONG_CHILD;
}

TEST(after_an_operation)
{
    uint64_t before = 0;
    pid_t child = -1;

    assert_true(signs_right(subject, subject_key, oracle_key));
    before = counter_of(subject, "warprsa-gpu");
    child = fork_quietly();
    if (child == 0) {
        int status = sign_in_child(2, 2, 0);

        if (status == ALL_RIGHT)
            status = grandchild();
        if (status == ALL_RIGHT)
            status = sign_in_child(2, 4, 0);
        leave(status);
    }
    assert_all_right(child);
    /* A child that makes no operation, and frees everything. */
    child = fork_quietly();
    if (child == 0)
        leave(ALL_RIGHT);
    assert_all_right(child);
    /* And one that ends at once. */
    child = fork_quietly();
    if (child == 0) {
        leaks_are_intended = 1;
        exit(ALL_RIGHT);
    }
    assert_all_right(child);
    assert_true(signs_right(subject, subject_key, oracle_key));
    assert_counted(subject, before + 1, 0);
}

/* Jobs that are paused during the fork go on in both processes: in the parent
 * with their answers, in the child, which gets no answers, on the CPU. */
TEST(with_jobs_under_way)
{
    /* The child asks the daemon again: nobody else has the key. */
    const unsigned alone = vault_daemon_is_wanted() ? 0 : JOBS;
    static signing works[JOBS];
    uint64_t before = counter_of(subject, "warprsa-gpu");
    pid_t child = -1;

    memset(works, 0, sizeof(works));
    for (unsigned i = 0; i < JOBS; i++)
        assert_int_equal(signing_step(&works[i]), ASYNC_PAUSE);
    child = fork_quietly();
    if (child == 0) {
        int status = ALL_RIGHT;

        if (run_impatiently(works, JOBS) == UINT32_MAX ||
            !signings_end(works, JOBS))
            status = WRONG_SIGNATURE;
        if (status == ALL_RIGHT &&
            plain_counter_of(subject, "warprsa-cpu-error") != alone)
            status = WRONG_COUNTERS;
        if (status == ALL_RIGHT)
            status = sign_in_child(1, 1 + JOBS - alone, alone);
        leave(status);
    }
    assert_all_right(child);
    assert_true(run_impatiently(works, JOBS) != UINT32_MAX);
    assert_true(signings_end(works, JOBS));
    assert_counted(subject, before + JOBS, 0);
}

/* Other threads and the workers may hold locks during the fork. The child must
 * not wait for them. */
TEST(with_threads_at_work)
{
    static signer signers[THREADS];
    uint64_t before = counter_of(subject, "warprsa-gpu");
    unsigned forks = module_context_scaled(10);

#ifdef UNDER_ASAN
    /* In the child, its allocator's lock may stay taken for ever. */
    skip();
#endif
    signers_start(signers, THREADS);
    for (unsigned i = 0; i < forks; i++)
        ASSERT_CHILD(sign_in_child(2, 2, 0));
    assert_counted(subject, before + signers_end(signers, THREADS), 0);
}

/* Each process that made an operation writes its counters to the trace. */
TEST(counters_of_each_process)
{
    module_context module;
    EVP_PKEY *key = NULL;
    char line[4096];
    unsigned lines = 0;
    FILE *file = NULL;
    pid_t child = -1;
    long pid = 0, last = 0;

    assert_int_equal(module_context_open(&module, "host", ""), 1);
    key = key_in(module.libctx, oracle_key);
    assert_true(signs_right(module.libctx, key, oracle_key));
    for (unsigned i = 0; i < 3; i++) {
        child = fork_quietly();
        if (child == 0) {
            if (i > 0 && !signs_right(module.libctx, key, oracle_key))
                _exit(WRONG_SIGNATURE);
            leaks_are_intended = 1;
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
#ifdef UNDER_TSAN
    /* ThreadSanitizer aborts in a child that starts threads: "dup thread with
     * used id". */
    return 77;
#endif
    return cmocka_run_group_tests(unit_tests, host_subject_setup,
                                  host_subject_teardown);
}
