/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * When paused jobs look at their uses of vault keys again. A use whose job has
 * a notifier needs a timer for two things alone: its own deadline, and a daemon
 * that hangs, which one look finds out for all uses. So of all jobs of the
 * process that wait for a notifier only one is resumed for looks, the watcher.
 * It is the one with the latest deadline, which probably ends last; as it ends,
 * the next one becomes the watcher. The others have their timers set to their
 * deadlines.
 *
 * If a program does not resume the watcher, a job that pauses later takes its
 * place, and at the latest each job ends at its own deadline.
 */
#ifndef WARPRSA_PROVIDER_USE_WATCH_H
#define WARPRSA_PROVIDER_USE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* A job's place among those that wait; all 0 but `timer` at first. The caller
 * owns it and sets nothing in it but `timer`. */
typedef struct warprsa_watched {
    int timer; /* a timerfd, marked (own_fd.h) */
    bool is_set, is_listed;
    const void *client;
    uint64_t look_ns, until_ns;
    struct warprsa_watched *earlier, *later; /* by until_ns */
} warprsa_watched;

/* Before a pause that a notifier ends: the job of this client is resumed for a
 * look at look_ns, unless the watcher looks for it, and at until_ns in any
 * case. Any thread. */
void warprsa_use_watch_add(warprsa_watched *job, const void *client,
                           uint64_t look_ns, uint64_t until_ns);

/* Before a pause that no notifier ends: the job is resumed at wake_ns. Any
 * thread. */
void warprsa_use_watch_alone(warprsa_watched *job, uint64_t wake_ns);

/* After the pause: its timer is not readable any more. Any thread, in the
 * process that has called one of the above. */
void warprsa_use_watch_remove(warprsa_watched *job);

/* In a forked child, before all else: nobody waits there. */
void warprsa_use_watch_begin_process(void);

#endif
