/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * When the operations of one thread are to start. In a closed loop, each starts
 * when the one before has ended. In an open loop they are due at times set
 * beforehand, and latency counts from that time however late they start. So a
 * provider that stalls can't delay the arrivals, and its stall shows in every
 * latency that it has caused.
 */
#ifndef WARPRSA_LOAD_ARRIVALS_H
#define WARPRSA_LOAD_ARRIVALS_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/load/random.h"

typedef struct load_arrivals {
    bool open;
    bool even;
    double gap_ns; /* mean */
    double next_ns;
    load_random random;
} load_arrivals;

/*
 * Sets up the arrivals of thread `thread` of `threads` that share `rate`
 * arrivals a second, from start_ns on; rate 0: closed loop. A Poisson process
 * in each thread is a Poisson process over all of them. `seed` is the thread's
 * own: the same seed gives the same gaps. Even arrivals take turns among the
 * threads.
 */
void load_arrivals_start(load_arrivals *arrivals, double rate, bool even,
                         unsigned thread, unsigned threads, uint64_t seed,
                         uint64_t start_ns);

/* When the next operation is due; `now_ns` in a closed loop. */
uint64_t load_arrivals_next(const load_arrivals *arrivals, uint64_t now_ns);

/* Goes on to the next arrival: the caller starts the one that was due. */
void load_arrivals_advance(load_arrivals *arrivals);

#endif
