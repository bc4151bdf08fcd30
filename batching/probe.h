/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A try: whether more gets done another way. Nobody can tell beforehand what
 * caches, schedulers and batches make of a change, so it is made for a few
 * periods and what gets done then is held against what got done before. One
 * that gains nothing is ended and not repeated soon: after pauses that double,
 * and not before 4, 8 ... 64 times as long has passed as it took, so that tries
 * cost one part in 64 of the time in the long run. One that has succeeded lasts
 * until it gains nothing twice in a row; then the load is another, which says
 * nothing against the next try.
 *
 * Plain data of one thread, or of whoever keeps others out; zeros to begin
 * with. `done`: what gets done in a period, by time, in any unit.
 */
#ifndef WARPRSA_BATCHING_PROBE_H
#define WARPRSA_BATCHING_PROBE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct warprsa_probe {
    bool active;            /* it is done the other way */
    unsigned periods;       /* ended since */
    uint64_t baseline;      /* done without it */
    uint64_t previous;      /* done in the period that ended last */
    uint64_t began_ns;      /* when it was begun */
    uint64_t cost_since_ns; /* from here on it has nothing to show */
    uint64_t retry_ns;      /* no new one before */
    unsigned failures;      /* in a row */
    bool proven;            /* it has succeeded */
    unsigned losses;        /* periods since then without a gain, in a row */
} warprsa_probe;

/* Whether a new one may begin. */
bool warprsa_probe_may_begin(const warprsa_probe *probe, uint64_t now_ns);

/* Begins one, at the end of a period without it in which `done` got done. */
void warprsa_probe_begin(warprsa_probe *probe, uint64_t now_ns, uint64_t done);

/* At the end of a period with it: goes on, or ends it. The first one says
 * nothing, it is half of each kind; and as long as each gets more done than the
 * one before it, a change is still warming up. */
void warprsa_probe_judge(warprsa_probe *probe, uint64_t now_ns, uint64_t done);

/* Ends one that has not failed: the next may begin at once, and learns anew
 * what gets done without it. */
void warprsa_probe_pause(warprsa_probe *probe);

/* Takes back the judgement so far, and what it has cost: what it needs isn't
 * there. */
void warprsa_probe_restart(warprsa_probe *probe, uint64_t now_ns);

#endif
