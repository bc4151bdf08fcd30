/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Running one function on all CPUs.
 */
#include "bench/load/threads.h"

#include <pthread.h>
#include <unistd.h>

enum {
    THREADS_MAX = 64,
};

bool load_threads_run_on_cpus(void *(*function)(void *), void *arg)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t threads[THREADS_MAX];
    int started = 0;

    while (started < THREADS_MAX && started < cpus &&
           pthread_create(&threads[started], NULL, function, arg) == 0)
        started++;
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return started > 0;
}
