/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a process that serves many asks of the system for itself.
 */
#ifndef WARPRSA_BATCHING_DAEMON_PROCESS_PROCESS_LIMITS_H
#define WARPRSA_BATCHING_DAEMON_PROCESS_PROCESS_LIMITS_H

/*
 * Descriptors for every client and every async job of theirs: as many as the
 * hard limit allows. And two of malloc()'s arenas: it gives each thread up to
 * eight times the CPUs one of its own, which reserves 64 MiB of address space
 * for good; threads that close clients' sockets come and go, and under a limit
 * they would take what clients need. To be called before threads are started.
 */
void warprsa_process_raise_limits(void);

#endif
