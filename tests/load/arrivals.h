/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * When the operations of one thread are to start: at once, again and again
 * (closed loop), or at times set beforehand (open loop), from which latency is
 * counted however late they start. A server that stalls can't put off the
 * questions this way, and its stall shows in every latency it has caused.
 */
#ifndef WARPRSA_LOAD_ARRIVALS_H
#define WARPRSA_LOAD_ARRIVALS_H

#include <stdbool.h>
#include <stdint.h>

#include "random.h"

typedef struct load_arrivals {
    bool open;
    bool even;
    double gap_ns; /* mean */
    double next_ns;
    load_random random;
} load_arrivals;

/*
 * The arrivals of one of so many threads that share `rate` a second, from
 * start_ns on; rate 0: closed loop. Poisson's arrivals of each thread are
 * independent, and their sum is Poisson's again; even ones take turns.
 */
void load_arrivals_start(load_arrivals *arrivals, double rate, bool even,
                         unsigned thread, unsigned threads, uint64_t start_ns);

/* When the next operation is due; `now_ns` in a closed loop. */
uint64_t load_arrivals_next(const load_arrivals *arrivals, uint64_t now_ns);

/* The next one is taken; on to the one after. */
void load_arrivals_advance(load_arrivals *arrivals);

#endif
