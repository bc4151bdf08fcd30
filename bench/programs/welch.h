/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Welch's t of two kinds of measured times, as in Reparaz, Balasch,
 * Verbauwhede, "Dude, is my code constant time?" (DATE 2017), with their limit.
 */
#ifndef WARPRSA_BENCH_WELCH_H
#define WARPRSA_BENCH_WELCH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "bench/programs/spread.h"

enum {
    /* The slowest tenth of all times is left out, because other work on the
     * machine slowed them down. */
    WELCH_CROP_PERCENT = 90,
};

typedef struct moments {
    double count, mean;
    double squares; /* of the differences from the mean, added up */
} moments;

/* Welford's recurrence. */
static inline void moments_add(moments *m, double x)
{
    double off = x - m->mean;

    m->count++;
    m->mean += off / m->count;
    m->squares += off * (x - m->mean);
}

/* The moments of each kind: time i, of `count`, is of kind[i]. `scratch` has
 * room for as many times. */
static inline void moments_of_kinds(moments *of, const double *times,
                                    const uint8_t *kind, double *scratch,
                                    size_t count)
{
    double crop;

    memcpy(scratch, times, count * sizeof(*times));
    spread_of(scratch, count);
    crop = scratch[count * WELCH_CROP_PERCENT / 100];
    for (size_t i = 0; i < count; i++)
        if (times[i] <= crop)
            moments_add(&of[kind[i]], times[i]);
}

static inline double welch_t(const moments *a, const moments *b)
{
    double va = a->squares / (a->count - 1) / a->count;
    double vb = b->squares / (b->count - 1) / b->count;

    return va + vb > 0 ? (a->mean - b->mean) / sqrt(va + vb) : 0;
}

/* Whether no difference is seen. */
static inline bool welch_passes(double t)
{
    return fabs(t) < 4.5;
}

#endif
