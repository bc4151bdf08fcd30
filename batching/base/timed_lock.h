/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Locking a mutex with a time limit, for a mutex that another thread may keep
 * long.
 */
#ifndef WARPRSA_BATCHING_BASE_TIMED_LOCK_H
#define WARPRSA_BATCHING_BASE_TIMED_LOCK_H

#include <pthread.h>
#include <stdbool.h>

#include "batching/base/clock.h"

/*
 * Locks the mutex, waiting for at most `ms` milliseconds; 0: not at all. False:
 * another thread still has it. Measured by CLOCK_REALTIME, the only clock of
 * pthread_mutex_timedlock(): clang 14's ThreadSanitizer does not know
 * pthread_mutex_clocklock().
 */
static inline bool warprsa_lock_within(pthread_mutex_t *mutex, unsigned ms)
{
    struct timespec now, until;

    /* Cannot fail for this clock. */
    clock_gettime(CLOCK_REALTIME, &now);
    until = warprsa_timespec((uint64_t)now.tv_sec * WARPRSA_NS_PER_SEC +
                             (uint64_t)now.tv_nsec + ms * WARPRSA_NS_PER_MS);
    return pthread_mutex_timedlock(mutex, &until) == 0;
}

#endif
