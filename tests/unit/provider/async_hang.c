/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The only worker of a process hangs in its driver, with the request of a
 * paused job. The program's next operations have the job resumed, and it ends
 * on the CPU. The provider is linked into this program, in which a worker loads
 * keys by a function of the test.
 */
#include <poll.h>
#include <semaphore.h>

#include "batching/queue/device_keys.h"
#include "tests/unit/support/provider_subject.h"
#include "tests/unit/support/wait_until.h"

OSSL_provider_init_fn OSSL_provider_init;

static atomic_bool hangs, is_hanging;
static sem_t end;

bool __real_warprsa_device_load_key(warprsa_queue_device *device,
                                    warprsa_status *status,
                                    warprsa_request_chain *refused);
bool __wrap_warprsa_device_load_key(warprsa_queue_device *device,
                                    warprsa_status *status,
                                    warprsa_request_chain *refused);
bool __wrap_warprsa_device_load_key(warprsa_queue_device *device,
                                    warprsa_status *status,
                                    warprsa_request_chain *refused)
{
    if (atomic_exchange(&hangs, false)) {
        atomic_store(&is_hanging, true);
        while (sem_wait(&end) != 0)
            ;
    }
    return __real_warprsa_device_load_key(device, status, refused);
}

static int set_up(void **state)
{
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();

    (void)state;
    assert_non_null(libctx);
    assert_int_equal(
        OSSL_PROVIDER_add_builtin(libctx, "warprsa", OSSL_provider_init), 1);
    load_settings(libctx, "activate = 1\n"
                          "engine = host\nroute = gpu\nstreams = 1\n"
                          "startup_ms = 60000\ndeadline_ms = 50\n");
    oracle_key = key_make(NULL, "RSA", 1024, 2);
    subject_set(libctx);
    assert_int_equal(sem_init(&end, 0, 0), 0);
    atomic_store(&is_hanging, false);
    atomic_store(&hangs, true);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    subject_free();
    EVP_PKEY_free(oracle_key);
    sem_destroy(&end);
    return 0;
}

/* Begins a job, whose request is with the hanging worker then. */
static void begin(signing *one)
{
    assert_int_equal(signing_step(one), ASYNC_PAUSE);
    WAIT_UNTIL(atomic_load(&is_hanging));
}

/* Two operations, one after the other. Each waits for its own deadline, so the
 * job's has passed when the second one begins. */
static void sign_late(void)
{
    assert_true(signs_right(subject, subject_key, oracle_key));
    assert_true(signs_right(subject, subject_key, oracle_key));
}

/* Resumes the job, which has been told to; then the worker goes on. */
static void end_of(signing *one)
{
    assert_int_equal(signing_step(one), ASYNC_FINISH);
    assert_true(signings_end(one, 1));
    assert_int_equal(counter_of(subject, "warprsa-gpu"), 0);
    assert_int_equal(sem_post(&end), 0);
}

static bool is_readable(const signing *one)
{
    struct pollfd fd = {.events = POLLIN};
    size_t count = 1;

    return ASYNC_WAIT_CTX_get_all_fds(one->wait_ctx, &fd.fd, &count) == 1 &&
           count == 1 && poll(&fd, 1, 0) == 1;
}

TEST_IN(a_job_with_a_descriptor, set_up, tear_down)
{
    signing one = {0};

    begin(&one);
    assert_false(is_readable(&one));
    sign_late();
    WAIT_UNTIL(is_readable(&one));
    end_of(&one);
}

static pthread_t program;
static atomic_uint calls, calls_of_program;

static int count_calls(void *arg)
{
    (void)arg;
    atomic_fetch_add(&calls_of_program, pthread_equal(pthread_self(), program));
    atomic_fetch_add(&calls, 1);
    return 1;
}

/* The program's own thread may hold locks that the callback takes, so another
 * thread calls it. */
TEST_IN(a_job_with_a_callback, set_up, tear_down)
{
    signing one = {.wait_ctx = ASYNC_WAIT_CTX_new()};

    program = pthread_self();
    assert_int_equal(
        ASYNC_WAIT_CTX_set_callback(one.wait_ctx, count_calls, NULL), 1);
    begin(&one);
    assert_int_equal(calls, 0);
    sign_late();
    WAIT_UNTIL(calls != 0);
    end_of(&one);
    assert_int_equal(calls, 1);
    assert_int_equal(calls_of_program, 0);
}

RUN_TESTS(NULL, NULL)
