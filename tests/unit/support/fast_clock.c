/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A clock that is a second further each time that it is read; for programs that
 * are linked with --wrap=clock_gettime.
 */
#include <time.h>

int __real_clock_gettime(clockid_t id, struct timespec *now);
int __wrap_clock_gettime(clockid_t id, struct timespec *now);

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
    static time_t moved_s;
    const int result = __real_clock_gettime(id, now);

    now->tv_sec += ++moved_s;
    return result;
}
