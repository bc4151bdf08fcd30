/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What assertions (bound.h) ask of numbers over lanes. Numbers are computed as
 * long doubles, which hold 2^8320, to a part of 2^60: bounds in multiples of P
 * leave more than that.
 */
#ifndef WARPRSA_GPU_ARITH_NUMBER_BOUND_H
#define WARPRSA_GPU_ARITH_NUMBER_BOUND_H

#ifdef WARPRSA_VERIFIES

#include <math.h>

/* A number of each subgroup of a request. */
typedef struct warprsa_values {
    long double of[WARPRSA_LANES_EMULATED];
} warprsa_values;

static inline long double warprsa_power_of_two(int bits)
{
    return ldexpl(1, bits);
}

static inline warprsa_values warprsa_values_of(const warprsa_number *x,
                                               int threads_per_number,
                                               int limbs_per_thread,
                                               int threads_per_request)
{
    const long double base = (long double)WARPRSA_SAMPLE_MASK + 1;
    warprsa_values values = {{0}};

    for (int k = threads_per_request - 1; k >= 0; k--) {
        const int number = k / threads_per_number;

        for (int i = limbs_per_thread - 1; i >= 0; i--)
            values.of[number] = values.of[number] * base + x->of[k][i];
    }
    return values;
}

/* a b / R */
static inline warprsa_values
warprsa_products_of(const warprsa_number *a, const warprsa_number *b, int limbs,
                    int threads_per_number, int limbs_per_thread,
                    int threads_per_request)
{
    const long double r = warprsa_power_of_two(WARPRSA_SAMPLE_BITS * limbs);
    const warprsa_values x = warprsa_values_of(
        a, threads_per_number, limbs_per_thread, threads_per_request);
    warprsa_values values = warprsa_values_of(
        b, threads_per_number, limbs_per_thread, threads_per_request);

    for (int i = 0; i < threads_per_request / threads_per_number; i++)
        values.of[i] = values.of[i] / r * x.of[i];
    return values;
}

/* Whether r is in [0, more + times P), and 32P < R, as nearly as long doubles
 * tell. */
static inline int warprsa_are_below(const warprsa_number *r,
                                    const warprsa_values *more,
                                    long double times, const warprsa_number *p,
                                    int limbs, int threads_per_number,
                                    int limbs_per_thread,
                                    int threads_per_request)
{
    const warprsa_values a = warprsa_values_of(
        r, threads_per_number, limbs_per_thread, threads_per_request);
    const warprsa_values b = warprsa_values_of(
        p, threads_per_number, limbs_per_thread, threads_per_request);

    for (int i = 0; i < threads_per_request / threads_per_number; i++)
        if (!(a.of[i] >= 0 &&
              a.of[i] < (more != NULL ? more->of[i] : 0) +
                            (times + 0x1p-40L) * b.of[i] &&
              32 * b.of[i] <=
                  warprsa_power_of_two(WARPRSA_SAMPLE_BITS * limbs)))
            return 0;
    return 1;
}

/* Whether r < p, exactly, of samples that are all in [0, B). */
static inline int warprsa_are_reduced(const warprsa_number *r,
                                      const warprsa_number *p,
                                      int threads_per_number,
                                      int limbs_per_thread,
                                      int threads_per_request)
{
    for (int k = 0; k < threads_per_request; k += threads_per_number) {
        int below = 0;

        for (int i = 0; i < threads_per_number * limbs_per_thread; i++) {
            const int lane = k + i / limbs_per_thread;
            const int at = i % limbs_per_thread;

            if (r->of[lane][at] != p->of[lane][at])
                below = r->of[lane][at] < p->of[lane][at];
        }
        if (!below)
            return 0;
    }
    return 1;
}

/* Whether what leaves each number's top is `least` or more, `most` or less. */
static inline int warprsa_all_over(const int64_t *over, int64_t least,
                                   int64_t most, int threads_per_request)
{
    for (int k = 0; k < threads_per_request; k++)
        if (over[k] < least || over[k] > most)
            return 0;
    return 1;
}

#endif
#endif
