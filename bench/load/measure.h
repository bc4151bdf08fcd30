/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Measuring one subject, in a process of its own.
 */
#ifndef WARPRSA_LOAD_MEASURE_H
#define WARPRSA_LOAD_MEASURE_H

#include <stdint.h>

#include "bench/load/keys.h"
#include "bench/load/options.h"
#include "bench/load/subject.h"

/* One measurement, times in ns. Plain data, since it goes through a pipe. */
typedef struct load_result {
    unsigned subject; /* its index */
    unsigned run, threads, in_flight;
    double offered;    /* arrivals a second; 0: closed loop */
    double of_closed;  /* the same in percent of the closed loop's, or 0 */
    double seconds;    /* the window's length as it was */
    uint64_t measured; /* operations that ended in the window */
    uint64_t cpu_ns;   /* of all threads in the window, but for verifying */
    uint64_t switches; /* voluntary context switches in the window */
    uint64_t mean_ns, p50_ns, p99_ns, p999_ns, most_ns;
    uint64_t device, cpu; /* where operations ran in the window */
    /* Over the whole measurement, from the first operation to the last. */
    uint64_t started, verified, wrong, failed, lost, unstarted;
    /* Private operations that were made but not counted by a module: 0 if all
     * is well. */
    int64_t uncounted;
    load_counters
        counters; /* what is no number of events: at the window's end */
    uint64_t memory_kib;
    unsigned descriptors;
} load_result;

/* Receives each result when it is known. */
typedef void (*load_result_fn)(void *arg, const load_result *result);

/* Makes every measurement of a subject; load_fail() if one can't be made. */
void load_measure(const load_options *options, load_keys *keys,
                  unsigned subject, load_result_fn each, void *arg);

/* Rate of a result, in operations a second. */
double load_result_rate(const load_result *result);

#endif
