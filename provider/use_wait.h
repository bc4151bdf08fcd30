/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pausing of async jobs whose use of a vault key is under way. Unlike other
 * operations, a use outlives its daemon: so a job waits for a notifier, which
 * ends with its daemon, and for a point in time. One descriptor of the job's
 * wait ctx stands for both, and stays the same as notifiers come and go.
 */
#ifndef WARPRSA_PROVIDER_USE_WAIT_H
#define WARPRSA_PROVIDER_USE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "batching/daemon/client/client_uses.h"

/* What a wait ctx keeps for the uses of its jobs. The thread that runs the job
 * makes all calls. */
typedef struct warprsa_use_wait warprsa_use_wait;

/* Prepares the wait ctx of the current job. NULL: there is no job, no memory or
 * descriptor for it, a callback is to resume the job, or another job of the
 * same wait ctx waits; the caller then sleeps. Leaves no error on the queue. */
warprsa_use_wait *warprsa_use_wait_new(void);

/* The number of a notifier of this client that works, if there is one to be
 * had; else 0. To be called when no use of the job is submitted. */
uint32_t warprsa_use_wait_notifier(warprsa_use_wait *wait,
                                   warprsa_client *client);

/* Pauses the job once, whose use is PENDING. It is resumed at the use's wake_ns
 * if not before; or if a notifier tells of the answer, at until_ns
 * (use_watch.h). It may be resumed at any time, also in a forked child. */
void warprsa_use_wait_pause(warprsa_use_wait *wait,
                            const warprsa_client *client,
                            const warprsa_client_use *use);

/* Gives it back, and closes a descriptor that the program has not seen. NULL is
 * allowed. */
void warprsa_use_wait_end(warprsa_use_wait *wait);

#endif
