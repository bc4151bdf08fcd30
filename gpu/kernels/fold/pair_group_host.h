/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The host's part of pair_operation.h, as group_host.h is of fold_operation.h.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_PAIR_GROUP_HOST_H
#define WARPRSA_GPU_KERNELS_FOLD_PAIR_GROUP_HOST_H

#include "gpu/kernels/fold/pair.h"

static inline const double *warprsa_fold_pair_prime(const warprsa_fold_group *g)
{
    return g->operations[0].key->half[g->prime].modulus;
}

static inline const uint32_t *
warprsa_fold_pair_exponent(const warprsa_fold_group *g, int k)
{
    return g->operations[k % WARPRSA_FOLD_GROUP].exponent +
           g->prime * WARPRSA_BLINDED_WORDS;
}

static inline warprsa_fold_pair_smem_stash
warprsa_fold_pair_own_stash(const warprsa_fold_group *g)
{
    warprsa_fold_pair_smem_stash stash = {{{{0}}}};

    (void)g;
    return stash;
}

/* Joins the digits of all samples of a part. *over comes from the part
 * below. */
static inline void warprsa_fold_pair_joined(uint64_t *x,
                                            const warprsa_fold_group *g,
                                            const uint64_t *upper, int part,
                                            uint32_t *over)
{
    const int limbs = WARPRSA_FOLD_PAIR_LIMBS;

    for (int i = 0; i < WARPRSA_FOLD_PART_LIMBS; i++) {
        uint32_t d[WARPRSA_FOLD_DIGITS];

        warprsa_fold_digit_sums(d, g->matrix[g->prime], upper,
                                part * WARPRSA_FOLD_PART_LIMBS + i, limbs);
        x[i] = warprsa_fold_join(d, over, limbs);
    }
}

static inline void warprsa_fold_pair_fold(warprsa_fold_number *a,
                                          const warprsa_fold_group *g,
                                          warprsa_fold_columns *s,
                                          const warprsa_fold_table_work *work,
                                          uint32_t *digit)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS, each = 5;
    uint32_t carry[WARPRSA_MESSAGES] = {0}, over[WARPRSA_FOLD_GROUP] = {0};

    warprsa_fold_pair_top(s);
    for (int k = 0; k < WARPRSA_MESSAGES; k++) {
        const int message = k % WARPRSA_FOLD_GROUP;
        uint64_t upper[WARPRSA_FOLD_PAIR_LIMBS], x[WARPRSA_FOLD_PART_LIMBS];

        if (work->select >= 0)
            warprsa_fold_pair_select_pieces(&g->memory, work->select, digit[k],
                                            k);
        for (int i = 0; i < part_limbs; i++) {
            upper[i] = s->of[message][part_limbs + i];
            upper[part_limbs + i] =
                s->of[message + WARPRSA_FOLD_GROUP][part_limbs + i];
        }
        WARPRSA_BOUND("The fold: no Montgomery form: The sum of the bytes",
                      warprsa_fold_bytes_hold(upper, WARPRSA_FOLD_PAIR_LIMBS));
        warprsa_fold_pair_joined(x, g, upper, warprsa_fold_part(k),
                                 &over[message]);
        for (int i = 0; i < part_limbs; i += each)
            warprsa_fold_carry(a->of[k] + i, x + i, s->of[k] + i, each,
                               &carry[k]);
        if (work->fetch >= 0)
            warprsa_fold_fetch(g, work->fetch, k, part_limbs);
        if (work->digit >= 0)
            digit[k] = warprsa_fold_digit(warprsa_fold_pair_exponent(g, k),
                                          work->digit);
    }
    warprsa_fold_pair_carry(a, carry);
    WARPRSA_VERIFY_ONLY(for (int k = 0; k < WARPRSA_MESSAGES; k++))
    WARPRSA_BOUND("A number in two threads",
                  warprsa_fold_part_holds(a->of[k], warprsa_fold_part(k)) &&
                      over[k % WARPRSA_FOLD_GROUP] == 0 &&
                      (warprsa_fold_part(k) == 0 || carry[k] == 0));
}

#endif
