/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How code that lives in a program it does not know finds out that the process
 * is a new one, made by a fork.
 */
#ifndef WARPRSA_BATCHING_BASE_FORK_GENERATION_H
#define WARPRSA_BATCHING_BASE_FORK_GENERATION_H

#include <stdbool.h>

/*
 * To be called once before all else, by one thread. In each process `begin` is
 * called before the first warprsa_fork_generation() returns, while other
 * callers wait: locks that other threads of the parent may have held become
 * free ones there. False: no memory.
 */
bool warprsa_fork_generation_init(void (*begin)(void));

/* A number that differs between a process and each child it makes: by fork(),
 * or where the kernel has MADV_WIPEONFORK (since 4.14) also by _Fork() or
 * clone(), for which no handler is called. Never 0. Any thread. */
unsigned warprsa_fork_generation(void);

#endif
