/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The vault's threads and the steps that wait for them; see compute.h.
 */
#include "batching/vault/compute.h"

#include <pthread.h>
#include <stdlib.h>

#include "batching/base/clock.h"
#include "batching/base/create_thread.h"

TAILQ_HEAD(owner_list, warprsa_compute_owner);

struct warprsa_compute {
    pthread_mutex_t lock;     /* of all below, and of owners and their lists */
    pthread_cond_t changed;   /* a step was added, or the end is near */
    struct owner_list owners; /* that have steps waiting */
    uint64_t reached_ns; /* the most that the owner of a step had used when that
                            began */
    bool stopping;
    unsigned waiting_max;
    unsigned running_max; /* of one owner */
    unsigned thread_count;
    pthread_t threads[WARPRSA_COMPUTE_THREADS_MAX];
};

/* ---- steps that wait; with the lock held ---- */

static void add(warprsa_compute *compute, warprsa_compute_owner *owner,
                warprsa_step *step)
{
    if (owner->count == 0) {
        if (owner->running == 0 && owner->used_ns < compute->reached_ns)
            owner->used_ns = compute->reached_ns;
        TAILQ_INSERT_TAIL(&compute->owners, owner, link);
    }
    TAILQ_INSERT_TAIL(&owner->waiting, step, link);
    owner->count++;
    step->owner = owner;
}

static void take(warprsa_compute *compute, warprsa_step *step)
{
    warprsa_compute_owner *owner = step->owner;

    TAILQ_REMOVE(&owner->waiting, step, link);
    if (--owner->count == 0)
        TAILQ_REMOVE(&compute->owners, owner, link);
}

/* The first step of the owner that has used least, of those that may have one
 * more thread; NULL: there is none. */
static warprsa_step *next_step(const warprsa_compute *compute)
{
    const warprsa_compute_owner *least = NULL, *owner = NULL;

    TAILQ_FOREACH (owner, &compute->owners, link)
        if (owner->running < compute->running_max &&
            (least == NULL || owner->used_ns < least->used_ns))
            least = owner;
    return least == NULL ? NULL : TAILQ_FIRST(&least->waiting);
}

/* ---- running a step ---- */

static void run(warprsa_step *step)
{
    bool ok = false;

    step->length = 0;
    switch (step->kind) {
    case WARPRSA_STEP_FINISH:
        ok = warprsa_padding_finish(step->key, &step->use, step->input,
                                    step->power, step->output, &step->length,
                                    &step->errors);
        break;
    case WARPRSA_STEP_ALL:
        ok =
            warprsa_padding_compute(step->key, &step->use, step->input,
                                    step->output, &step->length, &step->errors);
        break;
    }
    step->outcome = ok ? WARPRSA_STEP_DONE : WARPRSA_STEP_FAILED;
}

static void end_without_running(warprsa_step *step,
                                warprsa_step_outcome outcome)
{
    step->outcome = outcome;
    step->length = 0;
    step->errors = (warprsa_use_errors){{0}};
    step->done(step);
}

/* The owner pays what its last step has cost at once, so that other threads
 * know before this one ends, and what it has really cost afterwards. */
static uint64_t begin_paying(warprsa_compute *compute,
                             warprsa_compute_owner *owner)
{
    const uint64_t expected_ns = owner->expected_ns;

    if (owner->used_ns > compute->reached_ns)
        compute->reached_ns = owner->used_ns;
    owner->used_ns += expected_ns;
    owner->running++;
    return expected_ns;
}

static void end_paying(warprsa_compute_owner *owner, uint64_t expected_ns,
                       uint64_t cost_ns)
{
    owner->used_ns += cost_ns - expected_ns; /* modulo 2^64 */
    owner->expected_ns = cost_ns;
    owner->running--;
}

