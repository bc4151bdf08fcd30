/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Running one function on all CPUs.
 */
#ifndef WARPRSA_LOAD_THREADS_H
#define WARPRSA_LOAD_THREADS_H

#include <stdbool.h>

/* Runs a function with the same argument on one thread per CPU, and waits for
 * all of them. False: no thread could be started. */
bool load_threads_run_on_cpus(void *(*function)(void *), void *arg);

#endif
