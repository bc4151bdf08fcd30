/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A probe: an experiment that finds out whether more gets done another way.
 *
 * Caches, schedulers and batches make the effect of such a change impossible
 * to predict. So the change is made for a few periods, and what gets done in
 * each is compared with what got done in the period before the probe, its
 * baseline. A probe that gains nothing fails and is ended. The pauses between
 * probes double while they fail, and the n-th pause is at least 4, 8 ... 64
 * times as long as the probe that failed: in the long run failed probes take
 * one part in 64 of the time. A probe that has gained for long enough is
 * proven. It lasts until it gains nothing in two periods in a row. The load
 * has then become another one, which says nothing against the next probe.
 *
 * Plain data without a lock: of one thread, or of callers that keep each other
 * out. A probe of zeros is ready to use. `done` is what gets done in a period,
 * divided by the period's length, in any unit.
 */
#ifndef WARPRSA_BATCHING_QUEUE_PROBE_H
#define WARPRSA_BATCHING_QUEUE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct warprsa_probe {
    bool active;       /* things are done the other way now */
    unsigned periods;  /* ended since it began */
    uint64_t baseline; /* done in the period before it */
    uint64_t previous; /* done in the period that ended last */
    uint64_t began_ns;
    uint64_t cost_since_ns; /* the time from here on is its cost if it fails */
    uint64_t retry_ns;      /* no new one before */
    unsigned failures;      /* in a row */
    bool proven;            /* it has gained for long enough */
    unsigned losses;        /* periods without a gain since then, in a row */
} warprsa_probe;

/* A period longer than this had a pause in it, and is not judged. */
#define WARPRSA_PROBE_IDLE_NS UINT64_C(500000000)

/* How long a period lasts: `wanted`, but `most` at most, and `least` at least
 * in any case. */
static inline uint64_t warprsa_probe_period(uint64_t least, uint64_t wanted,
                                            uint64_t most)
{
    uint64_t ns = wanted < most ? wanted : most;

    return ns > least ? ns : least;
}

/* Whether a new one may begin: none is active and the pause is over. */
bool warprsa_probe_may_begin(const warprsa_probe *probe, uint64_t now_ns);

/* Begins one, at the end of a period without it in which `done` got done. */
void warprsa_probe_begin(warprsa_probe *probe, uint64_t now_ns, uint64_t done);

/* At the end of a period with the probe active: keeps it, or ends it. `eased`:
 * as much got done as before, and with less effort, which counts as a gain.
 * The first period is not judged, since part of it was still done the old way.
 * Nor does the probe fail as long as each period gets more done than the one
 * before: the change has not had its full effect yet. */
void warprsa_probe_judge(warprsa_probe *probe, uint64_t now_ns, uint64_t done,
                         bool eased);

/* Ends it without a failure. The next may begin at once, with a new baseline.
 */
void warprsa_probe_pause(warprsa_probe *probe);

/* Begins to judge again from here and forgets what it has cost, because what it
 * needs (a device) was not there. The baseline stays. */
void warprsa_probe_restart(warprsa_probe *probe, uint64_t now_ns);

#endif
