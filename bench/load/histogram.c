/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The bins of a histogram and its quantiles.
 */
#include "bench/load/histogram.h"

#include <math.h>

enum {
    STEP_BITS = 6,
};

/* Values of STEP_BITS + 1 + octave bits share their octave; its bins are the
 * STEP_BITS bits after the leading one. */
static unsigned bin_of(uint64_t value)
{
    unsigned octave = 0;

    if (value < LOAD_HISTOGRAM_STEPS)
        return (unsigned)value;
    octave = 63 - (unsigned)__builtin_clzll(value) - STEP_BITS;
    return (octave + 1) * LOAD_HISTOGRAM_STEPS +
           (unsigned)(value >> octave) % LOAD_HISTOGRAM_STEPS;
}

static uint64_t end_of(unsigned bin)
{
    unsigned octave = 0;

    if (bin < LOAD_HISTOGRAM_STEPS)
        return bin;
    octave = bin / LOAD_HISTOGRAM_STEPS - 1;
    return ((uint64_t)(LOAD_HISTOGRAM_STEPS + bin % LOAD_HISTOGRAM_STEPS)
            << octave) +
           (UINT64_C(1) << octave) - 1;
}

void load_histogram_add(load_histogram *histogram, uint64_t value)
{
    histogram->bins[bin_of(value)]++;
    histogram->count++;
    histogram->sum += value;
    if (value > histogram->most)
        histogram->most = value;
}

void load_histogram_merge(load_histogram *into, const load_histogram *from)
{
    for (unsigned i = 0; i < LOAD_HISTOGRAM_BINS; i++)
        into->bins[i] += from->bins[i];
    into->count += from->count;
    into->sum += from->sum;
    if (from->most > into->most)
        into->most = from->most;
}

uint64_t load_histogram_quantile(const load_histogram *histogram, double part)
{
    uint64_t wanted = (uint64_t)ceil(part * (double)histogram->count);
    uint64_t seen = 0;

    if (histogram->count == 0)
        return 0;
    for (unsigned i = 0; i < LOAD_HISTOGRAM_BINS; i++) {
        seen += histogram->bins[i];
        if (seen >= wanted && seen > 0)
            return end_of(i) < histogram->most ? end_of(i) : histogram->most;
    }
    return histogram->most;
}
