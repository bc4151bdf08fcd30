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

/* M, by which a lane's lowest column is lowered so that what enters it is never
 * negative. */
#define WARPRSA_LANE_OFFSET (1ull << (63 - WARPRSA_SAMPLE_BITS))

/* Resolves the columns of each lane for itself: samples below B, and the carry
 * out of the lane's last column. */
WARPRSA_FN void warprsa_resolve_lanes(warprsa_columns *s, int64_t *carry,
                                      const int limbs_per_thread,
                                      const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        carry[k] = 0;
        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++) {
            int64_t x = (int64_t)s->of[k][i] + carry[k];

            carry[k] = x >> WARPRSA_SAMPLE_BITS;
            s->of[k][i] = (uint64_t)x & WARPRSA_SAMPLE_MASK;
        }
    }
}

/*
 * Passes the carries of lanes that have been resolved, which have begun M below
 * what they stand for, except for a number's lowest lane. `over` is each lane's
 * carry, and then what leaves the number's top.
 *
 * What enters a lane, the carry from below and M, is in [0, B): a carry is at
 * most 2^62 / B + 1 in absolute value, and M is twice 2^62 / B. So when it has
 * been added, a lane passes on 0 or 1, and lookahead finds where these end
 * (warprsa_carry_in()). A lane that passes on 1 is left with at most B - 2 in
 * its lowest sample: it is not full.
 */
WARPRSA_FN void warprsa_pass_lane_carries(warprsa_columns *s, int64_t *over,
                                          const int threads_per_number,
                                          const int limbs_per_thread,
                                          const int threads_per_request)
{
    uint64_t passed[WARPRSA_LANES_EMULATED];
    int64_t carry[WARPRSA_LANES_EMULATED];
    uint32_t made[WARPRSA_LANES_EMULATED], full[WARPRSA_LANES_EMULATED],
        in[WARPRSA_LANES_EMULATED];

    WARPRSA_EACH_LANE (k, threads_per_request) {
        passed[k] = (uint64_t)over[k] + WARPRSA_LANE_OFFSET;
        WARPRSA_BOUND("Exact carries",
                      warprsa_lane_in_number(k, threads_per_number,
                                             threads_per_request) ==
                              threads_per_number - 1 ||
                          passed[k] <= WARPRSA_SAMPLE_MASK);
    }
    warprsa_rotate(passed, passed, -1, threads_per_number, threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        if (warprsa_lane_in_number(k, threads_per_number,
                                   threads_per_request) != 0)
            s->of[k][0] += passed[k];
    }
    warprsa_resolve_lanes(s, carry, limbs_per_thread, threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        made[k] = (uint32_t)carry[k];
        full[k] = 1;
        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            full[k] &= s->of[k][i] == WARPRSA_SAMPLE_MASK;
        WARPRSA_BOUND(
            "Exact carries",
            (carry[k] == 0 || carry[k] == 1) &&
                (carry[k] == 0 || s->of[k][0] <= WARPRSA_SAMPLE_MASK - 1));
    }
    warprsa_carry_in(in, made, full, threads_per_number, threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        over[k] += (int64_t)(made[k] | (full[k] & in[k]));
        s->of[k][0] += in[k];
    }
    warprsa_resolve_lanes(s, carry, limbs_per_thread, threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        WARPRSA_BOUND("Exact carries", carry[k] == (int64_t)(full[k] & in[k]));
        passed[k] = (uint64_t)over[k];
    }
    warprsa_broadcast(passed, passed, threads_per_number - 1,
                      threads_per_number, threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        over[k] = (int64_t)passed[k];
    }
}

/* Resolves signed columns s (|column| < 2^62) into samples below B, exactly.
 * `over` gets, in every lane of a number, what is carried out at the number's
 * top; it is negative if the number is. */
WARPRSA_FN void warprsa_normalise(warprsa_number *r, warprsa_columns *s,
                                  int64_t *over, const int threads_per_number,
                                  const int limbs_per_thread,
                                  const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        WARPRSA_VERIFY_ONLY(for (int i = 0; i < limbs_per_thread; i++))
        WARPRSA_BOUND("Exact carries",
                      warprsa_is_within(s->of[k][i], (1ull << 62) - 1));
        if (warprsa_lane_in_number(k, threads_per_number,
                                   threads_per_request) != 0)
            s->of[k][0] -= WARPRSA_LANE_OFFSET;
    }
    warprsa_resolve_lanes(s, over, limbs_per_thread, threads_per_request);
    if (threads_per_number > 1)
        warprsa_pass_lane_carries(s, over, threads_per_number, limbs_per_thread,
                                  threads_per_request);
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

/* r -= factor P where that leaves no negative number. Both cases take the same
 * time. */
WARPRSA_FN void warprsa_take_off(warprsa_number *r, const warprsa_number *p,
                                 uint64_t factor, const int threads_per_number,
                                 const int limbs_per_thread,
                                 const int threads_per_request)
{
    int64_t over[WARPRSA_LANES_EMULATED];
    warprsa_number less;

    warprsa_subtract(&less, r, p, factor, over, threads_per_number,
                     limbs_per_thread, threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        const uint64_t mask = (uint64_t)(over[k] >> 63);

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            r->of[k][i] =
                warprsa_from_bits((warprsa_bits(r->of[k][i]) & mask) |
                                  (warprsa_bits(less.of[k][i]) & ~mask));
    }
}

/* r = a mod P, exactly, for 0 <= a < 4P, in block arithmetic for -2P < a < 4P:
 * adds 2P if a is negative; then takes off 2P, and P, where that leaves no
 * negative number. */
WARPRSA_FN void warprsa_reduce(warprsa_number *r, const warprsa_number *a,
                               const warprsa_number *p,
                               const int threads_per_number,
                               const int limbs_per_thread,
                               const int threads_per_request)
{
    WARPRSA_STAGE(REDUCTION);
    int64_t over[WARPRSA_LANES_EMULATED];

    warprsa_subtract(r, a, p, 0, over, threads_per_number, limbs_per_thread,
                     threads_per_request);
#ifdef WARPRSA_BLOCK_ARITH
    WARPRSA_BOUND("Blocks of rows: Bounds",
                  warprsa_all_over(over, -1, 0, threads_per_request));
    warprsa_add_if_negative(r, r, p, 2, over, threads_per_number,
                            limbs_per_thread, threads_per_request);
#else
    WARPRSA_BOUND("Exact carries",
                  warprsa_all_over(over, 0, 0, threads_per_request));
#endif
    WARPRSA_ROLLED
    for (uint64_t factor = 2; factor > 0; factor--)
        warprsa_take_off(r, p, factor, threads_per_number, limbs_per_thread,
                         threads_per_request);
    WARPRSA_BOUND("Exact carries",
                  warprsa_are_reduced(r, p, threads_per_number,
                                      limbs_per_thread, threads_per_request));
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
    WARPRSA_BOUND("Exact carries",
                  warprsa_all_over(over, 0, 0, threads_per_request));
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
