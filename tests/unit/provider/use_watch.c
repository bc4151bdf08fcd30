/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which of the jobs that wait for uses have readable descriptors, and when: at
 * their deadlines, for a look at the daemon, and not after their pauses. First
 * in a process that may start no thread, then in one that may.
 */
#include "tests/unit/support/unit_test.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/base/own_fd.h"
#include "provider/use_watch.h"
#include "tests/unit/support/sanitizers.h"

enum {
    JOBS = 4,
    LONG_MS = 60000,
};

static bool refused; /* a process that may start no thread */

/* A sanitizer's, which has to know each thread; null without one. */
extern int __interceptor_pthread_create(pthread_t *, const pthread_attr_t *,
                                        void *(*)(void *), void *)
    __attribute__((weak));

/* The linker finds this one before libc's. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*start)(void *), void *arg)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                void *) = __interceptor_pthread_create;

    if (refused)
        return EAGAIN;
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return real(thread, attributes, start, arg);
}

static const uint64_t FAR_NS = 600000 * WARPRSA_NS_PER_MS;
static const uint64_t NEVER_NS = UINT64_MAX;

static warprsa_watched jobs[JOBS];
static int one_client, other_client;
static uint64_t now_ns;

static void make(warprsa_watched *job)
{
    *job = (warprsa_watched){.fd = WARPRSA_NO_MARKED};
    assert_true(warprsa_marked_fd_take(&job->fd, epoll_create1(EPOLL_CLOEXEC)));
    assert_true(warprsa_use_watch_enlist(job));
}

static int begin(void **state)
{
    (void)state;
    for (unsigned i = 0; i < JOBS; i++) {
        make(&jobs[i]);
        assert_int_equal(jobs[i].timer.fd != 0, refused);
    }
    now_ns = warprsa_clock_ns();
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < JOBS; i++) {
        warprsa_use_watch_leave(&jobs[i]);
        warprsa_marked_fd_close(&jobs[i].fd);
    }
    return 0;
}

/* Whether a job's descriptor becomes readable in this time. */
static bool is_resumed(unsigned i, int ms)
{
    struct pollfd one = {.fd = jobs[i].fd.fd, .events = POLLIN};

    return poll(&one, 1, ms) == 1;
}

static unsigned count_resumed(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < JOBS; i++)
        count += is_resumed(i, 0);
    return count;
}

/* Each at its own, whichever pauses first, and no other. */
TEST_IN(deadlines, begin, end)
{
    warprsa_use_watch_begin(&jobs[0], &one_client, NEVER_NS, now_ns + FAR_NS);
    assert_int_equal(count_resumed(), 0);
    warprsa_use_watch_begin(&jobs[1], &one_client, NEVER_NS, now_ns);
    warprsa_use_watch_begin(&jobs[2], &other_client, NEVER_NS, now_ns);
    assert_true(is_resumed(1, LONG_MS));
    assert_true(is_resumed(2, LONG_MS));
    assert_int_equal(count_resumed(), 2);
    assert_true(warprsa_use_watch_end(&jobs[1]));
    assert_int_equal(count_resumed(), 1);
    assert_true(warprsa_use_watch_end(&jobs[2]));
    assert_true(warprsa_use_watch_end(&jobs[0]));
    assert_int_equal(count_resumed(), 0);
}

/* A deadline that comes while the watcher sleeps for a later one. */
TEST_IN(an_earlier_deadline, begin, end)
{
    for (unsigned i = 0; i < 100; i++) {
        warprsa_use_watch_begin(&jobs[0], &one_client, NEVER_NS,
                                now_ns + FAR_NS);
        warprsa_use_watch_begin(&jobs[1], &one_client, NEVER_NS,
                                warprsa_clock_ns() + WARPRSA_NS_PER_MS);
        assert_true(is_resumed(1, LONG_MS));
        assert_false(is_resumed(0, 0));
        assert_true(warprsa_use_watch_end(&jobs[1]));
        assert_true(warprsa_use_watch_end(&jobs[0]));
        assert_int_equal(count_resumed(), 0);
    }
}

/* Of the jobs of a client one is resumed. Where the program does not resume it,
 * the next one is. */
TEST_IN(looks, begin, end)
{
    struct pollfd fds[JOBS];

    for (unsigned i = 0; i < JOBS; i++) {
        fds[i] = (struct pollfd){.fd = jobs[i].fd.fd, .events = POLLIN};
        warprsa_use_watch_begin(&jobs[i], &one_client,
                                i == 0 ? NEVER_NS : now_ns, now_ns + FAR_NS);
    }
    assert_true(poll(fds, JOBS, LONG_MS) >= 1);
    for (unsigned i = 1; i < JOBS; i++)
        assert_true(is_resumed(i, LONG_MS));
    assert_false(is_resumed(0, 0));
    for (unsigned i = 0; i < JOBS; i++)
        assert_true(warprsa_use_watch_end(&jobs[i]));
    assert_int_equal(count_resumed(), 0);
}

