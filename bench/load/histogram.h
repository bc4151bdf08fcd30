/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A histogram of durations. A bin is at most 1/64 of its value wide (the layout
 * of HdrHistogram), so percentiles are right to 1.6 % over the whole range.
 */
#ifndef WARPRSA_LOAD_HISTOGRAM_H
#define WARPRSA_LOAD_HISTOGRAM_H

#include <stdint.h>

enum {
    LOAD_HISTOGRAM_STEPS = 64,
    /* Every value below 64 has a bin; then there are 64 bins for each of 58
     * octaves, that is, doublings. */
    LOAD_HISTOGRAM_BINS = LOAD_HISTOGRAM_STEPS * 59,
};

/* Starts as all zeros. One thread at a time. */
typedef struct load_histogram {
    uint64_t count, sum, most;
    uint64_t bins[LOAD_HISTOGRAM_BINS];
} load_histogram;

void load_histogram_add(load_histogram *histogram, uint64_t value);
void load_histogram_merge(load_histogram *into, const load_histogram *from);

/* The smallest value that a part (0 to 1) of all values does not exceed,
 * rounded up to the end of its bin, but not beyond the largest value; 0 if
 * there are no values. */
uint64_t load_histogram_quantile(const load_histogram *histogram, double part);

#endif
