/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread that makes one operation after the other, and sleeps in each one.
 */
#include <errno.h>
#include <time.h>

#include "batching/base/clock.h"
#include "bench/load/worker.h"

static void sleep_until(uint64_t at_ns)
{
    struct timespec at = {(time_t)(at_ns / 1000000000),
                          (long)(at_ns % 1000000000)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
}

void *load_blocking_thread(void *arg)
{
    load_worker *worker = arg;
    load_operation operation;
    uint64_t due_ns = 0, now_ns = 0;

    load_worker_begin(worker);
    while ((now_ns = warprsa_clock_ns()) < worker->window->end_ns) {
        if (load_worker_due(worker, now_ns, &due_ns)) {
            load_operation_choose(&worker->maker, &operation);
            load_operation_run(&worker->maker, &operation);
            load_worker_finish(worker, &operation, due_ns);
        } else {
            uint64_t next_ns = load_arrivals_next(&worker->arrivals, now_ns);

            sleep_until(next_ns < worker->window->end_ns
                            ? next_ns
                            : worker->window->end_ns);
        }
    }
    load_worker_end(worker);
    return NULL;
}
