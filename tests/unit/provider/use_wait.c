/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * When the descriptor of a wait ctx is readable, where the daemon's byte for an
 * answer comes late or never: jobs that wait for uses of vault keys, with
 * notifiers that the test writes to.
 */
#include "tests/unit/support/unit_test.h"

#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/async.h>

#include "batching/base/clock.h"
#include "batching/base/fork_generation.h"
#include "batching/daemon/client/client.h"
#include "provider/async_wait.h"
#include "provider/jobs_left.h"
#include "provider/use_wait.h"
#include "provider/use_watch.h"

static const uint64_t FAR_NS = 600000 * WARPRSA_NS_PER_MS;

/* ---- what use_wait.c calls ---- */

static unsigned opened;  /* notifiers, one at a time */
static int daemon_end;   /* of the last one */
static bool never_works; /* notifiers are of a connection that has gone */

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
    (void)impl, (void)notifier;
    return !never_works;
}

static void notifier_close(warprsa_notifier *notifier)
{
    warprsa_own_fd_close(&notifier->fd);
    close(daemon_end);
}

static unsigned looks; /* into notifiers */

/* In the place of libc's. */
ssize_t recv(int fd, void *to, size_t size, int flags)
{
    looks++;
    return recvfrom(fd, to, size, flags, NULL, NULL);
}

const warprsa_backend_ops warprsa_backend_daemon = {
    .notifier_open = notifier_open,
    .notifier_works = notifier_works,
    .notifier_close = notifier_close,
};

void warprsa_async_pause(unsigned *pauses)
{
    ++*pauses;
    assert_int_equal(ASYNC_pause_job(), 1);
}

bool warprsa_async_has_paused(void)
{
    return true;
}

void warprsa_jobs_left_note(void)
{
}

void warprsa_client_use_leave(struct warprsa_connection *connection,
                              warprsa_ticket ticket)
{
    (void)connection, (void)ticket;
}

/* ---- uses ---- */

static ASYNC_WAIT_CTX *wait_ctx;
static ASYNC_JOB *job;
static bool answered; /* the job takes the answer when it is resumed */
static unsigned resumed, submitted;

/* One use, as reference_use.c waits for it. */
static int use_key(void *arg)
{
    const warprsa_client_use use = {
        .ticket.generation = ++submitted,
        .is_submitted = true,
        .by_notifier = true,
        .wake_ns = warprsa_clock_ns() + FAR_NS,
        .until_ns = warprsa_clock_ns() + FAR_NS,
    };
    warprsa_use_wait *wait = warprsa_use_wait_new();

    (void)arg;
    assert_non_null(wait);
    assert_int_not_equal(warprsa_use_wait_notifier(wait, NULL), 0);
    while (!answered) {
        warprsa_use_wait_pause(wait, NULL, &use);
        resumed++;
    }
    warprsa_use_wait_end(wait);
    return 1;
}

/* Starts the job, or resumes it. Returns whether it has ended. */
static bool run(void)
{
    int result = 0;
    const int status =
        ASYNC_start_job(&job, wait_ctx, &result, use_key, NULL, 0);

    assert_true(status == ASYNC_PAUSE || status == ASYNC_FINISH);
    return status == ASYNC_FINISH;
}

static void begin_use(void)
{
    answered = false;
    assert_false(run());
}

static void take_answer(void)
{
    answered = true;
    assert_true(run());
}

static void daemon_writes(void)
{
    assert_int_equal(send(daemon_end, "", 1, MSG_NOSIGNAL), 1);
}

static bool is_readable(void)
{
    OSSL_ASYNC_FD fd = -1;
    size_t count = 1;
    struct pollfd one = {.events = POLLIN};

    assert_int_equal(ASYNC_WAIT_CTX_get_all_fds(wait_ctx, &fd, &count), 1);
    assert_int_equal(count, 1);
    one.fd = fd;
    return poll(&one, 1, 0) == 1;
}

static void begin_process(void)
{
    warprsa_use_watch_begin_process();
}

static int begin(void **state)
{
    (void)state;
    opened = resumed = submitted = 0;
    never_works = false;
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

static int begin_all(void **state)
{
    (void)state;
    return !warprsa_fork_generation_init(begin_process);
}

TEST_IN(a_byte_for_each_answer, begin, end)
{
    for (unsigned i = 0; i < 3; i++) {
        begin_use();
        assert_false(is_readable());
        daemon_writes();
        assert_true(is_readable());
        take_answer();
        assert_false(is_readable());
    }
    assert_int_equal(opened, 1);
    assert_int_equal(resumed, 3);
}

/* A job may be resumed for another reason, and find the answer before the
 * daemon has written the byte. */
TEST_IN(a_byte_after_the_use, begin, end)
{
    begin_use();
    take_answer();
    assert_false(is_readable());
    daemon_writes();
    assert_false(is_readable()); /* no job waits */
    begin_use();
    assert_false(is_readable()); /* it waits for another answer */
    daemon_writes();
    assert_true(is_readable());
    take_answer();
    assert_false(is_readable());
    assert_int_equal(opened, 1);
    assert_int_equal(resumed, 2);
}

/* Where the byte comes during the next use, the job is resumed too early, and
 * waits again. */
TEST_IN(a_byte_during_the_next_use, begin, end)
{
    begin_use();
    take_answer();
    begin_use();
    daemon_writes();
    assert_true(is_readable());
    assert_false(run());
    assert_false(is_readable());
    take_answer();
    daemon_writes();
    assert_false(is_readable());
    begin_use();
    assert_false(is_readable());
    daemon_writes();
    take_answer();
    assert_int_equal(opened, 1);
}

/* That byte resumes the job, which finds its own answer before the byte for
 * it. */
TEST_IN(two_bytes_after_the_use, begin, end)
{
    begin_use();
    take_answer();
    begin_use();
    daemon_writes();
    assert_true(is_readable());
    take_answer();
    daemon_writes();
    assert_false(is_readable()); /* no job waits */
    begin_use();
    assert_false(is_readable());
    daemon_writes();
    assert_true(is_readable());
    take_answer();
    assert_false(is_readable());
    assert_int_equal(opened, 1);
}

/* Of several answers of a batch there may be one byte. That costs the next use
 * a look, and no later one. */
TEST_IN(a_byte_for_two_answers, begin, end)
{
    begin_use();
    take_answer();
    begin_use();
    daemon_writes(); /* for both answers */
    take_answer();
    begin_use();
    daemon_writes();
    take_answer();
    looks = 0;
    for (unsigned i = 0; i < 3; i++) {
        begin_use();
        daemon_writes();
        assert_true(is_readable());
        take_answer();
    }
    assert_int_equal(looks, 3); /* after each pause */
    assert_int_equal(opened, 1);
}

/* The notifier of a daemon that has gone stays readable: it is replaced. */
TEST_IN(a_daemon_that_goes, begin, end)
{
    begin_use();
    take_answer();
    assert_int_equal(shutdown(daemon_end, SHUT_RDWR), 0);
    assert_false(is_readable());
    begin_use();
    assert_int_equal(opened, 2);
    assert_false(is_readable());
    never_works = true;
    daemon_writes();
    take_answer();
    begin_use();
    assert_int_equal(opened, 3);
    assert_false(is_readable());
    daemon_writes();
    take_answer();
    assert_false(is_readable());
}

RUN_TESTS(begin_all, NULL)
