/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The provider unloaded, and the process ended, while requests are under way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/err.h>

#include "tests/unit/support/provider_subject.h"

enum {
    JOBS = 32,
    THREADS = 8,
};

static char trace[] = "/tmp/warprsa-unload.XXXXXX";

static int setup(void **state)
{
    int fd = mkstemp(trace);

    oracle_key = key_make(NULL, "RSA", 1024, 2);
    return fd >= 0 ? close(fd) : -1;
}

static int teardown(void **state)
{
    EVP_PKEY_free(oracle_key);
    return unlink(trace);
}

/* Opens a subject into which the program, not its configuration, loads the
 * provider; its trace goes to the file, which is emptied. */
static OSSL_PROVIDER *open_traced(void)
{
    char settings[256];
    OSSL_LIB_CTX *libctx = NULL;
    OSSL_PROVIDER *provider = NULL;

    snprintf(settings, sizeof(settings), HOST_ENGINE "trace = file:%s\n",
             trace);
    assert_int_equal(truncate(trace, 0), 0);
    libctx = context_with(settings);
    provider = module_load(libctx);
    if (provider == NULL)
        ERR_print_errors_fp(stderr);
    assert_non_null(provider);
    subject_set(libctx);
    return provider;
}

/* A counter in the trace's line of counters; UINT64_MAX unless there is exactly
 * one such line. */
static uint64_t traced(const char *name)
{
    FILE *file = fopen(trace, "r");
    char line[4096], wanted[64];
    uint64_t value = UINT64_MAX;
    unsigned lines = 0;

    snprintf(wanted, sizeof(wanted), " %s=", name);
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        const char *found = strstr(line, wanted);

        if (strstr(line, "counters: ") == NULL)
            continue;
        assert_non_null(found);
        value = strtoull(found + strlen(wanted), NULL, 10);
        lines++;
    }
    assert_int_equal(fclose(file), 0);
    return lines == 1 ? value : UINT64_MAX;
}

static void start_jobs(signing works[JOBS])
{
    memset(works, 0, JOBS * sizeof(*works));
    for (unsigned i = 0; i < JOBS; i++)
        assert_int_equal(signing_step(&works[i]), ASYNC_PAUSE);
}

TEST(unloaded_under_jobs)
{
    static signing works[JOBS];
    OSSL_PROVIDER *provider = open_traced();
    unsigned char signature[128];

    start_jobs(works);
    assert_int_equal(OSSL_PROVIDER_unload(provider), 1);
    assert_false(OSSL_PROVIDER_available(subject, "warprsa"));
    /* New operations use the default provider. */
    assert_int_equal(
        sign_with(subject, subject_key, 0, signature, sizeof(signature)),
        sizeof(signature));
    assert_true(run_impatiently(works, JOBS) != UINT32_MAX);
    subject_free();
    assert_int_equal(traced("gpu"), JOBS);
    assert_int_equal(traced("cpu"), 0);
    assert_int_equal(traced("keys_loaded"), 1);
    assert_int_equal(traced("keys_wiped"), 1);
    /* The module's code stays loaded and cleans up wait ctxs. */
    assert_true(signings_end(works, JOBS));
}

/* The provider wraps the default provider that the program has loaded. Either
 * may be unloaded first. */
TEST(default_unloaded)
{
    for (int default_first = 0; default_first < 2; default_first++) {
        OSSL_LIB_CTX *libctx = context_with(HOST_ENGINE);
        OSSL_PROVIDER *theirs = OSSL_PROVIDER_load(libctx, "default");
        OSSL_PROVIDER *ours = module_load(libctx);
        EVP_PKEY *key = key_in(libctx, oracle_key);

        assert_non_null(ours);
        assert_true(signs_right(libctx, key, oracle_key));
        assert_counted(libctx, 1, 0);
        assert_int_equal(OSSL_PROVIDER_unload(default_first ? theirs : ours),
                         1);
        assert_true(signs_right(libctx, key, oracle_key));
        EVP_PKEY_free(key);
        assert_int_equal(OSSL_PROVIDER_unload(default_first ? ours : theirs),
                         1);
        OSSL_LIB_CTX_free(libctx);
    }
}

/* In a program without a default provider, the provider loads one for
 * itself. */
TEST(no_default)
{
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
    OSSL_PROVIDER *base = OSSL_PROVIDER_load(libctx, "base");
    OSSL_PROVIDER *ours = NULL;
    EVP_PKEY *key = NULL;

    ours = module_load(libctx);
    assert_non_null(base);
    assert_non_null(ours);
    key = key_in(libctx, oracle_key);
    assert_true(signs_right(libctx, key, oracle_key));
    assert_counted(libctx, 0, 1);
    EVP_PKEY_free(key);
    assert_int_equal(OSSL_PROVIDER_unload(ours), 1);
    assert_int_equal(OSSL_PROVIDER_unload(base), 1);
    OSSL_LIB_CTX_free(libctx);
}

TEST(unloaded_under_threads)
{
    static signer signers[THREADS];
    OSSL_PROVIDER *provider = open_traced();

    signers_start(signers, THREADS);
    signers_make(signers, THREADS, 2);
    assert_int_equal(OSSL_PROVIDER_unload(provider), 1);
    signers_make(signers, THREADS, 2);
    signers_end(signers, THREADS);
    subject_free();
    assert_in_range(traced("gpu"), 2 * THREADS, UINT32_MAX);
    assert_int_equal(traced("cpu"), 0);
}

/* In a child: ends the process with requests under way, without freeing. */
static void exit_at_work(int with_jobs)
{
    static signing works[JOBS];
    static signer signers[THREADS];

    (void)open_traced();
    signers_start(signers, THREADS);
    signers_make(signers, THREADS, 1);
    if (with_jobs)
        start_jobs(works);
    leaks_are_intended = 1;
    exit(ALL_RIGHT);
}

TEST(exit_under_way)
{
    for (int with_jobs = 0; with_jobs < 2; with_jobs++) {
        pid_t child = fork_quietly();

        if (child == 0)
            exit_at_work(with_jobs);
        assert_all_right(child);
        assert_in_range(traced("gpu"), THREADS, UINT32_MAX);
    }
}

int main(void)
{
    /* libcrypto's own exit handler takes its default context from under
     * threads that are in the middle of something, and these crash. */
    if (!OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL))
        return 1;
    return cmocka_run_group_tests(unit_tests, setup, teardown);
}
