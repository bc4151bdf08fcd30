/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Threads that carry out uses; see use_threads.h.
 */
#include "batching/daemon/server/use_threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "batching/base/clock.h"
#include "batching/base/container_of.h"
#include "batching/base/eventcount.h"
#include "batching/base/wipe_registers.h"
#include "batching/daemon/server/session_answers.h"
#include "batching/daemon/server/session_uses.h"

enum {
    ANSWERS_AT_ONCE = 32, /* in a step */
    SLEEP_MS = 1000,      /* the time of a sleep that nothing ends */
    /* While fewer uses wait, a thread that is awake takes them sooner than one
     * that has to be woken. */
    WAITING_MIN = 16,
};

typedef struct use_thread {
    warprsa_taker taker;
    struct warprsa_use_threads *all;
    pthread_t thread;
    warprsa_answering answering;
    warprsa_pending *taken; /* answered uses, the oldest first */
    /* A stack onto which the queue's workers push answered uses. */
    _Alignas(64) _Atomic(warprsa_pending *) answered;
    atomic_uint pushing; /* threads that are doing so */
    _Alignas(64) warprsa_eventcount wake;
    _Alignas(64) _Atomic uint32_t step; /* odd: it is in one */
    _Atomic uint64_t step_ns;           /* when the last one began */
} use_thread;

struct warprsa_use_threads {
    use_thread of[WARPRSA_USE_THREADS_MAX];
    unsigned count;
    atomic_bool stopping;
    pthread_mutex_t lock; /* of what follows */
    warprsa_rounds waiting;
    unsigned waiting_uses; /* in these batches */
};

/* Runs on a worker of the queue, or a thread of the vault. */
static void push_answered(warprsa_taker *taker, warprsa_pending *pending)
{
    use_thread *thread = WARPRSA_CONTAINER_OF(taker, use_thread, taker);
    warprsa_pending *top = NULL;

    /* Before the push: from then on the threads may be stopped. */
    atomic_fetch_add(&thread->pushing, 1);
    top = atomic_load(&thread->answered);
    do
        pending->next = top;
    while (!atomic_compare_exchange_weak(&thread->answered, &top, pending));
    if (top == NULL)
        warprsa_eventcount_notify(&thread->wake);
    atomic_fetch_sub(&thread->pushing, 1);
}

/* Takes what was answered, if all before has been given. */
static void take_answered(use_thread *thread)
{
    warprsa_pending *p = NULL;

    if (thread->taken != NULL || atomic_load(&thread->answered) == NULL)
        return;
    p = atomic_exchange(&thread->answered, NULL);
    while (p != NULL) {
        warprsa_pending *next = p->next;

        p->next = thread->taken;
        thread->taken = p;
        p = next;
    }
}

/* Returns whether there was anything to be done. */
static bool answer_some(use_thread *thread)
{
    unsigned left = ANSWERS_AT_ONCE;
    uint64_t now_ns;

    take_answered(thread);
    if (thread->taken == NULL)
        return false;
    now_ns = warprsa_clock_ns();
    for (; thread->taken != NULL && left > 0; left--) {
        warprsa_pending *p = thread->taken;

        thread->taken = p->next;
        warprsa_session_complete_use(p, now_ns, &thread->answering);
    }
    return true;
}

/* The batch whose owner's turn it is. NULL: there is none. */
static warprsa_use_batch *next_batch(warprsa_use_threads *all)
{
    warprsa_rounds_entry *turn = NULL;
    warprsa_use_batch *batch = NULL;

    pthread_mutex_lock(&all->lock);
    if (all->waiting.count > 0) {
        turn = warprsa_rounds_next(&all->waiting);
        if (turn == NULL) {
            warprsa_rounds_begin(&all->waiting);
            turn = warprsa_rounds_next(&all->waiting);
        }
        batch = WARPRSA_CONTAINER_OF(turn, warprsa_use_batch, turn);
        all->waiting_uses -= batch->count;
    }
    pthread_mutex_unlock(&all->lock);
    return batch;
}

/* Returns whether there was anything to be done. */
static bool begin_batch(use_thread *thread)
{
    warprsa_use_batch *batch = next_batch(thread->all);
    warprsa_pending *first = NULL;

    if (batch == NULL)
        return false;
    first = batch->first;
    atomic_store(&batch->is_away, false);
    warprsa_session_begin_uses(first, &thread->taker, &thread->answering);
    return true;
}

/* One step: some answers, and one batch. */
static bool step(use_thread *thread)
{
    bool any = false;

    atomic_store(&thread->step_ns, warprsa_clock_ns());
    atomic_fetch_add(&thread->step, 1);
    any = answer_some(thread);
    any |= begin_batch(thread);
    warprsa_session_notify_all(&thread->answering);
    atomic_fetch_add(&thread->step, 1);
    return any;
}

/* Whether there is something to be done. */
static bool has_work(use_thread *thread)
{
    warprsa_use_threads *all = thread->all;
    bool any =
        atomic_load(&thread->answered) != NULL || atomic_load(&all->stopping);

    if (any)
        return true;
    pthread_mutex_lock(&all->lock);
    any = all->waiting.count > 0;
    pthread_mutex_unlock(&all->lock);
    return any;
}

