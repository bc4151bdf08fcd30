/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * To be loaded before a program (LD_PRELOAD): its CLOCK_REALTIME is ahead of
 * the machine's by as many seconds as the file of SHIFTED_CLOCK says, which may
 * change at any time. Its other clocks go as they are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift(void)
{
    const char *path = getenv("SHIFTED_CLOCK");
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    long seconds = 0;

    if (file == NULL)
        return 0;
    if (fscanf(file, "%ld", &seconds) != 1)
        seconds = 0;
    fclose(file);
    return seconds;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock,
                                                         struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);

    if (result == 0 &&
        (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += shift();
    return result;
}

__attribute__((visibility("default"))) int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec t;

    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &t) != 0)
        return -1;
    now->tv_sec = t.tv_sec;
    now->tv_usec = t.tv_nsec / 1000;
    return 0;
}

__attribute__((visibility("default"))) time_t time(time_t *to)
{
    struct timespec t = {0};

    if (clock_gettime(CLOCK_REALTIME, &t) != 0)
        return -1;
    if (to != NULL)
        *to = t.tv_sec;
    return t.tv_sec;
}
