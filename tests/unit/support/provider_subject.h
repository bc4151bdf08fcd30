/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What tests of many jobs, threads and processes share: one subject, one key
 * that all of them sign with, and their work. Functions that jobs, threads and
 * child processes call have no assertions, which nobody would see there.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_PROVIDER_SUBJECT_H
#define WARPRSA_TESTS_UNIT_SUPPORT_PROVIDER_SUBJECT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

#include <openssl/async.h>

#include "tests/unit/support/provider_support.h"

extern EVP_PKEY *oracle_key; /* RSA-1024, in the default context */
extern OSSL_LIB_CTX *subject;
extern EVP_PKEY *subject_key; /* the same key in the subject */

/* Makes `libctx` the subject, which subject_free() frees. */
void subject_set(OSSL_LIB_CTX *libctx);
void subject_free(void);

/* Set-up and tear-down of a test, or of a group with one subject for all of
 * them. Its settings are the text at *state, or those of the engine on the CPU
 * where that is NULL. */
int host_subject_setup(void **state);
int host_subject_teardown(void **state);

/* ---- jobs ---- */

/* A signature made in an async job; zeros to begin with. */
typedef struct signing {
    ASYNC_JOB *job;
    ASYNC_WAIT_CTX *wait_ctx;
    unsigned char signature[128];
    size_t length; /* 0: failed */
    bool finished;
} signing;

/* The function of such a job: signs. `arg` points to a signing *. */
int sign_job(void *arg);

/* The same, in which the job may not pause. */
int blocked_sign_job(void *arg);

/* A callback of a wait ctx: sets `arg`, an atomic_int, to 1. */
int note_callback(void *arg);

/* Starts or resumes the job, and makes a wait ctx if there is none. Returns
 * ASYNC_PAUSE, ASYNC_FINISH or an error. */
int signing_step(signing *one);

/* Whether the job has finished with the right signature. */
bool signing_is_right(const signing *one);

/* Resumes jobs that haven't finished, answered or not, until all have. Returns
 * the number of resumptions that found no answer; UINT32_MAX: an error. */
unsigned run_impatiently(signing *works, unsigned count);

/* Frees the jobs' wait ctxs. Returns whether all signatures are right. */
bool signings_end(signing *works, unsigned count);

/* Signs `count` times in jobs of one wait ctx, as a program whose callback
 * takes the lock that it holds while it starts and resumes jobs. Returns
 * whether all signatures are right. */
bool signs_under_a_lock(unsigned count);

/* Signs in two jobs of one wait ctx at once, which OpenSSL forbids, and in a
 * third one afterwards. Returns whether all signatures are right. */
bool signs_in_jobs_of_one_wait_ctx(void);

/* ---- threads ---- */

/* A thread that signs until signers_end(). */
typedef struct signer {
    pthread_t thread;
    atomic_uint made, wrong;
} signer;

void signers_start(signer *signers, unsigned count);

/* Waits until each signer has made `more` more signatures. */
void signers_make(signer *signers, unsigned count, unsigned more);

/* Ends the signers and asserts that all signatures were right. Returns how many
 * they made. */
unsigned signers_end(signer *signers, unsigned count);

/* ---- children ---- */

/* What a child finds out, as its exit status. */
enum {
    ALL_RIGHT,
    WRONG_SIGNATURE,
    WRONG_COUNTERS,
    WRONG_CHILD,
    WRONG_SETUP,
};

/* Forks with empty buffers of standard output, which both would write else.
 * Under AddressSanitizer it waits up to a second until the other threads sleep:
 * its allocator does not let go of its locks in a child, so that a thread that
 * allocates at that moment would keep the child waiting for ever. */
pid_t fork_quietly(void);

/* Waits for a child and asserts that its status is ALL_RIGHT. */
void assert_all_right(pid_t child);

/* Asserts that an expression is ALL_RIGHT in a child, which ends with it. */
#define ASSERT_CHILD(expression)                                               \
    do {                                                                       \
        pid_t child_of_this = fork_quietly();                                  \
        if (child_of_this == 0)                                                \
            _exit(expression);                                                 \
        assert_all_right(child_of_this);                                       \
    } while (0)

/* Signs `count` times in a child. Returns ALL_RIGHT if afterwards so many
 * operations were done on the device and on the CPU. */
int sign_in_child(unsigned count, uint64_t gpu, uint64_t cpu);

#endif
