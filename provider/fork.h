/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Forks and the end of the instance, as far as libcrypto doesn't tell about
 * them. This is the module's only state that isn't a context's.
 */
#ifndef WARPRSA_FORK_H
#define WARPRSA_FORK_H

#include <stdbool.h>

/* Registers the handlers, once per load of the module; false without memory. */
bool warprsa_fork_init(void);

/* A number that is another one in each forked child. Any thread. */
unsigned warprsa_fork_generation(void);

/*
 * Between the two this process does not fork: a worker inside libcrypto's
 * generator would leave its locks taken for ever in the child. Short work
 * only, and no nesting.
 */
void warprsa_fork_hold(void);
void warprsa_fork_release(void);

/*
 * Links of a list whose members hear of exit() before the exit handlers of
 * CUDA's runtime and of libcrypto run: threads still at work would meet both
 * half taken down. A context that is freed before leaves the list.
 */
typedef struct warprsa_exit_link {
    void (*at_exit)(struct warprsa_exit_link *link);
    struct warprsa_exit_link *next;
} warprsa_exit_link;

/* Any thread; `link` stays the caller's, and in place until it is removed.
 * at_exit() runs with the list locked: it adds and removes none. */
void warprsa_exit_add(warprsa_exit_link *link);
/* Also one that isn't in the list. */
void warprsa_exit_remove(warprsa_exit_link *link);

#endif
