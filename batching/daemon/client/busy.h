/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether a daemon that does not answer is busy or hangs. On a machine with too
 * much to do a daemon that lives may need seconds, for other clients first or
 * for want of a CPU. It uses some CPU time meanwhile, and one that was stopped,
 * or waits for something, does not.
 *
 * What takes a daemon that lives a millisecond is waited for in naps. Where
 * there is no CPU for the daemon, there is none for a client that wakes up
 * either, and its naps take longer than they should.
 */
#ifndef WARPRSA_BATCHING_DAEMON_CLIENT_BUSY_H
#define WARPRSA_BATCHING_DAEMON_CLIENT_BUSY_H

#include <stdbool.h>
#include <stdint.h>

/* A process from a moment on. */
typedef struct warprsa_busy {
    uint64_t since_ns; /* of warprsa_clock_ns() */
    uint64_t cpu_ns;   /* that it had used then */
} warprsa_busy;

enum {
    WARPRSA_NAP_MS = 2,
};

/* Naps that were taken in vain. All zero: none yet. */
typedef struct warprsa_naps {
    unsigned count;
    uint64_t slept_ns;
} warprsa_naps;

/* Sleeps until the descriptor can be read from, for WARPRSA_NAP_MS at most.
 * False: it can't be. Any thread. */
bool warprsa_nap(warprsa_naps *naps, int fd);

/* Whether a daemon that lives would have done it by now: after 200 ms or more.
 * One that does not use a CPU, although the naps show that there are some to be
 * had, has had time enough after 40 ms. */
bool warprsa_naps_are_over(const warprsa_naps *naps, bool is_busy);

/* Begins to watch the process at the other end of a socket, as the kernel names
 * it (SO_PEERCRED). Any thread. */
void warprsa_busy_watch(warprsa_busy *busy, int socket);

/* Whether it has used more CPU time since than an idle daemon would. False if
 * that can't be known, as of a process in another PID namespace. Any thread. */
bool warprsa_busy_now(const warprsa_busy *busy, int socket);

#endif
