/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A histogram of durations. A bin is at most 1/64 of its value wide (the layout
 * of HdrHistogram), so percentiles are right to 1.6 % over the whole range.
 */
#ifndef WARPRSA_LOAD_HISTOGRAM_H
#define WARPRSA_LOAD_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

enum {
    LOAD_HISTOGRAM_STEPS = 64,
    /* Every value below 64 has a bin; then there are 64 bins for each of 58
     * octaves, that is, doublings. */
    LOAD_HISTOGRAM_BINS = LOAD_HISTOGRAM_STEPS * 59,
};

/* Starts as all zeros. One thread at a time changes it, and others may read it
 * meanwhile. They miss what is being added, in some of its parts perhaps. */
typedef struct load_histogram {
    _Atomic uint64_t count, sum, most;
    _Atomic uint64_t bins[LOAD_HISTOGRAM_BINS];
} load_histogram;

void load_histogram_add(load_histogram *histogram, uint64_t value);
void load_histogram_merge(load_histogram *into, const load_histogram *from);

/* Leaves the values that were added since `before` was the same histogram, and
 * makes `before` what it is now. The largest of them is known as any value is,
 * to the end of its bin. */
void load_histogram_since(load_histogram *now, load_histogram *before);

/* The smallest value that a part (0 to 1) of all values does not exceed,
 * rounded up to the end of its bin, but not beyond the largest value; 0 if
 * there are no values. */
uint64_t load_histogram_quantile(const load_histogram *histogram, double part);

#endif
