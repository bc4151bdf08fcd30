/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Threads that carry out uses of the vault's keys for the event loops. One
 * event loop serves a client. It alone would have to look at the rules, pad and
 * answer for all threads of that client, and a GPU computes faster. So it takes
 * the uses out of the shared memory and hands them over in batches. A thread
 * begins the uses of a batch; what the queue answers of them comes back to the
 * same thread, which gives the client the answer.
 *
 * Batches wait here by owner, and threads take one of each owner in turn
 * (process/rounds.h): a user's batches wait for one of each other user. Answers
 * are given in the order in which they came; the queue has shared its devices
 * among the owners before.
 *
 * An event loop frees no session that a thread may be looking at. A thread
 * counts the steps of its work. All that it does with a session is within one
 * step, and it finds the session by a use that is under way. So once nothing is
 * under way, and each thread has ended the step that it was in, no thread has
 * the session any more.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_USE_THREADS_H
#define WARPRSA_BATCHING_DAEMON_SERVER_USE_THREADS_H

#include "batching/daemon/server/session.h"

typedef struct warprsa_use_threads warprsa_use_threads;

/* Starts 1 to WARPRSA_USE_THREADS_MAX threads. NULL: no memory, or no
 * threads. */
warprsa_use_threads *warprsa_use_threads_start(unsigned count);

/* Ends the threads. No session is left. NULL: does nothing. */
void warprsa_use_threads_stop(warprsa_use_threads *threads);

/* Hands a batch over, whose is_away is set. Once it is not, the batch is the
 * caller's again, but its uses are not. Any event loop. */
void warprsa_use_threads_begin(warprsa_use_threads *threads,
                               warprsa_use_batch *batch);

/* Adds uses to a batch that was handed over before. False: it has no room for
 * them, or a thread has taken it, or it is the caller's. By the event loop that
 * has handed it over. */
bool warprsa_use_threads_add(warprsa_use_threads *threads,
                             warprsa_use_batch *batch,
                             const warprsa_use_batch *more);

/* Whether a thread is awake: then a batch needs no wake-up. A hint. Any
 * thread. */
bool warprsa_use_threads_are_awake(const warprsa_use_threads *threads);

/* Notes at which step each thread is; then whether each has gone on since, or
 * was between two. NULL: there are no threads. Any thread. */
void warprsa_use_threads_note(const warprsa_use_threads *threads,
                              uint32_t seen[WARPRSA_USE_THREADS_MAX]);
bool warprsa_use_threads_passed(const warprsa_use_threads *threads,
                                const uint32_t seen[WARPRSA_USE_THREADS_MAX]);

/* Whether a thread is in a step that it began before this time of
 * warprsa_clock_ns(). A step takes some milliseconds at most. NULL: there are
 * no threads. Any thread. */
bool warprsa_use_threads_hang(const warprsa_use_threads *threads,
                              uint64_t since_ns);

#endif
