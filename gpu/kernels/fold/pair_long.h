/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of numbers of 40 samples, each shared by two threads (pair.h, which
 * includes this file).
 *
 *     A B = L + X^20 (L + H - M) + X^40 H,           X = 2^52,
 *     L = Al Bl, H = Ah Bh, M = (Al - Ah) (Bl - Bh)
 *
 * Part 0 makes L, part 1 makes H. For M, the differences d = Al - Ah and
 * e = Bl - Bh are cut in two, d = d0 + X^10 d1 and e likewise. Part t makes and
 * balances dt and et, and the parts exchange these. Then
 *
 *     M = d0 e0 + X^10 (d0 e1 + d1 e0) + X^20 d1 e1,
 *
 * of which part t makes D = dt et and C = dt e(1-t). In a squaring C stands for
 * 2 d0 d1. With d0 = u0 + X^5 v0 and d1 = u1 + X^5 v1,
 *
 *     d0 d1 = u0 u1 + X^5 (u0 v1 + u1 v0) + X^10 v0 v1,
 *
 * part t makes ut v(1-t), and besides part 0 makes v0 v1 and part 1 u0 u1. That
 * is 600 products of samples for each part, 315 in a squaring.
 *
 * Bounds. Part 1 computes its differences with the sign turned, twice, so d and
 * e are what multiply.h bounds. d1 e1 has the product of the tops, whose halves
 * are made otherwise. The last product of D in part 0 is made so, too, as both
 * parts run the same code. Its low half may reach 2^53, so column 18 of M may
 * have 2^52 more to take off than multiply.h says. Here b(c) = 32 in all
 * columns but the last. That is the most that b is for N = 40, and it is at
 * least n(c) + n(c - 1) / 2 + 2 everywhere, and one more in column 18.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_PAIR_LONG_H
#define WARPRSA_GPU_KERNELS_FOLD_PAIR_LONG_H

enum {
    WARPRSA_FOLD_HALF_PART = WARPRSA_FOLD_PART_LIMBS / 2,
    WARPRSA_FOLD_QUARTER_PART = WARPRSA_FOLD_HALF_PART / 2,
    WARPRSA_FOLD_PAIR_BIAS = 32, /* b(c) above */
};

/* Half of a difference, d0 or d1 above. */
typedef struct warprsa_fold_half_difference {
    double of[WARPRSA_MESSAGES][WARPRSA_FOLD_HALF_PART];
} warprsa_fold_half_difference;

/* dt from a, balanced. */
WARPRSA_FN void warprsa_fold_pair_difference(warprsa_fold_half_difference *own,
                                             const warprsa_fold_number *a)
{
    warprsa_fold_part_columns give, got;

    WARPRSA_EACH_MESSAGE(k)
    {
        WARPRSA_UNROLL
        for (int i = 0; i < WARPRSA_FOLD_HALF_PART; i++) {
            const double lower = a->of[k][i];
            const double upper = a->of[k][WARPRSA_FOLD_HALF_PART + i];

            give.of[k][i] =
                warprsa_bits(warprsa_fold_part(k) != 0 ? lower : upper);
        }
    }
    warprsa_fold_swap(&got, &give, WARPRSA_FOLD_HALF_PART);
    WARPRSA_EACH_MESSAGE(k)
    {
        const int part = warprsa_fold_part(k);
        double carry = 0;

        WARPRSA_UNROLL
        for (int i = 0; i < WARPRSA_FOLD_HALF_PART; i++) {
            const double lower = a->of[k][i];
            const double upper = a->of[k][WARPRSA_FOLD_HALF_PART + i];
            const double kept = part != 0 ? upper : lower;
            const double turned = kept - warprsa_from_bits(got.of[k][i]);
            const double x =
                warprsa_from_bits(warprsa_bits(turned) ^ (uint64_t)part << 63);
            double over =
                warprsa_fma_rz(x + (0x1p51 - 1), 1, WARPRSA_FOLD_SIGNED_BASE) -
                WARPRSA_FOLD_SIGNED_BASE;

            /* Nothing is taken off the top sample. */
            if (i == WARPRSA_FOLD_HALF_PART - 1)
                over = part != 0 ? 0 : over;
            own->of[k][i] = warprsa_fma_rz(carry, 0x1p-52, x - over);
            WARPRSA_BOUND("A number in two threads",
                          part != 0 && i == WARPRSA_FOLD_HALF_PART - 1
                              ? own->of[k][i] >= -0x1.6a09e667f3bcdp51 - 1 &&
                                    own->of[k][i] <= 0x1p52
                              : own->of[k][i] >= -0x1p51 &&
                                    own->of[k][i] <= 0x1p51 + 1);
            carry = over;
        }
        give.of[k][0] = warprsa_bits(carry);
    }
    warprsa_fold_swap(&got, &give, 1);
    WARPRSA_EACH_MESSAGE(k)
    {
        /* What comes from part 1 is zero. */
        own->of[k][0] = warprsa_fma_rz(warprsa_from_bits(got.of[k][0]), 0x1p-52,
                                       own->of[k][0]);
        WARPRSA_BOUND("A number in two threads",
                      own->of[k][0] >= -0x1p51 && own->of[k][0] <= 0x1p51 + 1);
    }
}

