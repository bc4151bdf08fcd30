/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Jobs that yield (warprsa_async_wait_yield()), with `route = auto` and no
 * device open: paused with a readable descriptor, given up, blocked, with a
 * callback, and resumed in a forked child.
 */
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/support/open_files.h"
#include "tests/unit/support/provider_subject.h"

enum {
    /* A job yields at the second operation, unless this thread has slept
     * meanwhile: then at a later one. */
    ATTEMPTS = 100000,
    /* Of these several would yield. */
    MANY = 4000,
};

static _Thread_local long measured_ns;

/*
 * The linker finds this one before libc's. By the clock of a thread's CPU time
 * every operation takes a microsecond. So no operation goes to the device, even
 * on a machine that stands still now and then, and every yield is what it seems
 * to be.
 */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock != CLOCK_THREAD_CPUTIME_ID)
        return (int)syscall(SYS_clock_gettime, clock, now);
    measured_ns += 1000;
    *now =
        (struct timespec){measured_ns / 1000000000, measured_ns % 1000000000};
    return 0;
}

static int auto_subject_setup(void **state)
{
    oracle_key = key_make(NULL, "RSA", 1024, 2);
    subject_set(subject_open("engine = host\n"));
    return 0;
}

/* Signs in jobs of one wait ctx, one after the other, until one pauses. Returns
 * the signatures made before; ATTEMPTS: none has paused, or one is wrong. */
static unsigned sign_until_paused(signing *one)
{
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        int status = signing_step(one);

        if (status == ASYNC_PAUSE)
            return i;
        if (status != ASYNC_FINISH || !signing_is_right(one))
            return ATTEMPTS;
        one->length = 0;
    }
    return ATTEMPTS;
}

static size_t descriptors_of(const signing *one)
{
    size_t count = 0;

    assert_int_equal(ASYNC_WAIT_CTX_get_all_fds(one->wait_ctx, NULL, &count),
                     1);
    return count;
}

static bool is_readable(const signing *one)
{
    OSSL_ASYNC_FD fd = -1;
    size_t count = 1;
    struct pollfd poller;

    assert_int_equal(descriptors_of(one), 1);
    assert_int_equal(ASYNC_WAIT_CTX_get_all_fds(one->wait_ctx, &fd, &count), 1);
    poller = (struct pollfd){fd, POLLIN, 0};
    return poll(&poller, 1, 0) == 1;
}

/* Only a thread that holds none of the program's locks may call it, and there
 * is none. */
TEST(never_with_a_callback)
{
    static atomic_int called;
    signing one = {.wait_ctx = ASYNC_WAIT_CTX_new()};

    assert_int_equal(
        ASYNC_WAIT_CTX_set_callback(one.wait_ctx, note_callback, &called), 1);
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(signing_step(&one), ASYNC_FINISH);
        assert_int_equal(descriptors_of(&one), 0);
    }
    assert_int_equal(atomic_load(&called), 0);
    assert_true(signings_end(&one, 1));
}

/* A descriptor of which no pause has told the program is taken back. */
TEST(never_while_pauses_are_blocked)
{
    signing one = {.wait_ctx = ASYNC_WAIT_CTX_new()}, *arg = &one;

    for (unsigned i = 0; i < MANY; i++) {
        int ret = 0;

        assert_int_equal(ASYNC_start_job(&one.job, one.wait_ctx, &ret,
                                         blocked_sign_job, &arg, sizeof(arg)),
                         ASYNC_FINISH);
        assert_int_equal(ret, 1);
        assert_int_equal(descriptors_of(&one), 0);
    }
    one.finished = true;
    assert_true(signings_end(&one, 1));
}

/* The program is told of the descriptor at the pause. It can be read at once,
 * not after the job has gone on, and again at the next yield. */
TEST(paused_with_a_readable_descriptor)
{
    uint64_t routed = counter_of(subject, "warprsa-cpu-route"), made = 0;
    signing one = {0};

    for (unsigned round = 0; round < 3; round++) {
        size_t added = 0, removed = 0;
        unsigned before = sign_until_paused(&one);

        assert_in_range(before, 0, ATTEMPTS - 1);
        made += before + 1;
        assert_int_equal(ASYNC_WAIT_CTX_get_changed_fds(one.wait_ctx, NULL,
                                                        &added, NULL, &removed),
                         1);
        assert_int_equal(added, round == 0 ? 1 : 0);
        assert_int_equal(removed, 0);
        assert_true(is_readable(&one));
        assert_int_equal(signing_step(&one), ASYNC_FINISH);
        assert_true(signing_is_right(&one));
        assert_false(is_readable(&one));
        one.length = 0;
    }
    ASYNC_WAIT_CTX_free(one.wait_ctx);
    assert_counted(subject, 0, routed + made);
    assert_int_equal(counter_of(subject, "warprsa-cpu-route"), routed + made);
    assert_true(measured_ns > 0);
}

/* Two wait ctxs: while the first job has yielded, the other goes on. */
TEST(others_go_on_meanwhile)
{
    signing works[2] = {{0}, {0}};

    assert_in_range(sign_until_paused(&works[0]), 0, ATTEMPTS - 1);
    for (unsigned i = 0; i < 10; i++)
        while (signing_step(&works[1]) == ASYNC_PAUSE)
            ;
    assert_int_equal(signing_step(&works[0]), ASYNC_FINISH);
    assert_true(signings_end(works, 2));
}

/* In a child, since an abandoned job is never freed. */
static int give_up(void)
{
    unsigned before = count_descriptors();
    signing one = {0};

    if (sign_until_paused(&one) == ATTEMPTS)
        return WRONG_SIGNATURE;
    if (count_descriptors() != before + 1)
        return WRONG_COUNTERS;
    ASYNC_WAIT_CTX_free(one.wait_ctx);
    return count_descriptors() == before ? ALL_RIGHT : WRONG_COUNTERS;
}

TEST(given_up)
{
    ASSERT_CHILD(give_up());
}

/* The job goes on in both processes, and the child's reads nothing from the
 * descriptor, which is the parent's. */
TEST(resumed_in_a_child)
{
    signing one = {0};
    pid_t child = -1;

    assert_in_range(sign_until_paused(&one), 0, ATTEMPTS - 1);
    child = fork_quietly();
    if (child == 0) {
        bool right =
            run_impatiently(&one, 1) != UINT32_MAX && signing_is_right(&one);

        for (unsigned i = 0; i < 100; i++) {
            one.length = 0;
            one.finished = false;
            right = right && run_impatiently(&one, 1) != UINT32_MAX &&
                    signing_is_right(&one);
        }
        ASYNC_WAIT_CTX_free(one.wait_ctx);
        _exit(right ? ALL_RIGHT : WRONG_SIGNATURE);
    }
    assert_all_right(child);
    assert_true(is_readable(&one));
    assert_int_equal(signing_step(&one), ASYNC_FINISH);
    assert_false(is_readable(&one));
    assert_true(signings_end(&one, 1));
}

RUN_TESTS(auto_subject_setup, host_subject_teardown)
