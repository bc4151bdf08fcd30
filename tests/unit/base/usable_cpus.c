/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many CPUs a process may use: affinity and cgroup quotas, these from files
 * that the test writes.
 */
#include "tests/unit/support/unit_test.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "batching/base/usable_cpus.h"

static char root[] = "/tmp/warprsa.cpus.XXXXXX";

static int make_root(void **state)
{
    return mkdtemp(root) == NULL ? -1 : 0;
}

static const char *const files[] = {
    "self",
    "a/b/cpu.max",
    "a/cpu.max",
    "cpu.max",
};
static const char *const folders[] = {"a/b", "a", ""};

static void name_of(char path[256], const char *name)
{
    snprintf(path, 256, "%s/%s", root, name);
}

static int remove_root(void **state)
{
    char path[256];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        name_of(path, files[i]);
        unlink(path);
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        name_of(path, folders[i]);
        rmdir(path);
    }
    return 0;
}

static void write_file(const char *name, const char *text)
{
    char path[256];
    FILE *file;

    name_of(path, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static unsigned cpus(void)
{
    char self[256];

    name_of(self, "self");
    return warprsa_cgroup_cpus(self, root);
}

TEST(quotas_are_found)
{
    char path[256];

    assert_int_equal(cpus(), 0); /* no file at all */
    write_file("self", "12:cpu,cpuacct:/user\n1:name=systemd:/\n");
    assert_int_equal(cpus(), 0); /* version 1 alone */
    write_file("self", "1:name=systemd:/\n0::/a/b\n");
    assert_int_equal(cpus(), 0); /* no such cgroup to be seen */
    name_of(path, "a");
    assert_int_equal(mkdir(path, 0700), 0);
    name_of(path, "a/b");
    assert_int_equal(mkdir(path, 0700), 0);
    write_file("a/b/cpu.max", "max 100000\n");
    assert_int_equal(cpus(), 0);
    write_file("a/b/cpu.max", "400000 100000\n");
    assert_int_equal(cpus(), 4);
    write_file("a/b/cpu.max", "150000 100000\n");
    assert_int_equal(cpus(), 2); /* a part of a CPU counts as one */
    write_file("a/b/cpu.max", "1000 100000\n");
    assert_int_equal(cpus(), 1);
}

TEST(the_narrowest_counts)
{
    write_file("a/b/cpu.max", "400000 100000\n");
    write_file("a/cpu.max", "300000 100000\n");
    assert_int_equal(cpus(), 3);
    write_file("cpu.max", "100000 50000\n");
    assert_int_equal(cpus(), 2);
    write_file("self", "0::/\n"); /* a container with its own cgroup root */
    assert_int_equal(cpus(), 2);
}

TEST(nonsense_is_no_quota)
{
    static const char *const texts[] = {
        "",
        "\n",
        "max\n",
        "5\n",
        "0 100000\n",
        "100000 0\n",
        "-1 100000\n",
        "18446744073709551615 1\n",
        "many 100000\n",
    };

    write_file("self", "0::/\n");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        write_file("cpu.max", texts[i]);
        assert_int_equal(cpus(), 0);
    }
}

/* In a child, since the affinity is the process's. */
TEST(the_affinity_counts)
{
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        cpu_set_t all, one;
        int first = 0;

        if (sched_getaffinity(0, sizeof(all), &all) != 0)
            _exit(2);
        while (!CPU_ISSET(first, &all))
            first++;
        CPU_ZERO(&one);
        CPU_SET(first, &one);
        if (sched_setaffinity(0, sizeof(one), &one) != 0)
            _exit(2);
        _exit(warprsa_usable_cpus() == 1 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(warprsa_usable_cpus() >= 1);
}

RUN_TESTS(make_root, remove_root)