/* d(1-t), of the other part, from dt. */
WARPRSA_FN void warprsa_fold_pair_other(warprsa_fold_half_difference *other,
                                        const warprsa_fold_half_difference *own)
{
    warprsa_fold_part_columns give, got;

    WARPRSA_EACH_MESSAGE(k)
    {
        WARPRSA_UNROLL
        for (int i = 0; i < WARPRSA_FOLD_HALF_PART; i++)
            give.of[k][i] = warprsa_bits(own->of[k][i]);
    }
    warprsa_fold_swap(&got, &give, WARPRSA_FOLD_HALF_PART);
    WARPRSA_EACH_MESSAGE(k)
    {
        WARPRSA_UNROLL
        for (int i = 0; i < WARPRSA_FOLD_HALF_PART; i++)
            other->of[k][i] = warprsa_from_bits(got.of[k][i]);
    }
}

/* What column j starts with, of the columns that M is subtracted from: those of
 * columns 20..39 of M in part 0, and of columns 0..19 of M in part 1. */
WARPRSA_FN uint64_t warprsa_fold_pair_start(int j, uint64_t upper)
{
    const uint64_t bias = WARPRSA_FOLD_PAIR_BIAS;
    const uint64_t less = WARPRSA_FOLD_PAIR_BIAS - WARPRSA_FOLD_BIAS;
    const uint64_t start = (bias << 52) - bias;

    if (j == 0)
        return start + (bias & upper);
    if (j == WARPRSA_FOLD_PART_LIMBS - 1)
        return start - ((less << 52) & ~upper);
    return start;
}

/* Divides C. What the other part is to have goes into the columns of D, as it
 * is taken off as D is. What only this part has goes to `kept`: columns 0..9 in
 * part 1, columns 10..19 in part 0. */
WARPRSA_FN void warprsa_fold_pair_divide(uint64_t *d, uint64_t *kept,
                                         const uint64_t *c, uint64_t upper)
{
    const int half_part = WARPRSA_FOLD_HALF_PART;

    WARPRSA_UNROLL
    for (int j = 0; j < half_part; j++) {
        d[j] = c[half_part + j] & upper;
        d[half_part + j] = c[j] & ~upper;
        kept[j] = (c[j] & upper) | (c[half_part + j] & ~upper);
    }
}

/* The columns of the result, from s, which has the own product of a part, L or
 * H, from D with the other part of C, and from what warprsa_fold_pair_divide()
 * keeps. */