/* Runs a step that was taken. The lock is held before and after. */
static void run_taken(warprsa_compute *compute, warprsa_step *step)
{
    warprsa_compute_owner *owner = step->owner;
    const uint64_t expected_ns = begin_paying(compute, owner);
    uint64_t cost_ns = 0;

    pthread_mutex_unlock(&compute->lock);
    cost_ns = warprsa_thread_cpu_ns();
    run(step);
    cost_ns = warprsa_thread_cpu_ns() - cost_ns;
    pthread_mutex_lock(&compute->lock);
    end_paying(owner, expected_ns, cost_ns);
    pthread_mutex_unlock(&compute->lock);
    step->done(step);
    pthread_mutex_lock(&compute->lock);
}

static bool is_late(const warprsa_step *step)
{
    return step->deadline_ns != 0 && warprsa_clock_ns() > step->deadline_ns;
}

/* Ends a step that was taken too late. As run_taken(). */
static void end_late(warprsa_compute *compute, warprsa_step *step)
{
    pthread_mutex_unlock(&compute->lock);
    end_without_running(step, WARPRSA_STEP_LATE);
    pthread_mutex_lock(&compute->lock);
}

static void *serve(void *arg)
{
    warprsa_compute *compute = arg;

    pthread_mutex_lock(&compute->lock);
    while (!compute->stopping) {
        warprsa_step *step = next_step(compute);

        if (step == NULL) {
            pthread_cond_wait(&compute->changed, &compute->lock);
            continue;
        }
        take(compute, step);
        if (is_late(step))
            end_late(compute, step);
        else
            run_taken(compute, step);
    }
    pthread_mutex_unlock(&compute->lock);
    return NULL;
}

/* ---- the interface ---- */

warprsa_compute *warprsa_compute_new(unsigned threads, unsigned waiting_max)
{
    warprsa_compute *compute = calloc(1, sizeof(*compute));

    if (compute == NULL)
        return NULL;
    pthread_mutex_init(&compute->lock, NULL); /* can't fail on Linux */
    pthread_cond_init(&compute->changed, NULL);
    TAILQ_INIT(&compute->owners);
    compute->waiting_max = waiting_max;
    compute->running_max = threads > 1 ? threads - 1 : 1;
    while (compute->thread_count < threads &&
           warprsa_create_thread(&compute->threads[compute->thread_count],
                                 serve, compute) == 0)
        compute->thread_count++;
    if (compute->thread_count == threads)
        return compute;
    warprsa_compute_free(compute);
    return NULL;
}

/* Ends all steps that wait. The threads have ended. */
static void stop_waiting(warprsa_compute *compute)
{
    warprsa_compute_owner *owner = NULL;

    while ((owner = TAILQ_FIRST(&compute->owners)) != NULL) {
        warprsa_step *step = TAILQ_FIRST(&owner->waiting);

        take(compute, step);
        end_without_running(step, WARPRSA_STEP_STOPPED);
    }
}

void warprsa_compute_free(warprsa_compute *compute)
{
    if (compute == NULL)
        return;
    pthread_mutex_lock(&compute->lock);
    compute->stopping = true;
    pthread_cond_broadcast(&compute->changed);
    pthread_mutex_unlock(&compute->lock);
    for (unsigned i = 0; i < compute->thread_count; i++)
        pthread_join(compute->threads[i], NULL);
    stop_waiting(compute);
    pthread_cond_destroy(&compute->changed);
    pthread_mutex_destroy(&compute->lock);
    free(compute);
}

void warprsa_compute_owner_init(warprsa_compute_owner *owner)
{
    *owner = (warprsa_compute_owner){0};
    TAILQ_INIT(&owner->waiting);
}

bool warprsa_compute_submit(warprsa_compute *compute,
                            warprsa_compute_owner *owner, warprsa_step *step)
{
    bool ok = false;

    pthread_mutex_lock(&compute->lock);
    ok = owner->count < compute->waiting_max;
    if (ok)
        add(compute, owner, step);
    pthread_mutex_unlock(&compute->lock);
    if (ok)
        pthread_cond_signal(&compute->changed);
    return ok;
}
