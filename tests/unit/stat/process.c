/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A process that is looked at: it is not taken for another one that has its
 * number a moment later, nor for what it was before it became another user's.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/stat/process.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OTHER_USER = 61000,
};

static const warprsa_subuids none;

/* A child that waits to be killed. */
static pid_t child_of_this(void)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        for (;;)
            pause();
    return child;
}

/* The same, under this number. 0: it can't be chosen here. */
static pid_t child_numbered(pid_t pid)
{
    struct clone_args how = {.exit_signal = SIGCHLD,
                             .set_tid = (uint64_t)(uintptr_t)&pid,
                             .set_tid_size = 1};
    long child = syscall(SYS_clone3, &how, sizeof(how));

    if (child == 0)
        for (;;)
            pause();
    return child < 0 ? 0 : (pid_t)child;
}

static void end(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

TEST(this_one)
{
    warprsa_process process;
    char name[WARPRSA_COMMAND_SIZE];

    assert_true(warprsa_process_open(&process, getpid(), &none));
    assert_int_equal(process.user, getuid());
    assert_true(warprsa_process_is_same(&process, &none));
    assert_int_equal(prctl(PR_SET_NAME, "a\"\x1b\\b"), 0);
    warprsa_process_command(&process, name);
    assert_string_equal(name, "a???b");
    warprsa_process_close(&process);
}

TEST(a_number_of_its_own)
{
    warprsa_subuids subuids = {0};
    struct warprsa_subuid_range range = {getuid(), 1, 4711};
    warprsa_process process;

    subuids.ranges = &range;
    subuids.count = 1;
    assert_true(warprsa_process_open(&process, getpid(), &subuids));
    assert_int_equal(process.user, 4711);
    assert_true(warprsa_process_is_same(&process, &subuids));
    warprsa_process_close(&process);
}

TEST(ended)
{
    pid_t child = child_of_this();
    warprsa_process process, gone;
    char name[WARPRSA_COMMAND_SIZE];

    assert_true(warprsa_process_open(&process, child, &none));
    end(child);
    assert_false(warprsa_process_is_same(&process, &none));
    warprsa_process_command(&process, name);
    assert_string_equal(name, "?");
    warprsa_process_close(&process);
    assert_false(warprsa_process_open(&gone, child, &none));
    assert_int_equal(errno, ENOENT);
}

TEST(another_one_of_that_number)
{
    pid_t child = child_of_this(), next;
    warprsa_process process, other;
    char name[WARPRSA_COMMAND_SIZE];

    assert_true(warprsa_process_open(&process, child, &none));
    end(child);
    next = child_numbered(child);
    if (next == 0) {
        warprsa_process_close(&process);
        skip();
    }
    assert_int_equal(next, child);
    assert_true(warprsa_process_open(&other, child, &none));
    assert_true(warprsa_process_is_same(&other, &none));
    assert_false(warprsa_process_is_same(&process, &none));
    warprsa_process_command(&process, name);
    assert_string_equal(name, "?");
    warprsa_process_close(&process);
    warprsa_process_close(&other);
    end(next);
}

TEST(another_user)
{
    int go[2], done[2];
    warprsa_process process;
    pid_t child;
    char byte = 0;

    if (geteuid() != 0)
        skip();
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(done), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (read(go[0], &byte, 1) != 1 ||
            setresuid(OTHER_USER, OTHER_USER, OTHER_USER) != 0 ||
            write(done[1], &byte, 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_true(warprsa_process_open(&process, child, &none));
    assert_int_equal(process.user, 0);
    assert_int_equal(write(go[1], &byte, 1), 1);
    assert_int_equal(read(done[0], &byte, 1), 1);
    assert_false(warprsa_process_is_same(&process, &none));
    warprsa_process_close(&process);
    end(child);
    for (int i = 0; i < 2; i++) {
        close(go[i]);
        close(done[i]);
    }
}

RUN_TESTS(NULL, NULL)
