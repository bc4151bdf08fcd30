/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The subject, and its work in jobs, threads and children.
 */
#include "tests/unit/support/provider_subject.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/wait.h>

#include "tests/unit/support/sanitizers.h"
#include "tests/unit/support/vault_daemon.h"

EVP_PKEY *oracle_key;
OSSL_LIB_CTX *subject;
EVP_PKEY *subject_key;

static bool is_in_vault;
static unsigned vault_number;

/* The key in the subject: a copy, or a reference. */
static EVP_PKEY *key_of_subject(void)
{
    if (!vault_daemon_is_wanted())
        return key_in(subject, oracle_key);
    if (is_in_vault)
        return vault_daemon_load(subject, vault_number);
    is_in_vault = true;
    return vault_daemon_reference(subject, oracle_key, &vault_number);
}

void subject_set(OSSL_LIB_CTX *libctx)
{
    subject = libctx;
    subject_key = key_of_subject();
    assert_non_null(subject_key);
}

void subject_free(void)
{
    EVP_PKEY_free(subject_key);
    OSSL_LIB_CTX_free(subject);
    subject_key = NULL;
    subject = NULL;
}

int host_subject_setup(void **state)
{
    if (vault_daemon_is_wanted())
        vault_daemon_start();
    oracle_key = key_make(NULL, "RSA", 1024, 2);
    subject_set(subject_open(*state != NULL ? *state : HOST_ENGINE));
    return 0;
}

int host_subject_teardown(void **state)
{
    subject_free();
    EVP_PKEY_free(oracle_key);
    is_in_vault = false;
    return vault_daemon_is_wanted() ? vault_daemon_stop() : 0;
}

int sign_job(void *arg)
{
    signing *one = *(signing **)arg;

    one->length = sign_with(subject, subject_key, 0, one->signature,
                            sizeof(one->signature));
    return 1;
}

int blocked_sign_job(void *arg)
{
    int ret = 0;

    ASYNC_block_pause();
    ret = sign_job(arg);
    ASYNC_unblock_pause();
    return ret;
}

int note_callback(void *arg)
{
    atomic_int *called = arg;

    atomic_store(called, 1);
    return 1;
}

int signing_step(signing *one)
{
    int ret = 0, status = ASYNC_ERR;

    if (one->wait_ctx == NULL)
        one->wait_ctx = ASYNC_WAIT_CTX_new();
    if (one->wait_ctx != NULL)
        status = ASYNC_start_job(&one->job, one->wait_ctx, &ret, sign_job, &one,
                                 sizeof(one));
    one->finished = status == ASYNC_FINISH;
    return status;
}

bool signing_is_right(const signing *one)
{
    return one->finished && one->length == sizeof(one->signature) &&
           is_right(oracle_key, 0, one->signature, one->length);
}

unsigned run_impatiently(signing *works, unsigned count)
{
    unsigned paused = 1, early = 0;

    while (paused > 0) {
        paused = 0;
        for (unsigned i = 0; i < count; i++) {
            int status =
                works[i].finished ? ASYNC_FINISH : signing_step(&works[i]);

            if (status != ASYNC_FINISH && status != ASYNC_PAUSE)
                return UINT32_MAX;
            paused += status == ASYNC_PAUSE;
        }
        early += paused;
    }
    return early;
}

bool signings_end(signing *works, unsigned count)
{
    bool right = true;

    for (unsigned i = 0; i < count; i++) {
        right &= signing_is_right(&works[i]);
        ASYNC_WAIT_CTX_free(works[i].wait_ctx);
    }
    return right;
}

static pthread_mutex_t program_lock = PTHREAD_MUTEX_INITIALIZER;

static int take_lock(void *arg)
{
    pthread_mutex_lock(&program_lock);
    pthread_mutex_unlock(&program_lock);
    return 1;
}

