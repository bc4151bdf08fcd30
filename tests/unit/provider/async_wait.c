/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Jobs that wait for requests with ordinary keys, with notifiers that the test
 * makes: jobs that are left, and a program that closes what it has not opened.
 */
#include "tests/unit/support/unit_test.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/async.h>

#include "batching/base/fork_generation.h"
#include "provider/async_wait.h"
#include "provider/backend_local.h"
#include "provider/jobs_left.h"

/* ---- what async_wait.c calls ---- */

static unsigned opened;  /* notifiers, one at a time */
static int daemon_end;   /* of the last one */
static bool works;       /* the daemon that made them is there */
static bool is_answered; /* what was submitted last */
static unsigned jobs_left, requests_left;
static warprsa_ticket submitted, left;

static bool notifier_open(void *impl, warprsa_notifier *notifier)
{
    int ends[2];

    (void)impl;
    assert_int_equal(socketpair(AF_UNIX,
                                SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                                ends),
                     0);
    daemon_end = ends[1];
    notifier->number = ++opened;
    return warprsa_own_fd_take(&notifier->fd, ends[0]) &&
           warprsa_marked_fd_take(&notifier->marked, notifier->fd.fd);
}

static bool notifier_works(void *impl, const warprsa_notifier *notifier)
{
    (void)impl;
    return works || notifier->number == opened;
}

static void notifier_close(warprsa_notifier *notifier)
{
    warprsa_own_fd_close(&notifier->fd);
    close(daemon_end);
}

static void leave(const warprsa_notifier *notifier, warprsa_ticket ticket)
{
    assert_int_equal(notifier->number, opened);
    requests_left++;
    left = ticket;
}

static warprsa_answer submit(void *impl, warprsa_backend_key *key,
                             const uint8_t *input, warprsa_notify notify,
                             uint32_t notifier, warprsa_ticket *ticket)
{
    (void)impl, (void)key, (void)input, (void)notify;
    assert_int_equal(notifier, opened);
    submitted.slot++;
    submitted.generation++;
    *ticket = submitted;
    return WARPRSA_DONE;
}

static warprsa_answer collect(void *impl, warprsa_ticket ticket,
                              uint8_t *output)
{
    (void)impl, (void)output;
    assert_memory_equal(&ticket, &submitted, sizeof(ticket));
    return is_answered ? WARPRSA_DONE : WARPRSA_PENDING;
}

static const warprsa_backend_ops ops = {
    .submit = submit,
    .collect = collect,
    .notifier_open = notifier_open,
    .notifier_works = notifier_works,
    .leave = leave,
    .notifier_close = notifier_close,
};
static const warprsa_backend backend = {&ops, NULL};

const warprsa_backend_ops warprsa_backend_local = {0};

bool warprsa_instance_is_mine(const warprsa_instance *instance)
{
    (void)instance;
    return true;
}

void warprsa_jobs_left_note(void)
{
    jobs_left++;
}

/* ---- jobs ---- */

static ASYNC_WAIT_CTX *wait_ctx;
static ASYNC_JOB *job;
static bool could_pause; /* of the last job */

/* One operation, as rsa_method.c has it. */
static int operate(void *arg)
{
    warprsa_async_wait *wait = warprsa_async_wait_new(&backend);
    warprsa_ticket ticket;

    (void)arg;
    could_pause = wait != NULL;
    if (wait == NULL)
        return 1;
    assert_int_equal(
        warprsa_async_wait_submit(wait, &backend, NULL, NULL, &ticket),
        WARPRSA_DONE);
    assert_int_equal(
        warprsa_async_wait_answer(wait, NULL, &backend, ticket, NULL),
        WARPRSA_DONE);
    return 1;
}

/* Starts the job, or resumes it. Returns whether it has ended. */
static bool run(void)
{
    int result = 0;
    const int status =
        ASYNC_start_job(&job, wait_ctx, &result, operate, NULL, 0);

    assert_true(status == ASYNC_PAUSE || status == ASYNC_FINISH);
    return status == ASYNC_FINISH;
}

static void operate_once(void)
{
    is_answered = false;
    assert_false(run());
    is_answered = true;
    assert_true(run());
    assert_true(could_pause);
}

static int begin(void **state)
{
    (void)state;
    opened = jobs_left = requests_left = 0;
    works = true;
    job = NULL;
    wait_ctx = ASYNC_WAIT_CTX_new();
    return wait_ctx == NULL;
}

static int end(void **state)
{
    (void)state;
    ASYNC_WAIT_CTX_free(wait_ctx);
    return 0;
}

static void begin_process(void)
{
}

static int begin_all(void **state)
{
    (void)state;
    return !warprsa_fork_generation_init(begin_process);
}

/* The end of a wait ctx leaves the request that its job pauses for, and none
 * that has been answered. */
TEST_IN(a_job_that_is_left, begin, end)
{
    static ASYNC_JOB *left_job; /* what libcrypto keeps of it stays in reach */

    operate_once();
    is_answered = false;
    assert_false(run());
    ASYNC_WAIT_CTX_free(wait_ctx);
    assert_int_equal(jobs_left, 1);
    assert_int_equal(requests_left, 1);
    assert_memory_equal(&left, &submitted, sizeof(left));
    left_job = job;
    assert_non_null(left_job);
    job = NULL;
    wait_ctx = ASYNC_WAIT_CTX_new();
    operate_once();
    ASYNC_WAIT_CTX_free(wait_ctx);
    wait_ctx = ASYNC_WAIT_CTX_new();
    assert_int_equal(jobs_left, 1);
    assert_int_equal(requests_left, 1);
}

static void assert_changed(size_t added, size_t deleted)
{
    size_t now_added = 0, now_deleted = 0;

    assert_int_equal(ASYNC_WAIT_CTX_get_changed_fds(wait_ctx, NULL, &now_added,
                                                    NULL, &now_deleted),
                     1);
    assert_int_equal(now_added, added);
    assert_int_equal(now_deleted, deleted);
}

TEST_IN(a_daemon_that_comes_back, begin, end)
{
    operate_once();
    works = false;
    opened++; /* another daemon's */
    is_answered = false;
    assert_false(run());
    assert_changed(1, 1);
    is_answered = true;
    assert_true(run());
}

/* The program has a file of its own at the number of the old notifier. It would
 * take a change of the number for one of its file's. */
TEST_IN(a_daemon_that_comes_back_after_a_close, begin, end)
{
    OSSL_ASYNC_FD number = -1;
    size_t count = 1;

    operate_once();
    assert_int_equal(ASYNC_WAIT_CTX_get_all_fds(wait_ctx, &number, &count), 1);
    assert_int_equal(count, 1);
    assert_int_equal(close(number), 0);
    assert_int_equal(open("/dev/null", O_RDONLY | O_CLOEXEC), number);
    works = false;
    opened++;
    assert_true(run());
    assert_false(could_pause);
    assert_changed(0, 0);
    assert_int_equal(close(number), 0);
}

RUN_TESTS(begin_all, NULL)
