/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What tests of many jobs, threads and processes share: one subject, one key
 * that all of them sign with, and their work. What is called in jobs, threads
 * and children has no assertions, which would be nobody's there.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_PROVIDER_SUBJECT_H
#define WARPRSA_TESTS_UNIT_SUPPORT_PROVIDER_SUBJECT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>

#include <openssl/async.h>

#include "tests/unit/support/provider_support.h"

static EVP_PKEY *oracle_key; /* RSA-1024, in the default context */
static OSSL_LIB_CTX *subject;
static EVP_PKEY *subject_key; /* the same, in the subject */

/* Makes `libctx` the subject. */
static inline void subject_set(OSSL_LIB_CTX *libctx)
{
    subject = libctx;
    subject_key = key_in(libctx, oracle_key);
}

static inline void subject_free(void)
{
    EVP_PKEY_free(subject_key);
    OSSL_LIB_CTX_free(subject);
    subject_key = NULL;
    subject = NULL;
}

/* One subject with the engine on the CPU, for a group of tests. */
static inline int host_subject_setup(void **state)
{
    (void)state;
    oracle_key = key_make(NULL, "RSA", 1024, 2);
    subject_set(subject_open(HOST_ENGINE));
    return 0;
}

static inline int host_subject_teardown(void **state)
{
    (void)state;
    subject_free();
    EVP_PKEY_free(oracle_key);
    return 0;
}

/* ---- jobs ---- */

/* A signature made in an async job; zeros to begin with. */
typedef struct signing {
    ASYNC_JOB *job;
    ASYNC_WAIT_CTX *wait_ctx;
    unsigned char signature[128];
    size_t length; /* 0: failed */
    bool finished;
} signing;

static inline int sign_job(void *arg)
{
    signing *one = *(signing **)arg;

    one->length = sign_with(subject, subject_key, 0, one->signature,
                            sizeof(one->signature));
    return 1;
}

/* Starts or resumes it: ASYNC_PAUSE, ASYNC_FINISH or an error. The wait ctx is
 * made if there is none. */
static inline int signing_step(signing *one)
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

static inline bool signing_is_right(const signing *one)
{
    return one->finished && one->length == sizeof(one->signature) &&
           is_right(oracle_key, 0, one->signature, one->length);
}

/* Resumes whatever isn't finished, answered or not, until all are. The number
 * of resumptions that found no answer, or UINT32_MAX. */
static inline unsigned run_impatiently(signing *works, unsigned count)
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

/* Frees their wait ctxs; whether all of them are right. */
static inline bool signings_end(signing *works, unsigned count)
{
    bool right = true;

    for (unsigned i = 0; i < count; i++) {
        right &= signing_is_right(&works[i]);
        ASYNC_WAIT_CTX_free(works[i].wait_ctx);
    }
    return right;
}

/* ---- threads ---- */

typedef struct signer {
    pthread_t thread;
    atomic_uint made, wrong;
} signer;

static atomic_bool signers_stop;

static inline void *sign_until_stopped(void *arg)
{
    signer *self = arg;

    while (!atomic_load(&signers_stop)) {
        if (!signs_right(subject, subject_key, oracle_key))
            atomic_fetch_add(&self->wrong, 1);
        atomic_fetch_add(&self->made, 1);
    }
    return NULL;
}

static inline void signers_start(signer *signers, unsigned count)
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

/* Waits until each has made so many more. */
static inline void signers_make(signer *signers, unsigned count, unsigned more)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned wanted = atomic_load(&signers[i].made) + more;

        while (atomic_load(&signers[i].made) < wanted)
            usleep(1000);
    }
}

/* The number of signatures they made, all of them right. */
static inline unsigned signers_end(signer *signers, unsigned count)
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

/* ---- children ---- */

/* What a child finds out, as its exit status. */
enum {
    ALL_RIGHT,
    WRONG_SIGNATURE,
    WRONG_COUNTERS,
    WRONG_CHILD,
    WRONG_SETUP,
};

static inline pid_t fork_quietly(void)
{
    fflush(NULL);
    return fork();
}

static inline void assert_all_right(pid_t child)
{
    int status = -1;

    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), ALL_RIGHT);
}

/* Signs `count` times; afterwards so many operations went these ways. */
static inline int sign_in_child(unsigned count, uint64_t gpu, uint64_t cpu)
{
    for (unsigned i = 0; i < count; i++)
        if (!signs_right(subject, subject_key, oracle_key))
            return WRONG_SIGNATURE;
    return plain_counter_of(subject, "warprsa-gpu") == gpu &&
                   plain_counter_of(subject, "warprsa-cpu") == cpu
               ? ALL_RIGHT
               : WRONG_COUNTERS;
}

#endif
