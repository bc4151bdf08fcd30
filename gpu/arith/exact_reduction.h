/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Exact sums, differences and reductions of numbers over lanes, for each
 * arithmetic of arithmetic.h. These run a few times in an operation, so they
 * are written for column sums alone, which every arithmetic has. B in the
 * comments below is 2^WARPRSA_SAMPLE_BITS.
 */
#ifndef WARPRSA_GPU_ARITH_EXACT_REDUCTION_H
#define WARPRSA_GPU_ARITH_EXACT_REDUCTION_H

#include "gpu/arith/arithmetic.h"
#include "gpu/arith/stage.h"

/* Resolves signed columns s (|column| < 2^62) into samples below B, exactly.
 * `over` gets, in every lane of a number, what is carried out at the number's
 * top; it is negative if the number is. A turn moves each carry one lane up, so
 * that after threads_per_number turns none is left. */
WARPRSA_FN void warprsa_normalise(warprsa_number *r, warprsa_columns *s,
                                  int64_t *over, const int threads_per_number,
                                  const int limbs_per_thread,
                                  const int threads_per_request)
{
    uint64_t in[WARPRSA_LANES_EMULATED], out[WARPRSA_LANES_EMULATED];

    WARPRSA_EACH_LANE (k, threads_per_request) {
        in[k] = 0;
        over[k] = 0;
    }
    WARPRSA_ROLLED
    for (int turn = 0; turn < threads_per_number; turn++) {
        WARPRSA_EACH_LANE (k, threads_per_request) {
            int64_t carry = (int64_t)in[k];

            WARPRSA_UNROLL
            for (int i = 0; i < limbs_per_thread; i++) {
                int64_t x = (int64_t)s->of[k][i] + carry;

                carry = x >> WARPRSA_SAMPLE_BITS;
                s->of[k][i] = (uint64_t)x & WARPRSA_SAMPLE_MASK;
            }
            out[k] = (uint64_t)carry;
        }
        warprsa_rotate(in, out, -1, threads_per_number, threads_per_request);
        warprsa_broadcast(out, out, threads_per_number - 1, threads_per_number,
                          threads_per_request);
        WARPRSA_EACH_LANE (k, threads_per_request) {
            over[k] += (int64_t)out[k];
            if ((warprsa_lane(k, threads_per_request) &
                 (threads_per_number - 1)) == 0)
                in[k] = 0;
        }
    }
    WARPRSA_EACH_LANE (k, threads_per_request) {
        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            r->of[k][i] = warprsa_sample(s->of[k][i]);
    }
}

/* r = a - factor * b, exactly; `over` as in warprsa_normalise(). */
WARPRSA_FN void warprsa_subtract(warprsa_number *r, const warprsa_number *a,
                                 const warprsa_number *b, uint64_t factor,
                                 int64_t *over, const int threads_per_number,
                                 const int limbs_per_thread,
                                 const int threads_per_request)
{
    warprsa_columns s;

    WARPRSA_EACH_LANE (k, threads_per_request) {
        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            s.of[k][i] = (uint64_t)(int64_t)a->of[k][i] -
                         factor * (uint64_t)(int64_t)b->of[k][i];
    }
    warprsa_normalise(r, &s, over, threads_per_number, limbs_per_thread,
                      threads_per_request);
}

/* r = a + factor * b where `over` is negative, else r = a. Both cases take the
 * same time. */
WARPRSA_FN void warprsa_add_if_negative(
    warprsa_number *r, const warprsa_number *a, const warprsa_number *b,
    uint64_t factor, int64_t *over, const int threads_per_number,
    const int limbs_per_thread, const int threads_per_request)
{
    warprsa_columns s;

    WARPRSA_EACH_LANE (k, threads_per_request) {
        uint64_t mask = (uint64_t)(over[k] >> 63);

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            s.of[k][i] = (uint64_t)(int64_t)a->of[k][i] +
                         ((factor * (uint64_t)(int64_t)b->of[k][i]) & mask);
    }
    warprsa_normalise(r, &s, over, threads_per_number, limbs_per_thread,
                      threads_per_request);
}

/* r = a mod P, exactly, for 0 <= a < 4P: subtracts 2P, then P, and adds each
 * back if the difference is negative. In block arithmetic for -2P < a < 4P: 2P
 * is added first where a is negative. */
WARPRSA_FN void warprsa_reduce(warprsa_number *r, const warprsa_number *a,
                               const warprsa_number *p,
                               const int threads_per_number,
                               const int limbs_per_thread,
                               const int threads_per_request)
{
    WARPRSA_STAGE(REDUCTION);
    int64_t over[WARPRSA_LANES_EMULATED];
    warprsa_number less = *a;

#ifdef WARPRSA_BLOCK_ARITH
    warprsa_subtract(&less, &less, p, 0, over, threads_per_number,
                     limbs_per_thread, threads_per_request);
    warprsa_add_if_negative(&less, &less, p, 2, over, threads_per_number,
                            limbs_per_thread, threads_per_request);
#endif
    WARPRSA_ROLLED
    for (uint64_t factor = 2; factor > 0; factor--) {
        warprsa_subtract(&less, &less, p, factor, over, threads_per_number,
                         limbs_per_thread, threads_per_request);
        warprsa_add_if_negative(&less, &less, p, factor, over,
                                threads_per_number, limbs_per_thread,
                                threads_per_request);
    }
    *r = less;
}

/*
 * r = a + b; the sum must be below B^(threads_per_number * limbs_per_thread).
 *
 * In block arithmetic each sample of r is the plain sum of two samples, and r
 * may be negative. Neither a nor b may be such a sum itself. Products and
 * reductions accept such an r: warprsa_make_signed() takes samples of either
 * sign below 2^53.
 */
WARPRSA_FN void warprsa_add(warprsa_number *r, const warprsa_number *a,
                            const warprsa_number *b,
                            const int threads_per_number,
                            const int limbs_per_thread,
                            const int threads_per_request)
{
#ifdef WARPRSA_BLOCK_ARITH
    (void)threads_per_number;
    WARPRSA_EACH_LANE (k, threads_per_request) {
        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            r->of[k][i] = a->of[k][i] + b->of[k][i];
    }
#else
    int64_t over[WARPRSA_LANES_EMULATED];
    warprsa_columns s;

    WARPRSA_EACH_LANE (k, threads_per_request) {
        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            s.of[k][i] = (uint64_t)a->of[k][i] + (uint64_t)b->of[k][i];
    }
    warprsa_normalise(r, &s, over, threads_per_number, limbs_per_thread,
                      threads_per_request);
#endif
}

/* r = choice ? a : b in every lane, without a branch; choice is 0 or 1. */
WARPRSA_FN void warprsa_choose(warprsa_number *r, uint32_t choice,
                               const warprsa_number *a, const warprsa_number *b,
                               const int limbs_per_thread,
                               const int threads_per_request)
{
    uint64_t mask = 0 - (uint64_t)choice;

    WARPRSA_EACH_LANE (k, threads_per_request) {
        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            r->of[k][i] =
                warprsa_from_bits((warprsa_bits(a->of[k][i]) & mask) |
                                  (warprsa_bits(b->of[k][i]) & ~mask));
    }
}

#endif
