/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Async jobs that are never resumed: see jobs_left.h.
 */
#include "provider/jobs_left.h"

#include <stdatomic.h>

/* Of the process: a wait ctx may outlive the provider that it was used with. */
static _Atomic uint64_t noted;

void warprsa_jobs_left_note(void)
{
    atomic_fetch_add_explicit(&noted, 1, memory_order_relaxed);
}

void warprsa_jobs_left_count(warprsa_counters *counters)
{
    uint64_t jobs = 0;

    /* Almost always none: then no operation writes what others read. */
    if (atomic_load_explicit(&noted, memory_order_relaxed) == 0)
        return;
    jobs = atomic_exchange_explicit(&noted, 0, memory_order_relaxed);
    if (jobs != 0)
        warprsa_count(&counters->jobs_left, jobs);
}
