/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Creating a thread of the queue's.
 */
#ifndef WARPRSA_BATCHING_BASE_CREATE_THREAD_H
#define WARPRSA_BATCHING_BASE_CREATE_THREAD_H

#include <pthread.h>

/* Creates a thread that takes no signals, on a stack of 256 KiB, to be joined
 * or detached. Returns 0, or an error number. Any thread. */
int warprsa_create_thread(pthread_t *thread, void *(*main)(void *), void *arg);

#endif
