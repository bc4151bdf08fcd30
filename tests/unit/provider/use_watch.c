/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which of the jobs that wait for notifiers has its timer set, and what happens
 * when it ends, expires, or is not resumed.
 */
#include "tests/unit/support/unit_test.h"

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/base/own_fd.h"
#include "provider/use_watch.h"

enum {
    JOBS = 4
};

static const uint64_t LOOK_NS = 250 * WARPRSA_NS_PER_MS;
static const uint64_t FAR_NS = 600000 * WARPRSA_NS_PER_MS;

static warprsa_watched jobs[JOBS];
static int one_client, other_client;
static uint64_t now_ns;

static int begin(void **state)
{
    (void)state;
    warprsa_use_watch_begin_process();
    for (unsigned i = 0; i < JOBS; i++) {
        jobs[i] = (warprsa_watched){
            .timer = warprsa_marked_fd_take(
                timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC))};
        assert_true(jobs[i].timer >= 0);
    }
    now_ns = warprsa_clock_ns();
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < JOBS; i++)
        warprsa_marked_fd_close(jobs[i].timer);
    return 0;
}

/* Adds a job that asks for a look in an hour, which no test waits for, or at
 * its deadline. */
static void add(unsigned i, uint64_t until_ns)
{
    const uint64_t look_ns = now_ns + 6 * FAR_NS;

    warprsa_use_watch_add(&jobs[i], &one_client,
                          until_ns < look_ns ? until_ns : look_ns, until_ns);
}

static bool is_set(unsigned i)
{
    struct itimerspec at;

    assert_int_equal(timerfd_gettime(jobs[i].timer, &at), 0);
    return at.it_value.tv_sec != 0 || at.it_value.tv_nsec != 0;
}

static bool expires(unsigned i)
{
    struct pollfd one = {.fd = jobs[i].timer, .events = POLLIN};

    return poll(&one, 1, 60000) == 1;
}

static unsigned count_set(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < JOBS; i++)
        count += is_set(i);
    return count;
}

/* Whether a job that add() has added will be resumed for a look, and not for
 * its deadline, which is 600 s later. */
static bool looks(unsigned i)
{
    struct itimerspec at;

    assert_int_equal(timerfd_gettime(jobs[i].timer, &at), 0);
    return is_set(i) && at.it_value.tv_sec < 3900;
}

static unsigned count_looks(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < JOBS; i++)
        count += looks(i);
    return count;
}

/* The last one follows, and at last nobody. The others have their deadlines: a
 * program may resume one job again and again and wait for another. */
TEST_IN(one_job_looks, begin, end)
{
    for (unsigned i = 0; i < JOBS; i++)
        add(i, now_ns + 7 * FAR_NS + i);
    assert_true(looks(0));
    assert_int_equal(count_looks(), 1);
    assert_int_equal(count_set(), JOBS);
    warprsa_use_watch_remove(&jobs[1]); /* not the watcher */
    assert_true(looks(0));
    assert_int_equal(count_set(), JOBS - 1);
    warprsa_use_watch_remove(&jobs[0]);
    assert_true(looks(3));
    assert_int_equal(count_looks(), 1);
    add(0, now_ns + 7 * FAR_NS); /* it pauses again */
    assert_false(looks(0));
    assert_true(is_set(0));
    warprsa_use_watch_remove(&jobs[0]);
    warprsa_use_watch_remove(&jobs[3]);
    assert_true(looks(2));
    warprsa_use_watch_remove(&jobs[2]);
    assert_int_equal(count_set(), 0);
}

/* The watcher wakes those whose deadline has come, and no other. */
TEST_IN(deadlines_are_kept, begin, end)
{
    add(0, now_ns + FAR_NS);
    add(1, now_ns); /* an earlier deadline than the watcher's */
    add(2, now_ns);
    assert_true(expires(0));
    warprsa_use_watch_remove(&jobs[0]);
    assert_true(expires(1));
    assert_true(expires(2));
    warprsa_use_watch_remove(&jobs[1]);
    warprsa_use_watch_remove(&jobs[2]);
    assert_int_equal(count_set(), 0);
}

/* A look at one daemon tells nothing of another. */
TEST_IN(each_client_looks, begin, end)
{
    warprsa_use_watch_add(&jobs[0], &one_client, now_ns, now_ns + FAR_NS);
    warprsa_use_watch_add(&jobs[1], &one_client, now_ns, now_ns + FAR_NS);
    warprsa_use_watch_add(&jobs[2], &other_client, now_ns, now_ns + FAR_NS);
    assert_true(expires(0));
    warprsa_use_watch_remove(&jobs[0]);
    assert_true(expires(2));
    assert_true(is_set(1)); /* the next watcher, which has not expired */
    warprsa_use_watch_remove(&jobs[1]);
    warprsa_use_watch_remove(&jobs[2]);
}

/* A job that pauses after the watcher should have been resumed. */
TEST_IN(a_watcher_is_replaced, begin, end)
{
    warprsa_use_watch_add(&jobs[0], &one_client, now_ns, now_ns + FAR_NS);
    warprsa_use_watch_add(&jobs[1], &one_client, now_ns + LOOK_NS,
                          now_ns + 7 * FAR_NS);
    assert_false(looks(1));
    add(2, now_ns + 7 * FAR_NS);
    assert_true(looks(2));
    for (unsigned i = 0; i < 3; i++)
        warprsa_use_watch_remove(&jobs[i]);
    assert_int_equal(count_set(), 0);
}

/* A job that no notifier wakes has a timer of its own. */
TEST_IN(alone, begin, end)
{
    add(0, now_ns + FAR_NS);
    warprsa_use_watch_alone(&jobs[1], now_ns);
    assert_true(expires(1));
    warprsa_use_watch_remove(&jobs[1]);
    assert_true(is_set(0));
    warprsa_use_watch_remove(&jobs[0]);
}

int main(void)
{
    return cmocka_run_group_tests(unit_tests, NULL, NULL);
}
