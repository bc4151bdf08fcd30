/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The median of measured values, with the least and the most of them.
 */
#ifndef WARPRSA_BENCH_SPREAD_H
#define WARPRSA_BENCH_SPREAD_H

#include <stdlib.h>

typedef struct spread {
    double median, least, most;
} spread;

static inline int spread_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The spread of count >= 1 values; sorts them. */
static inline spread spread_of(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), spread_order);
    return (spread){values[count / 2], values[0], values[count - 1]};
}

#endif
