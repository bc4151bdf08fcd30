/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The provider unloaded, and the process ended, while requests are under way.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>

#include <openssl/async.h>

#include "tests/unit/provider_support.h"

enum {
    JOBS = 32,
    THREADS = 8,
};

static char trace[] = "/tmp/warprsa-unload.XXXXXX";
static EVP_PKEY *oracle_key;

static int setup(void **state)
{
    int fd = mkstemp(trace);

    (void)state;
    oracle_key = key_make(NULL, "RSA", 1024, 2);
    return fd >= 0 ? close(fd) : -1;
}

static int teardown(void **state)
{
    (void)state;
    EVP_PKEY_free(oracle_key);
    return unlink(trace);
}

/* A context that the program itself, not its configuration, loads the provider
 * into; traced to the file, which is emptied. */
static OSSL_LIB_CTX *open_traced(OSSL_PROVIDER **provider)
{
    char settings[256];
    OSSL_LIB_CTX *libctx = NULL;

    snprintf(settings, sizeof(settings), HOST_ENGINE "trace = file:%s\n",
             trace);
    assert_int_equal(truncate(trace, 0), 0);
    libctx = context_with(settings);
    *provider = OSSL_PROVIDER_load(libctx, "warprsa");
    if (*provider == NULL)
        ERR_print_errors_fp(stderr);
    assert_non_null(*provider);
    return libctx;
}

/* A counter in the only counters line of the trace; UINT64_MAX if there is
 * not one such line. */
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

typedef struct work {
    OSSL_LIB_CTX *libctx;
    EVP_PKEY *key;
    ASYNC_JOB *job;
    ASYNC_WAIT_CTX *wait_ctx;
    unsigned char signature[128];
    size_t length;
} work;

static int sign_job(void *arg)
{
    work *one = *(work **)arg;

    one->length = sign_with(one->libctx, one->key, 0, one->signature,
                            sizeof(one->signature));
    return 1;
}

static int step(work *one)
{
    int ret = 0;

    return ASYNC_start_job(&one->job, one->wait_ctx, &ret, sign_job, &one,
                           sizeof(one));
}

static void start_jobs(work works[JOBS], OSSL_LIB_CTX *libctx, EVP_PKEY *key)
{
    memset(works, 0, JOBS * sizeof(*works));
    for (unsigned i = 0; i < JOBS; i++) {
        works[i].libctx = libctx;
        works[i].key = key;
        works[i].wait_ctx = ASYNC_WAIT_CTX_new();
        assert_int_equal(step(&works[i]), ASYNC_PAUSE);
    }
}

static void unloaded_under_jobs(void **state)
{
    static work works[JOBS];
    OSSL_PROVIDER *provider = NULL;
    OSSL_LIB_CTX *libctx = open_traced(&provider);
    EVP_PKEY *key = key_in(libctx, oracle_key);
    unsigned char signature[128];

    (void)state;
    start_jobs(works, libctx, key);
    assert_int_equal(OSSL_PROVIDER_unload(provider), 1);
    assert_false(OSSL_PROVIDER_available(libctx, "warprsa"));
    /* New operations find default. */
    assert_int_equal(sign_with(libctx, key, 0, signature, sizeof(signature)),
                     sizeof(signature));
    for (unsigned i = 0; i < JOBS; i++) {
        while (step(&works[i]) == ASYNC_PAUSE)
            ;
        assert_int_equal(works[i].length, sizeof(works[i].signature));
        assert_true(
            is_right(oracle_key, 0, works[i].signature, works[i].length));
    }
    EVP_PKEY_free(key);
    OSSL_LIB_CTX_free(libctx);
    assert_int_equal(traced("gpu"), JOBS);
    assert_int_equal(traced("cpu"), 0);
    assert_int_equal(traced("keys_loaded"), 1);
    assert_int_equal(traced("keys_wiped"), 1);
    /* The code that cleans these up outlives the provider. */
    for (unsigned i = 0; i < JOBS; i++)
        ASYNC_WAIT_CTX_free(works[i].wait_ctx);
}

/* The default provider the program loaded is the one ours wraps: either may go
 * first. */
