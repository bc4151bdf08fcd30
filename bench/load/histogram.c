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

static uint64_t get(const _Atomic uint64_t *from)
{
    return atomic_load_explicit(from, memory_order_relaxed);
}

static void set(_Atomic uint64_t *to, uint64_t value)
{
    atomic_store_explicit(to, value, memory_order_relaxed);
}

/* Not in one step: one thread alone changes a histogram. */
static void add(_Atomic uint64_t *to, uint64_t value)
{
    set(to, get(to) + value);
}

static void raise(_Atomic uint64_t *most, uint64_t value)
{
    if (value > get(most))
        set(most, value);
}

void load_histogram_add(load_histogram *histogram, uint64_t value)
{
    add(&histogram->bins[bin_of(value)], 1);
    add(&histogram->count, 1);
    add(&histogram->sum, value);
    raise(&histogram->most, value);
}

void load_histogram_merge(load_histogram *into, const load_histogram *from)
{
    for (unsigned i = 0; i < LOAD_HISTOGRAM_BINS; i++)
        add(&into->bins[i], get(&from->bins[i]));
    add(&into->count, get(&from->count));
    add(&into->sum, get(&from->sum));
    raise(&into->most, get(&from->most));
}

/* Leaves the difference in *now, and what *now was in *before. */
static uint64_t leave_difference(_Atomic uint64_t *now,
                                 _Atomic uint64_t *before)
{
    const uint64_t was = get(now);

    set(now, was - get(before));
    set(before, was);
    return get(now);
}

void load_histogram_since(load_histogram *now, load_histogram *before)
{
    uint64_t count = 0, most = 0;

    for (unsigned i = 0; i < LOAD_HISTOGRAM_BINS; i++) {
        const uint64_t added =
            leave_difference(&now->bins[i], &before->bins[i]);

        count += added;
        most = added > 0 ? end_of(i) : most;
    }
    leave_difference(&now->sum, &before->sum);
    set(&before->count, get(&now->count));
    set(&before->most, get(&now->most));
    set(&now->count, count);
    if (most < get(&now->most))
        set(&now->most, most);
}

uint64_t load_histogram_quantile(const load_histogram *histogram, double part)
{
    const uint64_t most = get(&histogram->most);
    uint64_t wanted = (uint64_t)ceil(part * (double)get(&histogram->count));
    uint64_t seen = 0;

    if (get(&histogram->count) == 0)
        return 0;
    for (unsigned i = 0; i < LOAD_HISTOGRAM_BINS; i++) {
        seen += get(&histogram->bins[i]);
        if (seen >= wanted && seen > 0)
            return end_of(i) < most ? end_of(i) : most;
    }
    return most;
}