static void sleep_idle(use_thread *thread)
{
    const uint32_t word = warprsa_eventcount_prepare_wait(&thread->wake);

    if (has_work(thread)) {
        warprsa_eventcount_cancel_wait(&thread->wake);
        return;
    }
    warprsa_wipe_registers(); /* of answers that were copied */
    warprsa_futex_wait(&thread->wake.word, word,
                       warprsa_clock_ns() + SLEEP_MS * WARPRSA_NS_PER_MS);
}

static void *run(void *arg)
{
    use_thread *thread = arg;

    while (!atomic_load(&thread->all->stopping))
        if (!step(thread))
            sleep_idle(thread);
    return NULL;
}

bool warprsa_use_threads_are_awake(const warprsa_use_threads *threads)
{
    for (unsigned i = 0; i < threads->count; i++)
        if (!warprsa_eventcount_has_waiter(&threads->of[i].wake))
            return true;
    return false;
}

/* Wakes a thread that sleeps, if there is one. */
static void wake_one(warprsa_use_threads *threads)
{
    for (unsigned i = 0; i < threads->count; i++)
        if (warprsa_eventcount_has_waiter(&threads->of[i].wake)) {
            warprsa_eventcount_notify(&threads->of[i].wake);
            return;
        }
}

/* Wakes a thread for what waits, if that is worth it. One that is awake looks
 * for a batch before it sleeps. */
static void wake_for(warprsa_use_threads *threads, unsigned waiting_uses)
{
    if (waiting_uses >= WAITING_MIN || !warprsa_use_threads_are_awake(threads))
        wake_one(threads);
}

bool warprsa_use_threads_add(warprsa_use_threads *threads,
                             warprsa_use_batch *batch,
                             const warprsa_use_batch *more)
{
    unsigned waiting = 0;
    bool has_room;

    pthread_mutex_lock(&threads->lock);
    has_room =
        batch->turn.listed && batch->count + more->count <= WARPRSA_USE_BATCH;
    if (has_room) {
        batch->last->next = more->first;
        batch->last = more->last;
        batch->count += more->count;
        waiting = threads->waiting_uses += more->count;
    }
    pthread_mutex_unlock(&threads->lock);
    if (has_room)
        wake_for(threads, waiting);
    return has_room;
}

void warprsa_use_threads_begin(warprsa_use_threads *threads,
                               warprsa_use_batch *batch)
{
    unsigned waiting = 0;

    pthread_mutex_lock(&threads->lock);
    warprsa_rounds_add(&threads->waiting, &batch->turn,
                       batch->session->user.owner);
    waiting = threads->waiting_uses += batch->count;
    pthread_mutex_unlock(&threads->lock);
    wake_for(threads, waiting);
}

void warprsa_use_threads_note(const warprsa_use_threads *threads,
                              uint32_t seen[WARPRSA_USE_THREADS_MAX])
{
    for (unsigned i = 0; threads != NULL && i < threads->count; i++)
        seen[i] = atomic_load(&threads->of[i].step);
}

bool warprsa_use_threads_passed(const warprsa_use_threads *threads,
                                const uint32_t seen[WARPRSA_USE_THREADS_MAX])
{
    for (unsigned i = 0; threads != NULL && i < threads->count; i++)
        if (seen[i] % 2 != 0 && atomic_load(&threads->of[i].step) == seen[i])
            return false;
    return true;
}

bool warprsa_use_threads_hang(const warprsa_use_threads *threads,
                              uint64_t since_ns)
{
    for (unsigned i = 0; threads != NULL && i < threads->count; i++)
        if (atomic_load(&threads->of[i].step) % 2 != 0 &&
            atomic_load(&threads->of[i].step_ns) < since_ns)
            return true;
    return false;
}

static void end_threads(warprsa_use_threads *threads)
{
    atomic_store(&threads->stopping, true);
    for (unsigned i = 0; i < threads->count; i++) {
        use_thread *thread = &threads->of[i];

        warprsa_eventcount_notify_all(&thread->wake);
        pthread_join(thread->thread, NULL);
        while (atomic_load(&thread->pushing) != 0)
            sched_yield();
    }
}

warprsa_use_threads *warprsa_use_threads_start(unsigned count)
{
    warprsa_use_threads *threads =
        aligned_alloc(_Alignof(warprsa_use_threads), sizeof(*threads));

    if (threads == NULL)
        return NULL;
    memset(threads, 0, sizeof(*threads));
    pthread_mutex_init(&threads->lock, NULL); /* can't fail on Linux */
    warprsa_rounds_init(&threads->waiting);
    for (; threads->count < count; threads->count++) {
        use_thread *thread = &threads->of[threads->count];

        thread->all = threads;
        thread->taker.push = push_answered;
        if (pthread_create(&thread->thread, NULL, run, thread) != 0)
            break;
    }
    if (threads->count == count)
        return threads;
    warprsa_use_threads_stop(threads);
    return NULL;
}

void warprsa_use_threads_stop(warprsa_use_threads *threads)
{
    if (threads == NULL)
        return;
    end_threads(threads);
    pthread_mutex_destroy(&threads->lock);
    free(threads);
}
