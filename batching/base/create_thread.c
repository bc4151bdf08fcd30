/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Creating a thread: see create_thread.h.
 */
#include "batching/base/create_thread.h"

#include <signal.h>

enum {
    STACK_SIZE = 256 * 1024, /* for drivers; this code needs hardly any */
};

int warprsa_create_thread(pthread_t *thread, void *(*main)(void *), void *arg)
{
    pthread_attr_t attributes;
    sigset_t all, old;
    int error = pthread_attr_init(&attributes);

    if (error != 0)
        return error;
    error = pthread_attr_setstacksize(&attributes, STACK_SIZE);
    sigfillset(&all);
    if (error == 0)
        error = pthread_sigmask(SIG_SETMASK, &all, &old);
    if (error == 0) {
        error = pthread_create(thread, &attributes, main, arg);
        (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    pthread_attr_destroy(&attributes);
    return error;
}
