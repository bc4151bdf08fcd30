/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the narrow fold (narrow.h) needs around its products: where each lane
 * finds what it computes with, and numbers as Montgomery's arithmetic has them
 * before and after the powers.
 */
#ifndef WARPRSA_GPU_KERNELS_NARROW_FOLD_NARROW_OPERATION_H
#define WARPRSA_GPU_KERNELS_NARROW_FOLD_NARROW_OPERATION_H

#include "gpu/kernels/narrow_fold/narrow_table.h"

/* Stores both halves of a number, or loads them: sample i of half h is at[h *
 * stride + i]. */
WARPRSA_FN void warprsa_narrow_put(double *at, size_t stride,
                                   const warprsa_number *x,
                                   const int threads_per_number,
                                   const int limbs_per_thread)
{
    const int threads_per_request = 2 * threads_per_number;

    WARPRSA_EACH_LANE (k, threads_per_request) {
        const int lane = warprsa_lane(k, threads_per_request);
        const int first = (lane & (threads_per_number - 1)) * limbs_per_thread;
        double *to = at + (lane < threads_per_number ? 0 : stride);

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            if (first + i < WARPRSA_NARROW_LIMBS)
                to[first + i] = x->of[k][i];
    }
}

/* The first stage: x = m r^e mod each prime, not in Montgomery form. It is
 * within 2.01 P of zero, in signed samples: what narrow.h takes. */
WARPRSA_FN void warprsa_narrow_begin(warprsa_number *x,
                                     const warprsa_operation *op,
                                     const int threads_per_number,
                                     const int limbs_per_thread)
{
    const int threads_per_request = 2 * threads_per_number;
    warprsa_modulus p = {0};
    warprsa_number one = {0};

    warprsa_blind(x, &one, &p, op, WARPRSA_NARROW_LIMBS, threads_per_number,
                  limbs_per_thread);
    warprsa_set_one(&one, threads_per_number, limbs_per_thread,
                    threads_per_request);
    warprsa_mont_mul(x, x, &one, &p, WARPRSA_NARROW_LIMBS, threads_per_number,
                     limbs_per_thread, threads_per_request);
}

/* After the second stage: loads x, a result of narrow.h, and brings it into
 * Montgomery form. |x| < R, so that the product with R^2 mod P is within the
 * bounds of unreduced input. */
WARPRSA_FN void warprsa_narrow_end(warprsa_number *x, const double *at,
                                   size_t stride, const warprsa_operation *op,
                                   const int threads_per_number,
                                   const int limbs_per_thread)
{
    const int threads_per_request = 2 * threads_per_number;
    const warprsa_operation_half *half = op->key->half;
    warprsa_modulus p = {0};
    warprsa_number r2 = {0};

    warprsa_use_primes(&p, op, &half[0], &half[1], WARPRSA_NARROW_LIMBS,
                       threads_per_number, limbs_per_thread,
                       threads_per_request);
    warprsa_load(&r2, half[0].r2, half[1].r2, WARPRSA_NARROW_LIMBS,
                 threads_per_number, limbs_per_thread, threads_per_request);
    warprsa_load(x, at, at + stride, WARPRSA_NARROW_LIMBS, threads_per_number,
                 limbs_per_thread, threads_per_request);
    warprsa_mont_mul(x, x, &r2, &p, WARPRSA_NARROW_LIMBS, threads_per_number,
                     limbs_per_thread, threads_per_request);
}

/* The first round's pair of upper columns for a lane's pair k, 10 to 19. */
WARPRSA_FN warprsa_narrow_address
warprsa_narrow_upper(warprsa_narrow_address shared, int number, int k)
{
    return WARPRSA_NARROW_ROUNDS > 1 || k < 18
               ? shared + WARPRSA_NARROW_UPPER +
                     number * WARPRSA_NARROW_UPPER_STRIDE +
                     16 * (warprsa_narrow_pair(k, 0) - WARPRSA_NARROW_LIMBS / 2)
               : shared + WARPRSA_NARROW_LAST +
                     number * WARPRSA_NARROW_LAST_STRIDE + 16 * (k - 18);
}

/* Where lane `lane` of number `number` finds its factors, parts of columns, and
 * what it writes. */