static void default_unloaded(void **state)
{
    (void)state;
    for (int default_first = 0; default_first < 2; default_first++) {
        OSSL_LIB_CTX *libctx = context_with(HOST_ENGINE);
        OSSL_PROVIDER *theirs = OSSL_PROVIDER_load(libctx, "default");
        OSSL_PROVIDER *ours = OSSL_PROVIDER_load(libctx, "warprsa");
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

/* Without a default provider in the program the provider has its own. */
static void no_default(void **state)
{
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
    OSSL_PROVIDER *base = OSSL_PROVIDER_load(libctx, "base");
    OSSL_PROVIDER *ours = NULL;
    EVP_PKEY *key = NULL;
    char path[512];

    (void)state;
    snprintf(path, sizeof(path), "%s/provider", getenv("BUILD_DIR"));
    assert_int_equal(OSSL_PROVIDER_set_default_search_path(libctx, path), 1);
    ours = OSSL_PROVIDER_load(libctx, "warprsa");
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

typedef struct signer {
    pthread_t thread;
    OSSL_LIB_CTX *libctx;
    EVP_PKEY *key;
    atomic_bool *stop;
    atomic_uint made;
} signer;

static void *sign_until_stopped(void *arg)
{
    signer *self = arg;

    while (!atomic_load(self->stop)) {
        if (!signs_right(self->libctx, self->key, oracle_key))
            return "wrong";
        atomic_fetch_add(&self->made, 1);
    }
    return NULL;
}

static void start_signers(signer signers[THREADS], OSSL_LIB_CTX *libctx,
                          EVP_PKEY *key, atomic_bool *stop)
{
    atomic_store(stop, false);
    for (unsigned i = 0; i < THREADS; i++) {
        signers[i].libctx = libctx;
        signers[i].key = key;
        signers[i].stop = stop;
        atomic_init(&signers[i].made, 0);
        assert_int_equal(pthread_create(&signers[i].thread, NULL,
                                        sign_until_stopped, &signers[i]),
                         0);
    }
}

/* Waits until each has made so many more. */
static void wait_for(signer signers[THREADS], unsigned more)
{
    for (unsigned i = 0; i < THREADS; i++) {
        unsigned wanted = atomic_load(&signers[i].made) + more;

        while (atomic_load(&signers[i].made) < wanted)
            usleep(1000);
    }
}

static void unloaded_under_threads(void **state)
{
    static signer signers[THREADS];
    static atomic_bool stop;
    OSSL_PROVIDER *provider = NULL;
    OSSL_LIB_CTX *libctx = open_traced(&provider);
    EVP_PKEY *key = key_in(libctx, oracle_key);

    (void)state;
    start_signers(signers, libctx, key, &stop);
    wait_for(signers, 2);
    assert_int_equal(OSSL_PROVIDER_unload(provider), 1);
    wait_for(signers, 2);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < THREADS; i++) {
        void *failure = NULL;

        assert_int_equal(pthread_join(signers[i].thread, &failure), 0);
        assert_null(failure);
    }
    EVP_PKEY_free(key);
    OSSL_LIB_CTX_free(libctx);
    assert_in_range(traced("gpu"), 2 * THREADS, UINT32_MAX);
    assert_int_equal(traced("cpu"), 0);
}

/* In a child: ends the process with requests under way, nothing freed. */
static void exit_at_work(int with_jobs)
{
    static work works[JOBS];
    static signer signers[THREADS];
    static atomic_bool stop;
    OSSL_PROVIDER *provider = NULL;
    OSSL_LIB_CTX *libctx = open_traced(&provider);
    EVP_PKEY *key = key_in(libctx, oracle_key);

    start_signers(signers, libctx, key, &stop);
    wait_for(signers, 1);
    if (with_jobs)
        start_jobs(works, libctx, key);
    leaks_are_meant = 1;
    exit(0);
}

static void exit_under_way(void **state)
{
    (void)state;
    for (int with_jobs = 0; with_jobs < 2; with_jobs++) {
        int status = -1;
        pid_t child = -1;

        fflush(NULL);
        child = fork();
        if (child == 0)
            exit_at_work(with_jobs);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        assert_in_range(traced("gpu"), THREADS, UINT32_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unloaded_under_jobs),
        cmocka_unit_test(default_unloaded),
        cmocka_unit_test(no_default),
        cmocka_unit_test(unloaded_under_threads),
        cmocka_unit_test(exit_under_way),
    };

    /* libcrypto's own exit handler takes its default context from under
     * threads that are in the middle of something, and these crash. */
    if (!OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL))
        return 1;
    return cmocka_run_group_tests(tests, setup, teardown);
}
