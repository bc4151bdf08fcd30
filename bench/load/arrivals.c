/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The times of arrivals: even ones and those of a Poisson process.
 */
#include "bench/load/arrivals.h"

#include <math.h>

/* Exponential gaps: -ln(u) of a u in (0, 1]. */
static double gap(load_arrivals *arrivals)
{
    double u =
        (double)((load_random_next(&arrivals->random) >> 11) + 1) * 0x1p-53;

    return arrivals->even ? arrivals->gap_ns : -log(u) * arrivals->gap_ns;
}

void load_arrivals_start(load_arrivals *arrivals, double rate, bool even,
                         unsigned thread, unsigned threads, uint64_t seed,
                         uint64_t start_ns)
{
    *arrivals = (load_arrivals){
        .open = rate > 0,
        .even = even,
        .random = {seed},
    };
    if (!arrivals->open)
        return;
    arrivals->gap_ns = 1e9 * threads / rate;
    arrivals->next_ns = (double)start_ns;
    arrivals->next_ns +=
        even ? arrivals->gap_ns * thread / threads : gap(arrivals);
}

uint64_t load_arrivals_next(const load_arrivals *arrivals, uint64_t now_ns)
{
    return arrivals->open ? (uint64_t)arrivals->next_ns : now_ns;
}

void load_arrivals_advance(load_arrivals *arrivals)
{
    if (arrivals->open)
        arrivals->next_ns += gap(arrivals);
}
