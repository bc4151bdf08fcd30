/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Exact sums, differences and reductions of numbers over lanes, in samples of
 * whichever arithmetic is in use: B below is 2^WARPRSA_SAMPLE_BITS. These run a
 * few times in an operation, so they count on nothing but column sums.
 */
#ifndef WARPRSA_GPU_ARITH_EXACT_REDUCTION_H
#define WARPRSA_GPU_ARITH_EXACT_REDUCTION_H

#include "gpu/arith/arithmetic.h"
#include "gpu/arith/stage.h"

/*
 * Signed columns (|c| < 2^62) to samples below B, exactly. `over` gets,
 * in every lane of a number, what is carried out at its top (negative for a
 * negative number). A carry moves one lane up per turn, so after `width`
 * turns none is left.
 */
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

/* r = a + factor * b where `over` is negative, else a; in the same time. */
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

/* r = a mod P, exactly, for a < 4P: less 2P, less P, and each back again if
 * that was too much. With blocks, for a > -2P. */
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

/* r = a + b, samples below B; the sum must be below B^(width L). With blocks
 * its samples are the sums of a's and b's, of which neither is itself a sum:
 * what takes such numbers there, takes them so, and the sum may be negative. */
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