WARPRSA_FN void warprsa_fold_pair_join(warprsa_fold_columns *s,
                                       const warprsa_fold_part_columns *d,
                                       const warprsa_fold_part_columns *kept)
{
    const int half_part = WARPRSA_FOLD_HALF_PART,
              part_limbs = WARPRSA_FOLD_PART_LIMBS;
    warprsa_fold_part_columns give, got;

    WARPRSA_EACH_MESSAGE(k)
    {
        WARPRSA_UNROLL
        for (int j = 0; j < part_limbs; j++)
            give.of[k][j] =
                s->of[k][j] + s->of[k][part_limbs + j] - d->of[k][j];
    }
    warprsa_fold_swap(&got, &give, part_limbs);
    WARPRSA_EACH_MESSAGE(k)
    {
        const uint64_t upper = warprsa_fold_upper_mask(k);

        WARPRSA_UNROLL
        for (int j = 0; j < part_limbs; j++) {
            const uint64_t z =
                got.of[k][j] + warprsa_fold_pair_start(j, upper) -
                (kept->of[k][j % half_part] & (j < half_part ? ~upper : upper));
            const uint64_t high = z & ~upper;

            s->of[k][j] += z - high;
            s->of[k][part_limbs + j] += high;
        }
        s->of[k][2 * part_limbs - 2] += ((uint64_t)1 << 56) & upper;
    }
}

/* Puts the samples of a part into the stash. */
WARPRSA_FN void warprsa_fold_pair_stash_number(warprsa_fold_smem_stash *stash,
                                               const double *a)
{
    uint64_t of[WARPRSA_FOLD_PART_LIMBS];

    WARPRSA_UNROLL
    for (int i = 0; i < WARPRSA_FOLD_PART_LIMBS; i++)
        of[i] = warprsa_bits(a[i]);
    warprsa_fold_stash_columns(stash, of, WARPRSA_FOLD_PART_LIMBS);
}

/* Takes the samples of a part out of the stash. */
WARPRSA_FN void
warprsa_fold_pair_unstash_number(double *a,
                                 const warprsa_fold_smem_stash *stash)
{
    uint64_t of[WARPRSA_FOLD_PART_LIMBS];

    warprsa_fold_unstash_columns(of, stash, WARPRSA_FOLD_PART_LIMBS);
    WARPRSA_UNROLL
    for (int i = 0; i < WARPRSA_FOLD_PART_LIMBS; i++)
        a[i] = warprsa_from_bits(of[i]);
}

/*
 * s = columns of a * b, like warprsa_fold_mul() for 40 samples. The biases of
 * the columns are others, and in sum the same.
 *
 * L or H, the part's own product, comes last. The stash has room for 20
 * columns: first the samples of b, while they are not needed, then the columns
 * of D. So at no time do numbers and columns take more than 180 registers. The
 * steps are separated for the assembler, see warprsa_fold_schedule_barrier().
 */
WARPRSA_FN void warprsa_fold_pair_mul(warprsa_fold_columns *s,
                                      const warprsa_fold_number *a,
                                      const warprsa_fold_number *b,
                                      warprsa_fold_pair_smem_stash *stash)
{
    const int half_part = WARPRSA_FOLD_HALF_PART,
              part_limbs = WARPRSA_FOLD_PART_LIMBS;
    warprsa_fold_half_difference d, e, e_other;
    warprsa_fold_part_columns dd, kept;

    warprsa_fold_pair_difference(&d, a);
    warprsa_fold_pair_difference(&e, b);
    warprsa_fold_pair_other(&e_other, &e);
    WARPRSA_EACH_MESSAGE(k)
    {
        warprsa_fold_smem_stash *at = &stash->of[k];
        uint64_t c[WARPRSA_FOLD_PART_LIMBS] = {0};
        double taken[WARPRSA_FOLD_PART_LIMBS];

        warprsa_fold_pair_stash_number(at, b->of[k]);
        warprsa_fold_add_mul(c, d.of[k], e_other.of[k],
                             WARPRSA_FOLD_SIGNED_BASE, 1, 0, half_part);
        warprsa_fold_schedule_barrier(at);
        warprsa_fold_pair_divide(dd.of[k], kept.of[k], c,
                                 warprsa_fold_upper_mask(k));
        warprsa_fold_add_mul(dd.of[k], d.of[k], e.of[k],
                             WARPRSA_FOLD_SIGNED_BASE, 0, 0, half_part);
        warprsa_fold_add_tops(dd.of[k] + part_limbs - 2, d.of[k][half_part - 1],
                              e.of[k][half_part - 1]);
        warprsa_fold_schedule_barrier(at);
        warprsa_fold_pair_unstash_number(taken, at);
        warprsa_fold_stash_columns(at, dd.of[k], part_limbs);
        warprsa_fold_schedule_barrier(at);
        WARPRSA_UNROLL
        for (int i = 0; i < 2 * part_limbs; i++)
            s->of[k][i] = 0;
        warprsa_fold_add_mul(s->of[k], a->of[k], taken,
                             WARPRSA_FOLD_UNSIGNED_BASE, 1, 0, part_limbs);
        warprsa_fold_schedule_barrier(at);
        warprsa_fold_unstash_columns(dd.of[k], at, part_limbs);
    }
    warprsa_fold_pair_join(s, &dd, &kept);
}

