/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of the queue share: a queue on the fake engine, keys and
 * requests for it. A step that must succeed and does not fails the test.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_FAKE_QUEUE_H
#define WARPRSA_TESTS_UNIT_SUPPORT_FAKE_QUEUE_H

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "batching/queue/counters.h"
#include "batching/queue/queue.h"
#include "fake_engine.h"
#include "tests/unit/support/wait_until.h"

/* What a test begins with: the fake engine as it is by default. */
static inline int reset(void **state)
{
    fake_reset();
    return 0;
}

/* A configuration with counters of its own, to be freed by the test. */
warprsa_queue_config fake_config(void);

/* Opens a queue, without or with waiting for its devices. */
warprsa_queue *fake_open_queue(const warprsa_queue_config *config);
warprsa_queue *fake_ready_queue(const warprsa_queue_config *config);

/* Closes it, and checks what must hold after every test. */
void fake_close_queue(warprsa_queue *queue, const warprsa_queue_config *config);

/* Closes it likewise, and frees the configuration's counters. */
void fake_finish(warprsa_queue *queue, const warprsa_queue_config *config);

/* The key of a class and seed (see fake_key()), added to the queue. */
warprsa_key *fake_add_key(warprsa_queue *queue, warprsa_size_class size,
                          unsigned seed);

/* One request with the input that goes with its seed. */
typedef struct fake_request {
    warprsa_private_key key;
    uint8_t input[WARPRSA_MODULUS_BYTES_MAX];
    uint8_t output[WARPRSA_MODULUS_BYTES_MAX];
    warprsa_ticket ticket;
} fake_request;

void fake_fill(fake_request *request, warprsa_size_class size,
               unsigned key_seed, unsigned seed);

/* Submits it for a caller that will sleep in warprsa_queue_wait(). */
warprsa_answer fake_submit(warprsa_queue *queue, warprsa_key *key,
                           fake_request *request);

/* Submits a request of RSA-2048 with a key of that seed and waits for it. What
 * is done must be right. */
warprsa_answer fake_answer(warprsa_queue *queue, warprsa_key *key,
                           unsigned key_seed);

/* Whether the output is what the fake engine makes of the input. */
bool fake_is_right(const fake_request *request);

/* `count` requests of a class with the seeds 0, 1, ..., submitted for a caller
 * that will sleep. */
fake_request *fake_submit_many(warprsa_queue *queue, warprsa_key *key,
                               warprsa_size_class size, unsigned key_seed,
                               unsigned count);

/* Waits for them: all must be done and right. Frees them. */
void fake_wait_for_all(warprsa_queue *queue, fake_request *r, unsigned count);

/* A caller that does not sleep but is notified, like an async job. */
typedef struct fake_listener {
    pthread_mutex_t lock;
    pthread_cond_t told;
    unsigned calls;
} fake_listener;

#define FAKE_LISTENER                                                          \
    {                                                                          \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0                 \
    }

/* Tells a listener, `arg`; a warprsa_notify's `wake`. */
void fake_tell(void *arg);

/* Waits until a listener has been told. */
void fake_listen_to(fake_listener *l);

uint64_t fake_sum(const _Atomic uint64_t *counters, size_t count);

#endif
