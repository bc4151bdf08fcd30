/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Threads that the program cancels (pthread_cancel()). Many system calls are
 * cancellation points: the thread would end there, holding a lock or its
 * request's slot, or counted among the callers. The default provider has next
 * to none in a private operation. So cancellation waits while a thread is in
 * module code that can sleep, read or write. It does not wait while an async
 * job pauses, since the thread then runs the program's code.
 */
#ifndef WARPRSA_BATCHING_BASE_CANCELLATION_H
#define WARPRSA_BATCHING_BASE_CANCELLATION_H

#include <pthread.h>

/* Switches cancellation off for the calling thread. Before the calling function
 * returns, it must pass the result to warprsa_cancellation_restore(). */
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
