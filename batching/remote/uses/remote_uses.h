/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Uses of keys of the vault that GPU hosts have: each goes as a whole, with its
 * padding, to one of the hosts of hosts.h. What a host does not do, another one
 * gets: a host that is lost, drains, has no room, no device or no such key, or
 * whose signature is wrong. If there is no other, a use waits for one until its
 * deadline. There is a session to each host (use_host.h), made when a key is
 * first used.
 */
#ifndef WARPRSA_BATCHING_REMOTE_USES_REMOTE_USES_H
#define WARPRSA_BATCHING_REMOTE_USES_REMOTE_USES_H

#include "batching/remote/uses/uses_core.h"

/* To be called once in a process, before the other functions. False: no memory
 * or no thread. */
bool warprsa_remote_uses_start(const warprsa_uses_config *config);

/* Has a host carry out a whole use, and calls task->done() once, on a thread of
 * this module. It goes with the next warprsa_remote_uses_send() of the same
 * thread. False: there was no start. Any thread. */
bool warprsa_remote_uses_add(warprsa_use_task *task);

/* Sends what this thread has added, so that one message has it all. Uses for
 * which there is no memory, or of which the owner has too many, are late: their
 * task->done() is called here. */
void warprsa_remote_uses_send(void);

/* The list of hosts has changed. Any thread. */
void warprsa_remote_uses_look(void);

/* Ends all sessions and threads. No task is left, and none comes. Does nothing
 * without a start. */
void warprsa_remote_uses_stop(void);

#endif
