/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Subordinate user ids: a user's own, a container's of root's, and lines that
 * say nothing.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/base/subuids.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void read_text(warprsa_subuids *subuids, const char *text)
{
    char path[] = "/tmp/warprsa-subuids.XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    write_file(path, text);
    *subuids = (warprsa_subuids){0};
    assert_true(warprsa_subuids_read(subuids, path));
    assert_int_equal(unlink(path), 0);
}

TEST(whose)
{
    warprsa_subuids subuids;

    read_text(&subuids, "4711:100000:65536\n"
                        "root:1000000:1000000000\n"
                        "4712:165536:65536\n");
    assert_int_equal(subuids.count, 3);
    assert_int_equal(warprsa_subuids_owner(&subuids, 0), 0);
    assert_int_equal(warprsa_subuids_owner(&subuids, 4711), 4711);
    assert_int_equal(warprsa_subuids_owner(&subuids, 99999), 99999);
    assert_int_equal(warprsa_subuids_owner(&subuids, 100000), 4711);
    assert_int_equal(warprsa_subuids_owner(&subuids, 165535), 4711);
    assert_int_equal(warprsa_subuids_owner(&subuids, 165536), 4712);
    assert_int_equal(warprsa_subuids_owner(&subuids, 231072), 231072);
    /* Containers of root's: not root, and each one for itself. */
    assert_int_equal(warprsa_subuids_owner(&subuids, 1000000), 1000000);
    assert_int_equal(warprsa_subuids_owner(&subuids, 1065535), 1000000);
    assert_int_equal(warprsa_subuids_owner(&subuids, 1065536), 1065536);
    assert_int_equal(warprsa_subuids_owner(&subuids, 1065537), 1065536);
    assert_int_equal(warprsa_subuids_owner(&subuids, UINT32_MAX), UINT32_MAX);
    warprsa_subuids_free(&subuids);
    assert_int_equal(warprsa_subuids_owner(&subuids, 100000), 100000);
}

TEST(lines_that_say_nothing)
{
    warprsa_subuids subuids;

    read_text(&subuids, "\n# a comment\nno-such-user:1:2\n4711:1\n4711:x:2\n"
                        "4711:1:\n4711:-1:2\n4711:1:99999999999\n"
                        "4711:1:18446744073709551616\n4711:1:2:3\n:1:2\n"
                        "4711:7:1");
    assert_int_equal(subuids.count, 1);
    assert_int_equal(warprsa_subuids_owner(&subuids, 1), 1);
    assert_int_equal(warprsa_subuids_owner(&subuids, 7), 4711);
    warprsa_subuids_free(&subuids);
}

TEST(no_file)
{
    warprsa_subuids subuids = {0};

    assert_true(warprsa_subuids_read(&subuids, "/nonexistent/subuid"));
    assert_false(warprsa_subuids_read(&subuids, "/dev/null/subuid"));
    assert_int_equal(errno, ENOTDIR);
    assert_false(warprsa_subuids_read(&subuids, "/"));
    assert_int_equal(errno, EISDIR);
    assert_int_equal(subuids.count, 0);
    assert_null(subuids.ranges);
}

RUN_TESTS(NULL, NULL)