bool signs_under_a_lock(unsigned count)
{
    signing one = {.wait_ctx = ASYNC_WAIT_CTX_new()};
    bool right =
        ASYNC_WAIT_CTX_set_callback(one.wait_ctx, take_lock, NULL) == 1;

    for (unsigned i = 0; right && i < count; i++) {
        int status = ASYNC_PAUSE;

        one.length = 0;
        while (status == ASYNC_PAUSE) {
            pthread_mutex_lock(&program_lock);
            status = signing_step(&one);
            pthread_mutex_unlock(&program_lock);
        }
        right = signing_is_right(&one);
    }
    ASYNC_WAIT_CTX_free(one.wait_ctx);
    return right;
}

bool signs_in_jobs_of_one_wait_ctx(void)
{
    signing works[3] = {{.wait_ctx = ASYNC_WAIT_CTX_new()}};
    bool right = false;

    works[1].wait_ctx = works[2].wait_ctx = works[0].wait_ctx;
    right = signing_step(&works[0]) == ASYNC_PAUSE &&
            signing_step(&works[1]) == ASYNC_FINISH &&
            run_impatiently(works, 1) != UINT32_MAX &&
            signing_step(&works[2]) == ASYNC_PAUSE &&
            run_impatiently(&works[2], 1) != UINT32_MAX;
    for (unsigned i = 0; i < 3; i++)
        right &= signing_is_right(&works[i]);
    ASYNC_WAIT_CTX_free(works[0].wait_ctx);
    return right;
}

static atomic_bool signers_stop;

static void *sign_until_stopped(void *arg)
{
    signer *self = arg;

    while (!atomic_load(&signers_stop)) {
        if (!signs_right(subject, subject_key, oracle_key))
            atomic_fetch_add(&self->wrong, 1);
        atomic_fetch_add(&self->made, 1);
    }
    return NULL;
}

void signers_start(signer *signers, unsigned count)
{
    atomic_store(&signers_stop, false);
    for (unsigned i = 0; i < count; i++) {
        atomic_init(&signers[i].made, 0);
        atomic_init(&signers[i].wrong, 0);
        assert_int_equal(pthread_create(&signers[i].thread, NULL,
                                        sign_until_stopped, &signers[i]),
                         0);
    }
}

void signers_make(signer *signers, unsigned count, unsigned more)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned wanted = atomic_load(&signers[i].made) + more;

        while (atomic_load(&signers[i].made) < wanted)
            usleep(1000);
    }
}

unsigned signers_end(signer *signers, unsigned count)
{
    unsigned made = 0;

    atomic_store(&signers_stop, true);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(pthread_join(signers[i].thread, NULL), 0);
        assert_int_equal(atomic_load(&signers[i].wrong), 0);
        made += atomic_load(&signers[i].made);
    }
    return made;
}

#ifdef UNDER_ASAN
/* Whether every thread of the process but the calling one sleeps. */
static bool others_sleep(void)
{
    DIR *threads = opendir("/proc/self/task");
    struct dirent *entry = NULL;
    bool sleep = true;

    assert_non_null(threads);
    while ((entry = readdir(threads)) != NULL) {
        char path[512], state = 'S';
        FILE *stat = NULL;

        snprintf(path, sizeof(path), "/proc/self/task/%s/stat", entry->d_name);
        if (atoi(entry->d_name) == gettid() ||
            (stat = fopen(path, "r")) == NULL)
            continue; /* also "." and "..", and a thread that has ended */
        if (fscanf(stat, "%*d (%*[^)]) %c", &state) == 1 && state != 'S')
            sleep = false;
        fclose(stat);
    }
    closedir(threads);
    return sleep;
}
#endif

pid_t fork_quietly(void)
{
    fflush(NULL);
#ifdef UNDER_ASAN
    for (unsigned i = 0; i < 1000 && !others_sleep(); i++)
        usleep(1000);
#endif
    return fork();
}

void assert_all_right(pid_t child)
{
    int status = -1;

    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), ALL_RIGHT);
}

int sign_in_child(unsigned count, uint64_t gpu, uint64_t cpu)
{
    for (unsigned i = 0; i < count; i++)
        if (!signs_right(subject, subject_key, oracle_key))
            return WRONG_SIGNATURE;
    return plain_counter_of(subject, "warprsa-gpu") == gpu &&
                   plain_counter_of(subject, "warprsa-cpu") == cpu
               ? ALL_RIGHT
               : WRONG_COUNTERS;
}
