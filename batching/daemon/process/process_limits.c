/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Limits of a process that serves many clients; see process_limits.h.
 */
#include "batching/daemon/process/process_limits.h"

#include <errno.h>
#include <malloc.h>
#include <sys/resource.h>

enum {
    ARENAS_MAX = 2, /* nothing is allocated for an operation */
};

void warprsa_process_raise_limits(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    (void)mallopt(M_ARENA_MAX, ARENAS_MAX);
}

bool warprsa_process_lacks_room(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM ||
           error == ENOBUFS;
}
