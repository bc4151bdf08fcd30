/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of numbers of 20 or 30 samples, each shared by two threads (pair.h,
 * which includes this file). With h samples to a part and X = 2^52,
 *
 *     A B = Al Bl + X^h (Al Bh + Ah Bl) + X^2h Ah Bh.
 *
 * Part 0 makes Al Bl and Al Bh, part 1 makes Ah Bh and Ah Bl: 2 h^2 products of
 * samples. In a squaring the middle is 2 C with C = Al Ah. With Al = u0 + X^q
 * v0 and Ah = u1 + X^q v1, where q = h / 2 is rounded up and v has a zero on
 * top if it must,
 *
 *     C = u0 u1 + X^q (u0 v1 + u1 v0) + X^2q v0 v1,
 *
 * part t makes ut v(1-t), and besides part 0 makes v0 v1 and part 1 u0 u1.
 *
 * Bounds. There is no difference, so no column is negative, and column c is at
 * most n(c) + n(c - 1) < 2 N times 2^52, less than fold.h allows. The bias and
 * its byte are put there as multiply.h says, for the sake of one fold for all.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_PAIR_SHORT_H
#define WARPRSA_GPU_KERNELS_FOLD_PAIR_SHORT_H

/* Whether both products of a multiplication are made by one code, in two
 * rounds. With 30 samples that spills. */
#define WARPRSA_FOLD_PAIR_ROUNDS (WARPRSA_FOLD_PAIR_LIMBS == 20)

enum {
    WARPRSA_FOLD_HALF_PART = (WARPRSA_FOLD_PART_LIMBS + 1) / 2, /* q */
};

/* The columns that a part makes of the middle. */
typedef struct warprsa_fold_middle {
    uint64_t of[WARPRSA_MESSAGES][4 * WARPRSA_FOLD_HALF_PART];
} warprsa_fold_middle;

/* The samples of the other part. */
WARPRSA_FN void warprsa_fold_pair_other(warprsa_fold_number *other,
                                        const warprsa_fold_number *own)
{
    warprsa_fold_part_columns give, got;

    WARPRSA_EACH_MESSAGE(k)
    {
        WARPRSA_UNROLL
        for (int i = 0; i < WARPRSA_FOLD_PART_LIMBS; i++)
            give.of[k][i] = warprsa_bits(own->of[k][i]);
    }
    warprsa_fold_swap(&got, &give, WARPRSA_FOLD_PART_LIMBS);
    WARPRSA_EACH_MESSAGE(k)
    {
        WARPRSA_UNROLL
        for (int i = 0; i < WARPRSA_FOLD_PART_LIMBS; i++)
            other->of[k][i] = warprsa_from_bits(got.of[k][i]);
    }
}

/* x in part 0, y in part 1. */
WARPRSA_FN uint64_t warprsa_fold_by_part(uint64_t x, uint64_t y, uint64_t upper)
{
    return (x & ~upper) | (y & upper);
}

/* The columns of the result, from s, which has the own product of a part, and
 * from what the parts have made of the middle. */
WARPRSA_FN void warprsa_fold_pair_join(warprsa_fold_columns *s,
                                       const warprsa_fold_middle *middle)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;
    warprsa_fold_part_columns give, got;

    WARPRSA_EACH_MESSAGE(k)
    {
        const uint64_t upper = warprsa_fold_upper_mask(k);
        const uint64_t *c = middle->of[k];

        WARPRSA_UNROLL
        for (int j = 0; j < part_limbs; j++)
            give.of[k][j] =
                warprsa_fold_by_part(s->of[k][part_limbs + j], s->of[k][j],
                                     upper) +
                warprsa_fold_by_part(c[j], c[part_limbs + j], upper);
    }
    warprsa_fold_swap(&got, &give, part_limbs);
    WARPRSA_EACH_MESSAGE(k)
    {
        const uint64_t upper = warprsa_fold_upper_mask(k);
        const uint64_t *c = middle->of[k];

        WARPRSA_UNROLL
        for (int j = 0; j < part_limbs; j++) {
            const uint64_t both =
                got.of[k][j] +
                warprsa_fold_by_part(c[part_limbs + j], c[j], upper);
            const uint64_t high = s->of[k][part_limbs + j];

            s->of[k][j] = warprsa_fold_by_part(s->of[k][j], both, upper);
            s->of[k][part_limbs + j] = warprsa_fold_by_part(both, high, upper);
        }
        s->of[k][part_limbs] += WARPRSA_FOLD_BIAS & upper;
        s->of[k][2 * part_limbs - 2] += ((uint64_t)1 << 56) & upper;
    }
}

/* s = columns of a * b by a part, c = columns of a * other. */
WARPRSA_FN void
warprsa_fold_pair_two_products(uint64_t *s, uint64_t *c, const double *a,
                               const double *b, const double *other,
                               const warprsa_fold_smem_stash *stash)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;

    WARPRSA_UNROLL
    for (int i = 0; i < 2 * part_limbs; i++)
        s[i] = c[i] = 0;
#if WARPRSA_FOLD_PAIR_ROUNDS
    double factor[WARPRSA_FOLD_PART_LIMBS];

    (void)stash;
    WARPRSA_UNROLL
    for (int i = 0; i < part_limbs; i++)
        factor[i] = other[i];
    WARPRSA_ROLLED
    for (int round = 0; round < 2; round++) {
        WARPRSA_UNROLL
        for (int i = 0; i < 2 * part_limbs; i++) {
            c[i] = s[i];
            s[i] = 0;
        }
        warprsa_fold_add_mul(s, a, factor, WARPRSA_FOLD_UNSIGNED_BASE, 1, 0,
                             part_limbs);
        WARPRSA_UNROLL
        for (int i = 0; i < part_limbs; i++)
            factor[i] = b[i];
    }
