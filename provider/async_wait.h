/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for the answer to a request: a thread sleeps, an async job pauses.
 */
#ifndef WARPRSA_PROVIDER_ASYNC_WAIT_H
#define WARPRSA_PROVIDER_ASYNC_WAIT_H

#include "batching/queue/backend.h"
#include "provider/instance.h"

/*
 * How a job learns of the answer to its request: a reference to the state that
 * the job's wait ctx keeps for all its requests. The state is not on the job's
 * stack, because a job that is never resumed is gone while its request is still
 * under way. The thread that runs the job makes all calls below.
 */
typedef struct warprsa_async_wait warprsa_async_wait;

/*
 * Prepares the wait ctx of the current job. The wait ctx's callback wakes the
 * job, if there is one and the backend can call it; else one descriptor per
 * wait ctx does. NULL: there is no job, no memory or descriptor for it, or
 * another job of the same wait ctx has a request under way; the caller then
 * sleeps. Leaves no error on the queue.
 */
warprsa_async_wait *warprsa_async_wait_new(const warprsa_backend *backend);

/*
 * Pauses the current job once, without a request, so that its thread can start
 * or resume other jobs. The descriptor of its wait ctx is readable then: the
 * program resumes the job as soon as it likes. Returns at once if there is no
 * job that can pause, or if a callback resumes the job, since only a thread
 * that holds none of the program's locks may call the callback. For a process
 * whose backend is the local one, open or not. The process may have forked when
 * it returns.
 */
void warprsa_async_wait_yield(void);

/*
 * Wakes the jobs whose deadline has passed, if no thread of the backend does:
 * the only one may hang in its driver. For each operation to call, also if the
 * CPU computes it; cheap.
 */
void warprsa_async_wait_tick(const warprsa_backend *backend);

/*
 * Submits a request whose answer wakes the job of `wait`. NULL: the caller is
 * going to sleep. `input` is as long as the modulus. Any result but
 * WARPRSA_DONE: the request was not submitted, which is counted, and
 * warprsa_async_wait_cancel() takes `wait` back.
 */
warprsa_answer warprsa_async_wait_submit(warprsa_async_wait *wait,
                                         const warprsa_backend *backend,
                                         warprsa_backend_key *key,
                                         const uint8_t *input,
                                         warprsa_ticket *ticket);

/*
 * Waits for the answer to a submitted request, writes it to `output`, as long
 * as the modulus, and gives `wait` back. Never returns WARPRSA_PENDING. A job
 * that is resumed in a forked child gets WARPRSA_REFUSED.
 */
warprsa_answer warprsa_async_wait_answer(warprsa_async_wait *wait,
                                         const warprsa_instance *instance,
                                         const warprsa_backend *backend,
                                         warprsa_ticket ticket,
                                         uint8_t *output);

/* Gives back a `wait` whose request was not submitted, and closes a descriptor
 * that was made for that request. NULL is allowed. */
void warprsa_async_wait_cancel(warprsa_async_wait *wait);

/* Pauses the current job once. `pauses` counts them, from 0: a job that is
 * resumed again and again without an answer naps instead. The process may have
 * forked when it returns. */
void warprsa_async_pause(unsigned *pauses);

/* Whether the current job has paused since its wait ctx got a descriptor: then
 * the program has seen the descriptor. */
bool warprsa_async_has_paused(void);

#endif
