/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether a daemon that does not answer is busy or hangs. On an overloaded
 * machine a daemon that lives may need seconds, because it serves other clients
 * first or has no CPU. A daemon that lives uses some CPU time meanwhile; a
 * daemon that was stopped or waits does not.
 *
 * Clients wait in naps for what takes a living daemon a millisecond. If there
 * is no CPU for the daemon, there is none for a client that wakes up either,
 * and its naps take longer than they should.
 */
#ifndef WARPRSA_BATCHING_DAEMON_CLIENT_BUSY_H
#define WARPRSA_BATCHING_DAEMON_CLIENT_BUSY_H

#include <stdbool.h>
#include <stdint.h>

/* A process, watched from a moment on. */
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

/* Sleeps until the descriptor is readable, for WARPRSA_NAP_MS at most. False:
 * it is not readable. Any thread. */
bool warprsa_nap(warprsa_naps *naps, int fd);

/* Whether a living daemon would have answered by now, which is so after 200 ms.
 * 40 ms are enough for a daemon that uses no CPU although the naps show that
 * CPUs are free. */
bool warprsa_naps_are_over(const warprsa_naps *naps, bool is_busy);

/* Begins to watch the process at the other end of a socket, as the kernel names
 * it (SO_PEERCRED). Any thread. */
void warprsa_busy_watch(warprsa_busy *busy, int socket);

/* Whether the process has used more CPU time since than an idle daemon would.
 * False if that is unknown, as for a process in another PID namespace. Any
 * thread. */
bool warprsa_busy_now(const warprsa_busy *busy, int socket);

#endif
