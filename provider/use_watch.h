/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * When paused jobs look at their uses of vault keys again, if no notifier tells
 * them to: at their deadlines, and, for a daemon that hangs, a while after they
 * have paused. One look finds that out for all uses of a client, so only one of
 * its jobs is resumed for it.
 *
 * One thread of the process, the watcher, does this for all jobs. A timer for
 * each job would cost two system calls for each use, and most uses end long
 * before their deadlines. The thread depends on no job that a program may never
 * resume. It ends some seconds after the last job has left. A process that may
 * start no thread (haproxy's, unless it is root) has a timer for each job.
 */
#ifndef WARPRSA_PROVIDER_USE_WATCH_H
#define WARPRSA_PROVIDER_USE_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "batching/base/own_fd.h"

/* A job's place among those that are watched; all 0 but `fd` at first. The
 * caller owns it and sets nothing in it but `fd`. */
typedef struct warprsa_watched {
    warprsa_marked_fd fd;    /* an epoll instance */
    warprsa_marked_fd timer; /* a timerfd; fd = 0: the watcher has the job */
    warprsa_marked_fd alarm; /* makes the job's fd readable; -1: none does */
    unsigned process;        /* of which it was enlisted */
    _Atomic uint64_t due_ns; /* 0: it does not wait; 1: its fd is readable */
    _Atomic uint64_t look_ns;
    _Atomic(const void *) client;
    LIST_ENTRY(warprsa_watched) link;
} warprsa_watched;

/* Adds a job that does not wait. False: there is neither a thread nor a
 * descriptor to be had. Any thread. */
bool warprsa_use_watch_enlist(warprsa_watched *job);

/* Removes it; it may wait. To be called before its fd is closed. Any thread, in
 * a forked child, too. */
void warprsa_use_watch_leave(warprsa_watched *job);

/* Before a pause: the job's fd becomes readable at due_ns; and from look_ns on,
 * within a moment, unless another job of this client's does. Any thread. */
void warprsa_use_watch_begin(warprsa_watched *job, const void *client,
                             uint64_t look_ns, uint64_t due_ns);

/* After the pause: its fd is not readable any more by the watcher. False: it
 * may stay readable for good, since the program has closed what made it so,
 * which may be open in a forked child. Any thread, in the process that has
 * called the above. */
bool warprsa_use_watch_end(warprsa_watched *job);

/* In a forked child, before all else: nobody waits there. */
void warprsa_use_watch_begin_process(void);

#endif
