/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How long answers take; see completion_times.h.
 */
#include "batching/queue/completion_times.h"

#include <stdatomic.h>

#include "batching/base/clock.h"

enum {
    OTHERS_MS = 100, /* until the other devices are measured again */
    CPUS_MS = 1000,  /* and the CPUs */
};

static uint64_t get(const _Atomic uint64_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

/* Another thread's measurement may be younger than now_ns. */
static bool is_fresh(const warprsa_answer_time *time, uint64_t now_ns,
                     unsigned ms)
{
    const uint64_t at_ns = get(&time->at_ns);

    return at_ns != 0 && now_ns < at_ns + ms * WARPRSA_NS_PER_MS;
}

void warprsa_answer_times_note(warprsa_answer_times *times, bool on_cpus,
                               warprsa_size_class size, uint64_t ns,
                               uint64_t now_ns)
{
    warprsa_answer_time *time =
        on_cpus ? &times->cpus[size] : &times->others[size];
    const uint64_t old = get(&time->ns);

    if (is_fresh(time, now_ns, on_cpus ? CPUS_MS : OTHERS_MS))
        ns = old - old / 4 + ns / 4;
    atomic_store_explicit(&time->ns, ns, memory_order_relaxed);
    atomic_store_explicit(&time->at_ns, now_ns, memory_order_relaxed);
}

bool warprsa_answer_times_cpus_are_sooner(const warprsa_answer_times *times,
                                          warprsa_size_class size,
                                          bool contended, uint64_t now_ns)
{
    const warprsa_answer_time *others = &times->others[size];
    const warprsa_answer_time *cpus = &times->cpus[size];

    if (!is_fresh(others, now_ns, OTHERS_MS))
        return false;
    if (!is_fresh(cpus, now_ns, CPUS_MS))
        return true;
    return !contended && get(&cpus->ns) < get(&others->ns);
}
