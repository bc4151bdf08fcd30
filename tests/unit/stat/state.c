/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The state file of warprsa-stat: what a process has counted is counted once,
 * whether it could be read in each run or not.
 */
#include "tests/unit/support/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "batching/stat/programs.h"

enum {
    USER = 61000, /* with a limited allowance, as root has not */
    COUNTED = 1000,
};

/* A run of warprsa-stat with the state file, in which this user's processes may
 * be read or not: what this program has counted. */
static uint64_t run(const char *path, bool may_read)
{
    static warprsa_programs programs;
    char why[200] = "", name[WARPRSA_COMMAND_SIZE] = "";
    uint64_t counted = 0;

    memset(&programs, 0, sizeof(programs));
    if (!may_read)
        *warprsa_users_looks(&programs.users, getuid()) = 0;
    assert_int_equal(prctl(PR_GET_NAME, name), 0);
    assert_true(warprsa_programs_collect(&programs, why, sizeof(why)));
    if (!warprsa_programs_remember(&programs, path, why, sizeof(why)))
        fail_msg("%s", why);
    assert_true(warprsa_programs_sum(&programs));
    for (size_t i = 0; i < programs.count; i++)
        if (programs.list[i].user->uid == getuid() &&
            strcmp(programs.list[i].name, name) == 0)
            counted += programs.list[i].sum.batches;
    warprsa_programs_free(&programs);
    return counted;
}

static void count_once(void)
{
    char directory[] = "/tmp/stat.XXXXXX", path[40];
    warprsa_counters *block = warprsa_counters_new();

    assert_non_null(block);
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/state", directory);
    warprsa_count(&block->batches, COUNTED);
    assert_int_equal(run(path, true), COUNTED);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(run(path, false), COUNTED);
        assert_int_equal(run(path, true), COUNTED);
    }
    warprsa_count(&block->batches, 1);
    assert_int_equal(run(path, false), COUNTED);
    assert_int_equal(run(path, true), COUNTED + 1);
    warprsa_counters_free(block);
    assert_int_equal(run(path, true), COUNTED + 1);
    assert_int_equal(run(path, false), COUNTED + 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(directory), 0);
}

TEST(counted_once)
{
    int status = -1;
    pid_t child;

    if (getuid() != 0) {
        count_once();
        return;
    }
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (setgid(USER) != 0 || setuid(USER) != 0)
            _exit(2);
        prctl(PR_SET_DUMPABLE, 1);
        count_once();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    /* A user namespace may have no such user. */
    if (WEXITSTATUS(status) == 2)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

RUN_TESTS(NULL, NULL)