/* What a part makes of d0 d1 in a squaring: its cross product into columns of
 * c, and u0 u1 or v0 v1 into `own`. */
WARPRSA_FN void warprsa_fold_pair_cross(uint64_t *c, uint64_t *own,
                                        const double *d, const double *other,
                                        int part)
{
    const int quarter_part = WARPRSA_FOLD_QUARTER_PART;
    double u[WARPRSA_FOLD_QUARTER_PART], v[WARPRSA_FOLD_QUARTER_PART];

    WARPRSA_UNROLL
    for (int i = 0; i < quarter_part; i++) {
        u[i] = part != 0 ? d[i] : d[quarter_part + i];
        v[i] = part != 0 ? other[i] : other[quarter_part + i];
    }
    warprsa_fold_add_mul(c + quarter_part, d, other + quarter_part,
                         WARPRSA_FOLD_SIGNED_BASE, 1, 0, quarter_part);
    warprsa_fold_add_mul(own, u, v, WARPRSA_FOLD_SIGNED_BASE, 1, 0,
                         quarter_part);
}

/* s = columns of a * a, likewise. C is doubled here, as warprsa_fold_add_sqr()
 * doubles what the columns of D start with. */
WARPRSA_FN void warprsa_fold_pair_sqr(warprsa_fold_columns *s,
                                      const warprsa_fold_number *a,
                                      warprsa_fold_pair_smem_stash *stash)
{
    const int half_part = WARPRSA_FOLD_HALF_PART,
              part_limbs = WARPRSA_FOLD_PART_LIMBS;
    warprsa_fold_half_difference d, d_other;
    warprsa_fold_part_columns dd, kept;

    warprsa_fold_pair_difference(&d, a);
    warprsa_fold_pair_other(&d_other, &d);
    WARPRSA_EACH_MESSAGE(k)
    {
        warprsa_fold_smem_stash *at = &stash->of[k];
        uint64_t c[WARPRSA_FOLD_PART_LIMBS] = {0},
                 own[WARPRSA_FOLD_HALF_PART] = {0};

        warprsa_fold_schedule_barrier(at);
        warprsa_fold_pair_cross(c, own, d.of[k], d_other.of[k],
                                warprsa_fold_part(k));
        warprsa_fold_pair_divide(dd.of[k], kept.of[k], c,
                                 warprsa_fold_upper_mask(k));
        WARPRSA_UNROLL
        for (int i = 0; i < half_part; i++)
            kept.of[k][i] = 2 * (kept.of[k][i] + own[i]);
        warprsa_fold_add_sqr(dd.of[k], d.of[k], WARPRSA_FOLD_SIGNED_BASE, 0, 0,
                             half_part);
        warprsa_fold_add_tops(dd.of[k] + part_limbs - 2, d.of[k][half_part - 1],
                              d.of[k][half_part - 1]);
        warprsa_fold_schedule_barrier(at);
        warprsa_fold_stash_columns(at, dd.of[k], part_limbs);
        warprsa_fold_schedule_barrier(at);
        WARPRSA_UNROLL
        for (int i = 0; i < 2 * part_limbs; i++)
            s->of[k][i] = 0;
        warprsa_fold_add_sqr(s->of[k], a->of[k], WARPRSA_FOLD_UNSIGNED_BASE, 1,
                             0, part_limbs);
        warprsa_fold_schedule_barrier(at);
        warprsa_fold_unstash_columns(dd.of[k], at, part_limbs);
    }
    warprsa_fold_pair_join(s, &dd, &kept);
}

#endif
