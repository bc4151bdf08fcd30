/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Threads that the program cancels (pthread_cancel()). Many system calls are
 * cancellation points: the thread would end there, with a lock of ours taken,
 * counted among the callers, or with its request's slot. The default provider
 * has next to none in a private operation. So cancellation waits while a thread
 * is in code of ours that can sleep, read or write. It does not wait while an
 * async job pauses, since the thread runs the program's code then.
 */
#ifndef WARPRSA_PROVIDER_CANCELLATION_H
#define WARPRSA_PROVIDER_CANCELLATION_H

#include <pthread.h>

/* Switches cancellation off for the calling thread. Returns what the same
 * function must hand to warprsa_cancellation_restore() before it returns. */
static inline int warprsa_cancellation_off(void)
{
    int before = PTHREAD_CANCEL_ENABLE;

    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void warprsa_cancellation_restore(int before)
{
    (void)pthread_setcancelstate(before, NULL);
}

#endif
