/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading a process's use of resources from /proc and the kernel.
 */
#include "bench/load/process_use.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/load/options.h"

static uint64_t nanoseconds(struct timeval t)
{
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) +
           (uint64_t)t.tv_usec * 1000;
}

static uint64_t resident_kib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long whole = 0, resident = 0;

    if (file == NULL)
        return 0;
    if (fscanf(file, "%lu %lu", &whole, &resident) != 2)
        resident = 0;
    fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

static unsigned open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    unsigned count = 0;

    if (directory == NULL)
        return 0;
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count > 3 ? count - 3 : 0; /* ".", "..", the directory itself */
}

load_process_use load_process_use_now(void)
{
    load_process_use use = {.memory_kib = resident_kib(),
                            .descriptors = open_descriptors()};
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        use.cpu_ns = nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
        use.switches = (uint64_t)usage.ru_nvcsw;
    }
    return use;
}

void load_process_allow_descriptors(unsigned wanted)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        load_fail("the limit of open descriptors can't be read");
    if (limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted;
    if (limit.rlim_max < wanted)
        limit.rlim_max = wanted; /* root may */
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        load_fail("%u descriptors are needed, one for each job, and the limit "
                  "(ulimit -Hn) can't be raised to that",
                  wanted);
}
