/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See probe.h.
 */
#include "batching/probe.h"

enum {
    GAIN = 16,      /* it must gain one part in so many */
    WARMING = 8,    /* periods that may all be better than the one before */
    LASTING = 6,    /* periods of one that has succeeded */
    LOST = 2,       /* periods without a gain that end such a one */
    COST = 4,       /* times what the first failed one took, until the next */
    FAILED_MAX = 4, /* then the pause stops doubling */
};

#define PAUSE_NS UINT64_C(100000000) /* after the first */

bool warprsa_probe_may(const warprsa_probe *trial, uint64_t now_ns)
{
    return !trial->on && now_ns >= trial->retry_ns;
}

void warprsa_probe_begin(warprsa_probe *trial, uint64_t now_ns, uint64_t done)
{
    trial->on = true;
    trial->periods = 0;
    trial->before = done;
    trial->last = 0;
    trial->on_ns = now_ns;
    trial->spent_ns = now_ns;
    trial->lasts = false;
    trial->lost = 0;
}

static bool is_more(uint64_t done, uint64_t than)
{
    return done > than + than / GAIN;
}

/* Ends one that has gained nothing. */
static void fail(warprsa_probe *trial, uint64_t now_ns)
{
    uint64_t pause = PAUSE_NS << trial->failed;
    uint64_t cost = (now_ns - trial->spent_ns) * COST << trial->failed;

    trial->on = false;
    trial->retry_ns = now_ns + (pause > cost ? pause : cost);
    if (trial->failed < FAILED_MAX)
        trial->failed++;
}

void warprsa_probe_judge(warprsa_probe *trial, uint64_t now_ns, uint64_t done)
{
    bool rises = trial->periods < WARMING && is_more(done, trial->last);

    trial->last = done;
    if (++trial->periods == 1)
        return;
    if (is_more(done, trial->before)) {
        trial->lost = 0;
        if (trial->periods > LASTING) {
            trial->lasts = true;
            trial->failed = 0;
        }
    } else if (trial->lasts) {
        if (++trial->lost == LOST)
            warprsa_probe_pause(trial);
    } else if (!rises) {
        fail(trial, now_ns);
    }
}

void warprsa_probe_pause(warprsa_probe *trial)
{
    trial->on = false;
    trial->retry_ns = 0;
}

void warprsa_probe_restart(warprsa_probe *trial, uint64_t now_ns)
{
    trial->periods = 0;
    trial->last = 0;
    trial->spent_ns = now_ns;
    trial->lasts = false;
    trial->lost = 0;
}
