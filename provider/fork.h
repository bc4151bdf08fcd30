/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Forks and the end of the process, which libcrypto does not report to a
 * provider. This file has the module's only state that no context owns.
 */
#ifndef WARPRSA_PROVIDER_FORK_H
#define WARPRSA_PROVIDER_FORK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "batching/base/fork_generation.h"

/* Registers the handlers, once per load of the module. False: no memory. */
bool warprsa_fork_init(void);

/*
 * A member of a list. exit() calls its at_exit() before the exit handlers of
 * CUDA's runtime and of libcrypto: threads still at work would find both half
 * taken down. A context that is freed earlier leaves the list.
 */
typedef struct warprsa_exit_link {
    void (*at_exit)(struct warprsa_exit_link *link);
    _Atomic(struct warprsa_exit_link *) next;
} warprsa_exit_link;

/* Moves the call of at_exit() before all exit handlers registered so far:
 * CUDA's driver registers its handlers when it is first used, and exit() runs
 * the youngest first. Any thread. */
void warprsa_exit_first(void);

/* Adds a link. The caller owns it and leaves it in place until it is removed.
 * at_exit() runs with the list locked: it adds and removes none. Any thread. */
void warprsa_exit_add(warprsa_exit_link *link);

/* Removes a link; one that isn't in the list is left as it is. Any thread. */
void warprsa_exit_remove(warprsa_exit_link *link);

#endif
