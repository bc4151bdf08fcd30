/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The answers to a client's requests: from the queue, or that it refuses, into
 * the shared memory, and to the thread or job that waits.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_SESSION_ANSWERS_H
#define WARPRSA_BATCHING_DAEMON_SERVER_SESSION_ANSWERS_H

#include "batching/daemon/server/session.h"

/* To be called for each request that the event loop has taken: the client gets
 * the answer in a turn of its session's user. */
void warprsa_session_answered(warprsa_pending *pending);

/* The queue calls this when it has answered; `arg` is the warprsa_pending. Runs
 * on a worker of the queue. */
void warprsa_session_queue_answered(void *arg);

/* ---- By a thread that has the request ---- */

/* Whom to answer, which the slot says no more once it is the client's again. */
typedef struct warprsa_answer_to {
    uint32_t slot, generation, notifier, notifier_generation;
} warprsa_answer_to;

warprsa_answer_to warprsa_session_answer_to(const warprsa_session *session,
                                            const warprsa_pending *pending);

/* Answers the request in a slot that has been checked. The session stays until
 * the thread has notified all. */
void warprsa_session_answer(warprsa_session *session,
                            const warprsa_answer_to *to, warprsa_answer answer,
                            warprsa_cpu_reason reason,
                            warprsa_answering *answering);

/* Notifies the jobs that got answers since the last call. */
void warprsa_session_notify_all(warprsa_answering *answering);

#endif
