/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Durations by their length, in bins of at most 1/64 of their value (the
 * layout of HdrHistogram): percentiles to 1.6 %, whatever the range.
 */
#ifndef WARPRSA_LOAD_HISTOGRAM_H
#define WARPRSA_LOAD_HISTOGRAM_H

#include <stdint.h>

enum {
    LOAD_HISTOGRAM_STEPS = 64,
    /* Below 64 every value has a bin, then 64 bins for each of 58 octaves. */
    LOAD_HISTOGRAM_BINS = LOAD_HISTOGRAM_STEPS * 59,
};

/* Starts as all zeros. One thread at a time. */
typedef struct load_histogram {
    uint64_t count, sum, most;
    uint64_t bins[LOAD_HISTOGRAM_BINS];
} load_histogram;

void load_histogram_add(load_histogram *histogram, uint64_t value);
void load_histogram_merge(load_histogram *into, const load_histogram *from);

/* The smallest value that a part (0 to 1) of all values don't exceed, rounded
 * up to the end of its bin, and not beyond the largest; 0 if there are none. */
uint64_t load_histogram_quantile(const load_histogram *histogram, double part);

#endif
