/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The CPUs of this process: see usable_cpus.h. The file cpu.max of a cgroup is
 * described in Linux' Documentation/admin-guide/cgroup-v2.rst.
 */
#include "batching/base/usable_cpus.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The path of this process's cgroup of version 2: the line "0::/...". */
static bool find_cgroup(const char *self, char path[PATH_MAX])
{
    FILE *file = fopen(self, "re");
    bool found = false;

    if (file == NULL)
        return false;
    while (!found && fgets(path, PATH_MAX, file) != NULL) {
        path[strcspn(path, "\n")] = '\0';
        found = strncmp(path, "0::/", 4) == 0;
    }
    fclose(file);
    if (found)
        memmove(path, path + 3, strlen(path + 3) + 1);
    return found;
}

/* This is not on the stack, which may be small: callers are in the middle of
 * their first operation. */
typedef struct cgroup_names {
    char path[PATH_MAX];
    char file[2 * PATH_MAX];
} cgroup_names;

/* The quota of the cgroup of this path, in whole CPUs, rounded up; 0: none. */
static unsigned quota_of(const char *root, cgroup_names *names)
{
    char line[64], *end = line;
    uint64_t quota = 0, period = 0;
    FILE *file;
    int length =
        snprintf(names->file, sizeof(names->file), "%s%s/cpu.max", root,
                 strcmp(names->path, "/") == 0 ? "" : names->path);

    if (length < 0 || (size_t)length >= sizeof(names->file))
        return 0;
    file = fopen(names->file, "re");
    if (file == NULL)
        return 0;
    /* "max 100000" without a quota. */
    if (fgets(line, sizeof(line), file) != NULL)
        quota = strtoull(line, &end, 10);
    if (end != line)
        period = strtoull(end, NULL, 10);
    fclose(file);
    if (period == 0 || quota == 0 || quota / period >= UINT_MAX)
        return 0;
    return (unsigned)((quota - 1) / period + 1);
}

/* The least quota of the cgroup of this path and those above it. */
static unsigned least_quota(const char *root, cgroup_names *names)
{
    unsigned least = 0;

    for (;;) {
        unsigned quota = quota_of(root, names);
        char *end = strrchr(names->path, '/');

        if (quota != 0 && (least == 0 || quota < least))
            least = quota;
        if (strcmp(names->path, "/") == 0)
            return least;
        /* One up; the root keeps its slash. */
        end[end == names->path] = '\0';
    }
}

unsigned warprsa_cgroup_cpus(const char *self, const char *root)
{
    cgroup_names *names = malloc(sizeof(*names));
    unsigned least = 0;

    if (names != NULL && find_cgroup(self, names->path))
        least = least_quota(root, names);
    free(names);
    return least;
}

static unsigned affinity(void)
{
    cpu_set_t set;
    long online = sysconf(_SC_NPROCESSORS_ONLN);

    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    return online > 0 ? (unsigned)online : 1; /* more than CPU_SETSIZE */
}

unsigned warprsa_usable_cpus(void)
{
    int error = errno;
    unsigned cpus = affinity();
    unsigned quota = warprsa_cgroup_cpus("/proc/self/cgroup", "/sys/fs/cgroup");

    errno = error;
    return quota != 0 && quota < cpus ? quota : cpus;
}
