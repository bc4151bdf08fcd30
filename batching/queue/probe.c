/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The judgement of a probe: see probe.h.
 */
#include "batching/queue/probe.h"

enum {
    GAIN = 16,        /* it must gain one part in so many: less is noise */
    WARMING = 8,      /* periods in which it may rise without having gained */
    PROVEN_AFTER = 6, /* periods that make it proven if it gains */
    LOSSES_MAX = 2,   /* periods without a gain that end a proven one */
    COST = 4,         /* the first pause, in times what the probe took */
    FAILURES_MAX = 4, /* then the pause stops doubling: 4 << 4 is 64 times */
};

#define PAUSE_NS UINT64_C(100000000) /* the first pause, at least */

bool warprsa_probe_may_begin(const warprsa_probe *probe, uint64_t now_ns)
{
    return !probe->active && now_ns >= probe->retry_ns;
}

void warprsa_probe_begin(warprsa_probe *probe, uint64_t now_ns, uint64_t done)
{
    probe->active = true;
    probe->periods = 0;
    probe->baseline = done;
    probe->previous = 0;
    probe->began_ns = now_ns;
    probe->cost_since_ns = now_ns;
    probe->proven = false;
    probe->losses = 0;
}

static bool is_more(uint64_t done, uint64_t than)
{
    return done > than + than / GAIN;
}

/* Ends one that has gained nothing. */
static void fail(warprsa_probe *probe, uint64_t now_ns)
{
    uint64_t pause = PAUSE_NS << probe->failures;
    uint64_t cost = (now_ns - probe->cost_since_ns) * COST << probe->failures;

    probe->active = false;
    probe->retry_ns = now_ns + (pause > cost ? pause : cost);
    if (probe->failures < FAILURES_MAX)
        probe->failures++;
}

void warprsa_probe_judge(warprsa_probe *probe, uint64_t now_ns, uint64_t done,
                         bool eased)
{
    bool rises = probe->periods < WARMING && is_more(done, probe->previous);

    probe->previous = done;
    if (++probe->periods == 1)
        return;
    if (eased || is_more(done, probe->baseline)) {
        probe->losses = 0;
        if (probe->periods > PROVEN_AFTER) {
            probe->proven = true;
            probe->failures = 0;
        }
    } else if (probe->proven) {
        if (++probe->losses == LOSSES_MAX)
            warprsa_probe_pause(probe);
    } else if (!rises) {
        fail(probe, now_ns);
    }
}

void warprsa_probe_pause(warprsa_probe *probe)
{
    probe->active = false;
    probe->retry_ns = 0;
}

void warprsa_probe_restart(warprsa_probe *probe, uint64_t now_ns)
{
    probe->periods = 0;
    probe->previous = 0;
    probe->cost_since_ns = now_ns;
    probe->proven = false;
    probe->losses = 0;
}