/* A look at one daemon tells nothing of another. */
TEST_IN(each_client_looks, begin, end)
{
    warprsa_use_watch_begin(&jobs[0], &one_client, now_ns, now_ns + FAR_NS);
    warprsa_use_watch_begin(&jobs[1], &other_client, now_ns, now_ns + FAR_NS);
    assert_true(is_resumed(0, LONG_MS));
    assert_true(is_resumed(1, LONG_MS));
    assert_true(warprsa_use_watch_end(&jobs[0]));
    assert_true(warprsa_use_watch_end(&jobs[1]));
}

/* A wait ctx may go while its job waits. */
TEST_IN(a_job_that_leaves, begin, end)
{
    warprsa_use_watch_begin(&jobs[0], &one_client, NEVER_NS, now_ns + FAR_NS);
    warprsa_use_watch_leave(&jobs[0]);
    warprsa_use_watch_begin(&jobs[1], &one_client, NEVER_NS, now_ns);
    assert_true(is_resumed(1, LONG_MS));
    assert_true(warprsa_use_watch_end(&jobs[1]));
    assert_true(warprsa_use_watch_enlist(&jobs[0]));
}

/* A program that has closed the descriptors gets nothing into its own, and the
 * other jobs are resumed. */
TEST_IN(closed_descriptors, begin, end)
{
    const int number = jobs[0].fd.fd;
    int own = -1;

    assert_int_equal(close(number), 0);
    own = epoll_create1(EPOLL_CLOEXEC);
    assert_int_equal(own, number);
    warprsa_use_watch_begin(&jobs[0], &one_client, NEVER_NS, now_ns);
    warprsa_use_watch_begin(&jobs[1], &one_client, NEVER_NS, now_ns);
    assert_true(is_resumed(1, LONG_MS));
    assert_false(is_resumed(0, 0));
    (void)warprsa_use_watch_end(&jobs[0]);
    assert_true(warprsa_use_watch_end(&jobs[1]));
    assert_int_equal(close(own), 0);
}

/* The descriptor that resumes a job. The watcher wrote it before it made the
 * job's descriptor readable, which ThreadSanitizer does not see. */
__attribute__((no_sanitize("thread"))) static int
resumer(const warprsa_watched *job)
{
    return refused ? job->timer.fd : job->alarm.fd;
}

/* A program that closes what resumes the jobs, while a child of its has it open
 * still: the job's descriptor stays readable, and that is told. Nothing of the
 * program's or of another job's is changed in its place. */
TEST_IN(a_closed_resumer, begin, end)
{
    warprsa_marked_fd next;
    int number = -1, kept = -1;
    uint64_t count = 0;

    warprsa_use_watch_begin(&jobs[0], &one_client, NEVER_NS, now_ns);
    assert_true(is_resumed(0, LONG_MS));
    number = resumer(&jobs[0]);
    kept = dup(number); /* as a child has it */
    assert_int_equal(close(number), 0);
    assert_true(warprsa_marked_fd_take(&next, eventfd(0, EFD_NONBLOCK)));
    assert_int_equal(next.fd, number);
    assert_false(warprsa_use_watch_end(&jobs[0]));
    warprsa_use_watch_begin(&jobs[1], &one_client, NEVER_NS, now_ns);
    assert_true(is_resumed(1, LONG_MS));
    assert_true(warprsa_use_watch_end(&jobs[1]));
    assert_false(is_resumed(1, 0));
    warprsa_use_watch_leave(&jobs[0]);
    assert_true(warprsa_marked_eventfd_notify(next));
    assert_int_equal(read(number, &count, sizeof(count)), sizeof(count));
    warprsa_marked_fd_close(&next);
    assert_int_equal(close(kept), 0);
    warprsa_marked_fd_close(&jobs[0].fd);
    make(&jobs[0]);
}

/* A child has no watcher, and starts one of its own. ThreadSanitizer lets it
 * start none. */
TEST_IN(forked, begin, end)
{
    pid_t child = 0;
    int status = 0;

    warprsa_use_watch_begin(&jobs[0], &one_client, NEVER_NS, now_ns + FAR_NS);
    child = fork();
    if (child == 0) {
#ifdef UNDER_TSAN
        refused = true;
#endif
        warprsa_use_watch_begin_process();
        warprsa_use_watch_leave(&jobs[0]); /* its parent's */
        warprsa_use_watch_leave(&jobs[1]);
        make(&jobs[1]);
        warprsa_use_watch_begin(&jobs[1], &one_client, NEVER_NS, now_ns);
        _exit(is_resumed(1, LONG_MS) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_false(is_resumed(0, 0));
    assert_true(warprsa_use_watch_end(&jobs[0]));
}

/* A process without the watcher. */
static int begin_refused(void **state)
{
    (void)state;
    warprsa_use_watch_begin_process();
    refused = true;
    return 0;
}

int main(void)
{
    const int failed = cmocka_run_group_tests(unit_tests, begin_refused, NULL);

    warprsa_use_watch_begin_process();
    refused = false;
    return failed + cmocka_run_group_tests(unit_tests, NULL, NULL);
}
