/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What both kinds of threads do: begin, find what is due, record what has
 * ended.
 */
#include "bench/load/worker.h"

#include <time.h>

#include "batching/base/clock.h"

/* Adds to a counter that one thread writes and others read. */
static void add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_store_explicit(
        counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
        memory_order_relaxed);
}

static uint64_t thread_cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

void load_worker_begin(load_worker *worker)
{
    pthread_barrier_wait(&worker->window->barrier);
    pthread_barrier_wait(&worker->window->barrier);
    load_arrivals_start(&worker->arrivals, worker->rate, worker->options->even,
                        worker->index, worker->threads,
                        load_random_next(&worker->maker.random),
                        worker->window->begin_ns);
}

bool load_worker_due(load_worker *worker, uint64_t now_ns, uint64_t *due_ns)
{
    if (now_ns >= worker->window->end_ns)
        return false;
    *due_ns = load_arrivals_next(&worker->arrivals, now_ns);
    if (*due_ns > now_ns)
        return false;
    load_arrivals_advance(&worker->arrivals);
    worker->started++;
    return true;
}

static bool in_window(const load_worker *worker, uint64_t at_ns)
{
    return at_ns >= worker->window->start_ns && at_ns < worker->window->end_ns;
}

static void verify(load_worker *worker, const load_operation *operation)
{
    uint64_t before = thread_cpu_ns();

    worker->verified++;
    if (!load_operation_verify(&worker->maker, operation))
        worker->wrong++;
    if (in_window(worker, warprsa_clock_ns()))
        add(&worker->verify_ns, thread_cpu_ns() - before);
}

void load_worker_finish(load_worker *worker, const load_operation *operation,
                        uint64_t due_ns)
{
    uint64_t now_ns = warprsa_clock_ns();

    add(&worker->completed, 1);
    if (in_window(worker, due_ns))
        load_histogram_add(&worker->latency, now_ns - due_ns);
    if (operation->length == 0) {
        add(&worker->failed, 1);
    } else if (worker->until_verified-- == 0) {
        worker->until_verified = worker->options->verify_every - 1;
        verify(worker, operation);
    }
}

void load_worker_end(load_worker *worker)
{
    uint64_t due_ns = 0, now_ns = warprsa_clock_ns();

    if (!worker->arrivals.open)
        return;
    while ((due_ns = load_arrivals_next(&worker->arrivals, now_ns)) <
           worker->window->end_ns) {
        load_arrivals_advance(&worker->arrivals);
        worker->unstarted++;
        if (in_window(worker, due_ns))
            load_histogram_add(&worker->latency, now_ns - due_ns);
    }
}