#else
    warprsa_fold_add_mul(s, a, b, WARPRSA_FOLD_UNSIGNED_BASE, 1, 0, part_limbs);
    warprsa_fold_schedule_barrier(stash);
    warprsa_fold_add_mul(c, a, other, WARPRSA_FOLD_UNSIGNED_BASE, 1, 0,
                         part_limbs);
    warprsa_fold_schedule_barrier(stash);
#endif
}

/* s = columns of a * b. */
WARPRSA_FN void warprsa_fold_pair_mul(warprsa_fold_columns *s,
                                      const warprsa_fold_number *a,
                                      const warprsa_fold_number *b,
                                      warprsa_fold_pair_smem_stash *stash)
{
    warprsa_fold_middle middle;
    warprsa_fold_number other;

    warprsa_fold_pair_other(&other, b);
    WARPRSA_EACH_MESSAGE(k)
    {
        warprsa_fold_pair_two_products(s->of[k], middle.of[k], a->of[k],
                                       b->of[k], other.of[k], &stash->of[k]);
    }
    warprsa_fold_pair_join(s, &middle);
}

/* How many products of m samples with n others have their low half in a
 * column. */
WARPRSA_FN int warprsa_fold_pair_low_halves(int column, const int m,
                                            const int n)
{
    const int least = m < n ? m : n, left = m + n - 1 - column;
    const int most = column + 1 < left ? column + 1 : left;

    return most < 0 ? 0 : most < least ? most : least;
}

/* s[0..m + n) += columns of a * b, of m and of n samples. */
WARPRSA_FN void warprsa_fold_pair_add_uneven(uint64_t *s, const double *a,
                                             const double *b, const int m,
                                             const int n)
{
    const double base = WARPRSA_FOLD_UNSIGNED_BASE;
    warprsa_fold_waiting w = {{0}, {0}};

    WARPRSA_UNROLL
    for (int c = 0; c < m + n; c++)
        s[c] += warprsa_fold_start_value(
            warprsa_fold_pair_low_halves(c - 1, m, n),
            warprsa_fold_pair_low_halves(c, m, n), base);
    WARPRSA_UNROLL
    for (int i = 0; i < n; i++)
        warprsa_fold_add_row(s, &w, i, b[i], a, 0, m, base, 0, m);
}

/* What a part makes of C in a squaring, from its samples and the other's. */
WARPRSA_FN void warprsa_fold_pair_cross(uint64_t *c, const double *a,
                                        const double *other, uint64_t upper)
{
    const int half_part = WARPRSA_FOLD_HALF_PART,
              part_limbs = WARPRSA_FOLD_PART_LIMBS;
    uint64_t cross[2 * WARPRSA_FOLD_HALF_PART] = {0},
                       own[2 * WARPRSA_FOLD_HALF_PART] = {0};
    double u[WARPRSA_FOLD_HALF_PART], v[WARPRSA_FOLD_HALF_PART];
    double other_v[WARPRSA_FOLD_HALF_PART];

    WARPRSA_UNROLL
    for (int i = 0; i < half_part; i++) {
        const int at = half_part + i;
        const double top = at < part_limbs ? a[at] : 0;

        other_v[i] = at < part_limbs ? other[at] : 0;
        u[i] = warprsa_from_bits(
            warprsa_fold_by_part(warprsa_bits(top), warprsa_bits(a[i]), upper));
        v[i] = warprsa_from_bits(warprsa_fold_by_part(
            warprsa_bits(other_v[i]), warprsa_bits(other[i]), upper));
    }
    warprsa_fold_pair_add_uneven(cross, a, other_v, half_part,
                                 part_limbs - half_part);
    warprsa_fold_add_mul(own, u, v, WARPRSA_FOLD_UNSIGNED_BASE, 1, 0,
                         half_part);
    WARPRSA_UNROLL
    for (int j = 0; j < 4 * half_part; j++) {
        c[j] = 0;
        if (j < 2 * half_part)
            c[j] += own[j] & upper;
        if (j >= half_part && j < 3 * half_part)
            c[j] += cross[j - half_part];
        if (j >= 2 * half_part)
            c[j] += own[j - 2 * half_part] & ~upper;
        c[j] += c[j];
    }
}

/* s = columns of a * a, likewise. */
WARPRSA_FN void warprsa_fold_pair_sqr(warprsa_fold_columns *s,
                                      const warprsa_fold_number *a,
                                      warprsa_fold_pair_smem_stash *stash)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;
    warprsa_fold_middle middle;
    warprsa_fold_number other;

    warprsa_fold_pair_other(&other, a);
    WARPRSA_EACH_MESSAGE(k)
    {
        WARPRSA_UNROLL
        for (int i = 0; i < 2 * part_limbs; i++)
            s->of[k][i] = 0;
        warprsa_fold_add_sqr(s->of[k], a->of[k], WARPRSA_FOLD_UNSIGNED_BASE, 1,
                             0, part_limbs);
        warprsa_fold_schedule_barrier(&stash->of[k]);
        warprsa_fold_pair_cross(middle.of[k], a->of[k], other.of[k],
                                warprsa_fold_upper_mask(k));
        warprsa_fold_schedule_barrier(&stash->of[k]);
    }
    warprsa_fold_pair_join(s, &middle);
}

#endif
