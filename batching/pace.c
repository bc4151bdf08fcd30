/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See pace.h.
 */
#include "batching/pace.h"

enum {
    /* Beside the time for its requests: waking up, launching. */
    LEAD_NS = 300000,
};

static uint64_t get(const _Atomic uint64_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

static void set(_Atomic uint64_t *number, uint64_t value)
{
    atomic_store_explicit(number, value, memory_order_relaxed);
}

static void average(_Atomic uint64_t *number, uint64_t measured)
{
    uint64_t old = get(number);

    set(number, old == 0 ? measured : old - old / 4 + measured / 4);
}

uint32_t warprsa_pace_wake_at(const warprsa_pace *pace, uint32_t batch_max)
{
    return atomic_load(&pace->running) < WARPRSA_PACE_BUSY ? 1 : batch_max;
}

bool warprsa_pace_may_start(const warprsa_pace *pace, uint32_t waiting,
                            uint32_t batch_max, uint64_t now_ns,
                            uint64_t *again_ns)
{
    uint64_t lead = LEAD_NS + waiting * get(&pace->stage_ns);
    uint64_t free_ns = get(&pace->free_ns);

    *again_ns = UINT64_MAX;
    if (waiting == 0)
        return false;
    if (waiting >= warprsa_pace_wake_at(pace, batch_max) ||
        now_ns + lead >= free_ns)
        return true;
    *again_ns = free_ns - lead;
    return false;
}

void warprsa_pace_taken(warprsa_pace *pace, warprsa_size_class size,
                        uint32_t count, uint64_t now_ns)
{
    uint64_t free_ns = get(&pace->free_ns);

    if (free_ns < now_ns)
        free_ns = now_ns;
    set(&pace->free_ns, free_ns + count * get(&pace->request_ns[size]));
    atomic_fetch_add(&pace->running, count);
}

void warprsa_pace_started(warprsa_pace *pace, uint32_t count, uint64_t taken_ns,
                          uint64_t now_ns)
{
    if (count >= WARPRSA_PACE_BUSY / 2)
        average(&pace->stage_ns, (now_ns - taken_ns) / count);
}

void warprsa_pace_ended(warprsa_pace *pace, warprsa_size_class size,
                        uint32_t count, uint64_t started_ns, uint64_t now_ns)
{
    uint64_t ended_ns = get(&pace->ended_ns);
    /* Before its predecessor had ended the device was not its own. */
    uint64_t since_ns = started_ns > ended_ns ? started_ns : ended_ns;
    uint32_t left = atomic_fetch_sub(&pace->running, count) - count;

    set(&pace->ended_ns, now_ns);
    if (count >= WARPRSA_PACE_BUSY / 2 && now_ns > since_ns)
        average(&pace->request_ns[size], (now_ns - since_ns) / count);
    set(&pace->free_ns, now_ns + left * get(&pace->request_ns[size]));
}