WARPRSA_FN void
warprsa_narrow_set_addresses(warprsa_narrow_lane *me,
                             warprsa_narrow_address shared, int number,
                             const warprsa_narrow_lane_places *places)
{
    const warprsa_narrow_address own = shared + number * WARPRSA_NARROW_STRIDE;
    const int left = 16 * places->left, right = 16 * places->right;
    const int pair = places->pair;

    me->left = own + left;
    me->right = own + right;
    me->left_again =
        own + (left == right ? (int)WARPRSA_NARROW_A_ZEROS : right);
    WARPRSA_UNROLL
    for (int i = 0; i < 5; i++)
        me->parts[i] = own + WARPRSA_NARROW_PARTS + places->part[i];
    me->upper_first =
        me->low ? shared : warprsa_narrow_upper(shared, number, places->first);
    me->upper_second =
        me->top ? warprsa_narrow_upper(shared, number, WARPRSA_NARROW_TOP + 10)
        : me->second ? warprsa_narrow_upper(shared, number, places->second)
                     : shared;
    me->words = shared + WARPRSA_NARROW_WORDS +
                number * WARPRSA_NARROW_WORDS_STRIDE +
                warprsa_narrow_place_in_row(pair);
    me->number = own + warprsa_narrow_pair_at(warprsa_narrow_pair(pair, 0));
}

#if WARPRSA_NARROW_LIMBS == 30
/* Stores what the columns of a lane's pairs start from in shared memory, which
 * has been cleared. */
WARPRSA_FN void warprsa_narrow_store_starts(const warprsa_narrow_lane *me,
                                            int lane,
                                            const warprsa_narrow_key *key)
{
    static const warprsa_narrow_lane_places all[] = WARPRSA_NARROW_LANE_PLACES;
    const int first = all[lane].first;
    const int second = all[lane].second < 0 ? 19 : all[lane].second;

    WARPRSA_UNROLL
    for (int i = 0; i < 2 * WARPRSA_NARROW_ROUNDS; i++) {
        const int at = 2 * warprsa_narrow_pair(first, i / 2) + i % 2;
        const int also = 2 * warprsa_narrow_pair(second, i / 2) + i % 2;
        const warprsa_narrow_address to =
            warprsa_narrow_starts_at(me, i / 2) + 8 * (i % 2);

        warprsa_narrow_store_one(to, warprsa_narrow_start(key, at));
        warprsa_narrow_store_one(to + WARPRSA_NARROW_STARTS_ROW,
                                 warprsa_narrow_start(key, also));
    }
}
#endif

/* Sets up lane `lane` of number `number` of a block, but for starts in shared
 * memory. */
WARPRSA_FN void warprsa_narrow_set_lane(warprsa_narrow_lane *me,
                                        warprsa_narrow_address shared,
                                        int number, int lane,
                                        const warprsa_narrow_key *key)
{
    static const warprsa_narrow_lane_places all[] = WARPRSA_NARROW_LANE_PLACES;
    const warprsa_narrow_lane_places places = all[lane];
    const int second = places.second < 0 ? 19 : places.second;

    me->low = places.first < 10;
    me->lowest = places.first == 0;
    me->top = places.first == WARPRSA_NARROW_TOP;
    me->second = places.second >= 0;
    warprsa_narrow_set_addresses(me, shared, number, &places);
    me->part = shared + number * WARPRSA_NARROW_STRIDE + WARPRSA_NARROW_PARTS +
               16 * lane;
#if WARPRSA_NARROW_LIMBS != 30
    WARPRSA_UNROLL
    for (int i = 0; i < 2 * WARPRSA_NARROW_ROUNDS; i++) {
        const int at = 2 * warprsa_narrow_pair(places.first, i / 2) + i % 2;
        const int also = 2 * warprsa_narrow_pair(second, i / 2) + i % 2;

        me->start[i / 2][i % 2] = warprsa_narrow_start(key, at);
        me->second_start[i / 2][i % 2] =
            (uint32_t)(warprsa_narrow_start(key, also) >> 32);
    }
#endif
    me->fourth = second == 16 || second == 17 ? 0 : 0xFFFFFFFFu;
    me->top_mask = me->top ? 0xFFFu : 0xFFFFFFFFu;
    me->square = places.left == places.right;
    me->half = (uint32_t)(warprsa_bits(me->top ? WARPRSA_NARROW_HALF - 0x1p51
                                               : WARPRSA_NARROW_HALF) >>
                          32);
    me->carry_from = places.carry_from;
#if WARPRSA_NARROW_LIMBS == 30
    (void)key;
#endif
#if WARPRSA_NARROW_LIMBS > 20
    me->odd = places.first % 2 != 0;
    me->other_carry_from = me->carry_from;
    if (!me->odd)
        for (int i = 0; i < WARPRSA_NARROW_LANES; i++)
            if (all[i].first == places.first + 1)
                me->other_carry_from = i;
#endif
#if WARPRSA_NARROW_LIMBS == 30
    if (!me->odd) /* the lane with the last pair of the block below */
        me->carry_from = all[me->carry_from].carry_from;
#endif
}

#endif
