/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Writing where the kernel may answer with a signal that ends the process: to a
 * file beyond the limit on its size (SIGXFSZ), or to a pipe that nobody reads
 * (SIGPIPE). Between warprsa_quiet_begin() and warprsa_quiet_end() the calling
 * thread does not get these two, and the call fails instead. Both signals are
 * sent to the thread that makes the call, so no other thread is concerned.
 */
#ifndef WARPRSA_BATCHING_BASE_QUIET_H
#define WARPRSA_BATCHING_BASE_QUIET_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

typedef struct warprsa_quiet {
    bool active;
    sigset_t taken; /* the signals that were not waiting before */
    sigset_t before;
} warprsa_quiet;

static inline warprsa_quiet warprsa_quiet_begin(void)
{
    static const int signals[] = {SIGXFSZ, SIGPIPE};
    warprsa_quiet quiet;
    sigset_t waiting;

    sigemptyset(&quiet.taken);
    sigemptyset(&waiting);
    (void)sigpending(&waiting);
    for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (!sigismember(&waiting, signals[i]))
            sigaddset(&quiet.taken, signals[i]);
    quiet.active = pthread_sigmask(SIG_BLOCK, &quiet.taken, &quiet.before) == 0;
    return quiet;
}

/* Discards the signals that came meanwhile. Keeps errno. */
static inline void warprsa_quiet_end(const warprsa_quiet *quiet)
{
    static const struct timespec at_once = {0, 0};
    int error = errno;

    if (!quiet->active)
        return;
    while (sigtimedwait(&quiet->taken, NULL, &at_once) >= 0 || errno == EINTR)
        ;
    (void)pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
    errno = error;
}

#endif
