/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The answers to a client's requests: from the queue, or that it refuses, into
 * the shared memory, and to the thread or job that waits.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_SESSION_ANSWERS_H
#define WARPRSA_BATCHING_DAEMON_SERVER_SESSION_ANSWERS_H

#include "batching/daemon/server/session.h"

/* To be called for each request from push_answered(): the client gets the
 * answer in a turn of its session's user. */
void warprsa_session_answered(warprsa_pending *pending);

/* The queue calls this when it has answered; `arg` is the warprsa_pending. Runs
 * on a worker of the queue. */
void warprsa_session_queue_answered(void *arg);

/* ---- In a turn of the session ---- */

/* Answers the request in a slot that has been checked. */
void warprsa_session_answer(warprsa_session *session, uint32_t slot,
                            uint32_t generation, uint32_t notifier,
                            warprsa_answer answer, warprsa_cpu_reason reason);

/* Notifies the jobs that got answers since the last call. */
void warprsa_session_notify_all(warprsa_session_host *host);

#endif
