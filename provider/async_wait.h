/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for an answer of the queue: a thread sleeps, an async job pauses.
 */
#ifndef WARPRSA_PROVIDER_ASYNC_WAIT_H
#define WARPRSA_PROVIDER_ASYNC_WAIT_H

#include "batching/backend.h"
#include "provider/instance.h"

/*
 * A request of an async job: a reference to what the job's wait ctx keeps for
 * all its requests. Not on the job's stack: a job that is never resumed is gone
 * while its request is still under way.
 */
typedef struct warprsa_wait warprsa_wait;

/*
 * For a caller inside an async job (the thread that runs it calls all four
 * functions): arms the job's wait ctx, with a callback
 * if it has one (and the home can call it), else with one descriptor per wait
 * ctx. NULL: not in a job, or no memory or descriptor for it; the caller blocks
 * then. Leaves no error on the queue.
 */
warprsa_wait *warprsa_wait_new(const warprsa_backend *backend);

/* Submits a request whose answer `wait` is told of; NULL: a caller that
 * sleeps. Anything but WARPRSA_DONE: not submitted, and counted; `wait` is to
 * be given back by warprsa_wait_cancel(). */
warprsa_answer warprsa_wait_submit(warprsa_wait *wait,
                                   const warprsa_backend *backend,
                                   warprsa_backend_key *key,
                                   const uint8_t *input,
                                   warprsa_ticket *ticket);

/*
 * Waits for the answer to a submitted request and gives `wait` back; never
 * WARPRSA_PENDING. A job that goes on in a forked child is REFUSED.
 */
warprsa_answer warprsa_wait_answer(warprsa_wait *wait,
                                   const warprsa_instance *instance,
                                   const warprsa_backend *backend,
                                   warprsa_ticket ticket, uint8_t *output);

/* Gives back a `wait` whose request was not submitted, and with it a
 * descriptor made for it; NULL is allowed. */
void warprsa_wait_cancel(warprsa_wait *wait);

#endif
