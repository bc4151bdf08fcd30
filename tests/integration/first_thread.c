/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * To be loaded before a program (LD_PRELOAD): when one of its processes starts
 * its first thread, its standard error says how many hardware queues CUDA may
 * have.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
               void *(*run)(void *), void *arg)
{
    static atomic_bool has_said;
    const char *queues = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                  void *);

    *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    if (!atomic_exchange(&has_said, true))
        dprintf(STDERR_FILENO, "first thread: hardware queues: %s\n",
                queues != NULL ? queues : "unset");
    return create(thread, attributes, run, arg);
}
