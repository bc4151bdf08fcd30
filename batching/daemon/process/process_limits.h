/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a process that serves many asks of the system for itself, and whether
 * it has run out of that.
 */
#ifndef WARPRSA_BATCHING_DAEMON_PROCESS_PROCESS_LIMITS_H
#define WARPRSA_BATCHING_DAEMON_PROCESS_PROCESS_LIMITS_H

#include <stdbool.h>

/*
 * Raises the limit on descriptors to the hard limit, for clients and their
 * async jobs. Limits malloc() to two arenas: by default it has up to eight for
 * each CPU, and each reserves 64 MiB of address space for good. Threads that
 * close clients' sockets come and go, and under a limit their arenas would take
 * what clients need. To be called before threads are started.
 */
void warprsa_process_raise_limits(void);

/* Whether accept4() has failed with `error` for want of a descriptor or of
 * memory. Those who wait to be accepted go on to wait then. Any thread. */
bool warprsa_process_lacks_room(int error);

#endif
