/*
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WARPRSA_LOAD_THREADS_H
#define WARPRSA_LOAD_THREADS_H

#include <stdbool.h>

/* Runs a function on a thread per CPU with the same argument, and waits for
 * all. False: not one thread could be started. */
bool load_threads_run_on_cpus(void *(*function)(void *), void *arg);

#endif
