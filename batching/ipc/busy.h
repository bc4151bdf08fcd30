/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether a daemon that does not answer is busy or hangs. On a machine with too
 * much to do a daemon that lives may need seconds, for other clients first or
 * for want of a CPU. It uses some CPU time meanwhile, and one that was stopped,
 * or waits for something, does not.
 */
#ifndef WARPRSA_BATCHING_IPC_BUSY_H
#define WARPRSA_BATCHING_IPC_BUSY_H

#include <stdbool.h>
#include <stdint.h>

/* A process from a moment on. */
typedef struct warprsa_busy {
    uint64_t since_ns; /* of warprsa_clock_ns() */
    uint64_t cpu_ns;   /* that it had used then */
} warprsa_busy;

/* Begins to watch the process at the other end of a socket, as the kernel names
 * it (SO_PEERCRED). Any thread. */
void warprsa_busy_watch(warprsa_busy *busy, int socket);

/* Whether it has used more CPU time since than an idle daemon would. False if
 * that can't be known, as of a process in another PID namespace. Any thread. */
bool warprsa_busy_now(const warprsa_busy *busy, int socket);

#endif
