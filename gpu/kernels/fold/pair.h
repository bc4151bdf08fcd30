/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic on numbers of 40 samples, halves of RSA-4096, each shared by two
 * threads: 80 columns and their operands do not fit the registers of one. The
 * number of message t lies in messages t and t ^ FOLD_GROUP, its parts. Part 0
 * has samples 0..19, part 1 samples 20..39, and both do the same with them. The
 * bounds are those of fold.h and multiply.h for N = 40.
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
 * Of the result, part 0 gets columns 0..19 and 40..59, part 1 columns 20..39
 * and 60..79: each gets its lower columns, which are added after the fold, and
 * others that are folded.
 *
 * Bounds. Part 1 computes its differences with the sign turned, twice, so d and
 * e are what multiply.h bounds. d1 e1 has the product of the tops, whose halves
 * are made otherwise. The last product of D in part 0 is made so, too, as both
 * parts run the same code. Its low half may reach 2^53, so column 18 of M may
 * have 2^52 more to take off than multiply.h says. Here b(c) = 32 in all
 * columns but the last. That is the most that b is for N = 40, and it is at
 * least n(c) + n(c - 1) / 2 + 2 everywhere, and one more in column 18.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_PAIR_H
#define WARPRSA_GPU_KERNELS_FOLD_PAIR_H

#ifdef __CUDACC__
#include "gpu/kernels/fold/group.cuh"
#else
#include "gpu/kernels/fold/group_host.h"
#endif

enum {
    WARPRSA_FOLD_PAIR_LIMBS = 40, /* samples of a number */
    WARPRSA_FOLD_PART_LIMBS = 20, /* samples of a part */
    WARPRSA_FOLD_HALF_PART = WARPRSA_FOLD_PART_LIMBS / 2,
    WARPRSA_FOLD_QUARTER_PART = WARPRSA_FOLD_HALF_PART / 2,
    WARPRSA_FOLD_PAIR_BIAS = 32, /* b(c) above */
};

/* What parts exchange, and columns of a quarter of the product. */
typedef struct warprsa_fold_part_columns {
    uint64_t of[WARPRSA_MESSAGES][WARPRSA_FOLD_PART_LIMBS];
} warprsa_fold_part_columns;

/* Half of a difference, d0 or d1 above. */
typedef struct warprsa_fold_half_difference {
    double of[WARPRSA_MESSAGES][WARPRSA_FOLD_HALF_PART];
} warprsa_fold_half_difference;

/* The stashes of all messages. */
typedef struct warprsa_fold_pair_smem_stash {
    warprsa_fold_smem_stash of[WARPRSA_MESSAGES];
} warprsa_fold_pair_smem_stash;

/* Which part of its number a message has, 0 or 1. The compiler must not know
 * that it is the same each time. It would compute all that follows from it, 40
 * addresses and as many masked columns, before a loop or a multiplication and
 * keep it in registers, or spill it, all the time. */
WARPRSA_FN int warprsa_fold_part(int k)
{
    int part = warprsa_fold_half(k);

#ifdef __CUDACC__
    asm volatile("" : "+r"(part));
#endif
    return part;
}

/* All ones in part 1, zero in part 0. */
WARPRSA_FN uint64_t warprsa_fold_upper_mask(int k)
{
    const uint32_t mask = 0 - (uint32_t)warprsa_fold_part(k);

    return (uint64_t)mask << 32 | mask;
}

/* to = `from` of the other part, `count` words. They must not overlap. */
WARPRSA_FN void warprsa_fold_swap(warprsa_fold_part_columns *to,
                                  const warprsa_fold_part_columns *from,
                                  const int count)
{
    WARPRSA_EACH_MESSAGE(k)
    {
        WARPRSA_UNROLL
        for (int i = 0; i < count; i++)
            to->of[k][i] = warprsa_fold_other_part(
                &from->of[0][0], WARPRSA_FOLD_PART_LIMBS, k, i);
    }
}

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

/* warprsa_fold_top(). Column 39 belongs to part 1, column 40 to part 0. */
WARPRSA_FN void warprsa_fold_pair_top(warprsa_fold_columns *s)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;
    warprsa_fold_part_columns give, got;

    WARPRSA_EACH_MESSAGE(k)
    {
        give.of[k][0] = s->of[k][part_limbs - 1] >> 52;
    }
    warprsa_fold_swap(&got, &give, 1);
    WARPRSA_EACH_MESSAGE(k)
    {
        const uint64_t upper = warprsa_fold_upper_mask(k);
        const uint64_t last = s->of[k][part_limbs - 1];

        s->of[k][part_limbs] += got.of[k][0] & ~upper;
        s->of[k][2 * part_limbs - 1] |= ((last >> 44 & 0xFF) << 56) & upper;
        s->of[k][part_limbs - 1] = last & (~upper | ((1ull << 44) - 1));
    }
}

/* Adds what part 0 carries out to part 1. warprsa_fold_carry() has made the
 * samples of each part in fives, with no carry coming in, so the first two
 * samples of a part are below 2^52. What comes from part 0 is below 2^13. */
WARPRSA_FN void warprsa_fold_pair_carry(warprsa_fold_number *a,
                                        const uint32_t *carry)
{
    warprsa_fold_part_columns give, got;

    WARPRSA_EACH_MESSAGE(k)
    {
        give.of[k][0] = carry[k];
    }
    warprsa_fold_swap(&got, &give, 1);
    WARPRSA_EACH_MESSAGE(k)
    {
        const uint64_t low = warprsa_fold_integer(a->of[k][0]) +
                             (got.of[k][0] & warprsa_fold_upper_mask(k));

        a->of[k][0] = warprsa_fold_sample(low & WARPRSA_SAMPLE_MASK);
        a->of[k][1] = warprsa_fold_sample(warprsa_fold_integer(a->of[k][1]) +
                                          (low >> 52));
    }
}

/* r = signed columns with their carries resolved. `over` is what part 1 carries
 * out, for both parts. s is changed. */
WARPRSA_FN void warprsa_fold_pair_resolve(warprsa_fold_number *r,
                                          warprsa_fold_part_columns *s,
                                          uint64_t *over)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;
    warprsa_fold_part_columns give, got;

    WARPRSA_EACH_MESSAGE(k)
    {
        give.of[k][0] =
            (uint64_t)warprsa_fold_resolve(r->of[k], s->of[k], part_limbs);
    }
    warprsa_fold_swap(&got, &give, 1);
    WARPRSA_EACH_MESSAGE(k)
    {
        s->of[k][0] += got.of[k][0] & warprsa_fold_upper_mask(k);
        give.of[k][0] =
            (uint64_t)warprsa_fold_resolve(r->of[k], s->of[k], part_limbs);
    }
    warprsa_fold_swap(&got, &give, 1);
    WARPRSA_EACH_MESSAGE(k)
    {
        over[k] = warprsa_fold_part(k) != 0 ? give.of[k][0] : got.of[k][0];
    }
}

/* a += p where `mask` is all ones. p is the whole prime. */
WARPRSA_FN void warprsa_fold_pair_add_masked(warprsa_fold_number *a,
                                             const double *p,
                                             const uint64_t *mask)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;
    warprsa_fold_part_columns s;
    uint64_t over[WARPRSA_MESSAGES];

    WARPRSA_EACH_MESSAGE(k)
    {
        const double *own = p + warprsa_fold_part(k) * part_limbs;

        WARPRSA_UNROLL
        for (int i = 0; i < part_limbs; i++)
            s.of[k][i] = warprsa_fold_integer(a->of[k][i]) +
                         ((uint64_t)own[i] & mask[k]);
    }
    warprsa_fold_pair_resolve(a, &s, over);
}

/* a = a - b, plus p if that is negative. All samples are below 2^52. */
WARPRSA_FN void warprsa_fold_pair_subtract(warprsa_fold_number *a,
                                           const warprsa_fold_number *b,
                                           const double *p)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;
    warprsa_fold_part_columns s;
    uint64_t over[WARPRSA_MESSAGES];

    WARPRSA_EACH_MESSAGE(k)
    {
        WARPRSA_UNROLL
        for (int i = 0; i < part_limbs; i++)
            s.of[k][i] =
                warprsa_fold_integer(a->of[k][i]) - (uint64_t)b->of[k][i];
    }
    warprsa_fold_pair_resolve(a, &s, over);
    warprsa_fold_pair_add_masked(a, p, over);
}

/* s = a - q p with carries not resolved, for the quotient q of
 * warprsa_fold_reduce(), from the top samples of the number. */
WARPRSA_FN void warprsa_fold_pair_subtract_multiple(
    warprsa_fold_part_columns *s, const warprsa_fold_number *a, const double *p)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS,
              limbs = WARPRSA_FOLD_PAIR_LIMBS;
    const double ratio =
        warprsa_fold_reciprocal(p[limbs - 1] * 0x1p52 + p[limbs - 2]);
    warprsa_fold_part_columns give, got;

    WARPRSA_EACH_MESSAGE(k)
    {
        give.of[k][0] = warprsa_bits(a->of[k][part_limbs - 1] * 0x1p52 +
                                     a->of[k][part_limbs - 2]);
    }
    warprsa_fold_swap(&got, &give, 1);
    WARPRSA_EACH_MESSAGE(k)
    {
        const int part = warprsa_fold_part(k);
        const double top =
            warprsa_from_bits(part != 0 ? give.of[k][0] : got.of[k][0]);
        const double q = (double)(uint64_t)(top * ratio * (1 - 0x1p-40));
        uint64_t down = 0;

        WARPRSA_UNROLL
        for (int i = 0; i < part_limbs; i++) {
            const double of = p[part * part_limbs + i];
            double high = warprsa_fma_rz(q, of, 0x1p104);
            double low = warprsa_fma_rz(q, of, 0x1p104 - high);

            s->of[k][i] =
                warprsa_fold_integer(a->of[k][i]) - (uint64_t)low - down;
            down = warprsa_bits(high) - warprsa_bits(0x1p104);
        }
        give.of[k][0] = down;
    }
    warprsa_fold_swap(&got, &give, 1);
    WARPRSA_EACH_MESSAGE(k)
    {
        s->of[k][0] -= got.of[k][0] & warprsa_fold_upper_mask(k);
    }
}

/* a = a mod p, exactly, like warprsa_fold_reduce(). */
WARPRSA_FN void warprsa_fold_pair_reduce(warprsa_fold_number *a,
                                         const double *p)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;
    warprsa_fold_part_columns s;
    uint64_t over[WARPRSA_MESSAGES];

    warprsa_fold_pair_subtract_multiple(&s, a, p);
    warprsa_fold_pair_resolve(a, &s, over);
    WARPRSA_EACH_MESSAGE(k)
    {
        const double *own = p + warprsa_fold_part(k) * part_limbs;

        WARPRSA_UNROLL
        for (int i = 0; i < part_limbs; i++)
            s.of[k][i] = warprsa_fold_integer(a->of[k][i]) - (uint64_t)own[i];
    }
    warprsa_fold_pair_resolve(a, &s, over);
    warprsa_fold_pair_add_masked(a, p, over);
}

/* Stores a number below the prime as an entry of the table, 1,024 bits of it by
 * each part. A part has 1,040 bits; the upper 16 of part 0 are stored by part
 * 1. */
WARPRSA_FN void warprsa_fold_pair_put_entry(const warprsa_fold_memory *m,
                                            int entry,
                                            const warprsa_fold_number *x)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS,
              count = WARPRSA_FOLD_WORDS(20);
    warprsa_fold_part_columns give, got;

    WARPRSA_EACH_MESSAGE(k)
    {
        give.of[k][0] = warprsa_fold_integer(x->of[k][part_limbs - 1]) >> 36;
    }
    warprsa_fold_swap(&got, &give, 1);
    WARPRSA_EACH_MESSAGE(k)
    {
        const int shift = 16 * warprsa_fold_part(k);
        uint32_t words[WARPRSA_FOLD_WORDS(WARPRSA_FOLD_LIMBS_MAX)] = {0};
        uint32_t below = (uint32_t)got.of[k][0] << 16;

        warprsa_fold_pack(words, x->of[k], part_limbs);
        WARPRSA_UNROLL
        for (int i = 0; i < count; i++) {
            const uint64_t two = (uint64_t)words[i] << 32 | below;

            below = words[i];
            words[i] = (uint32_t)(two >> (32 - shift));
        }
        warprsa_fold_put_words(m, entry, words, warprsa_fold_index(k),
                               part_limbs);
    }
}

/* warprsa_fold_select_pieces() for message k. */
WARPRSA_FN void warprsa_fold_pair_select_pieces(const warprsa_fold_memory *m,
                                                int phase, uint32_t digit,
                                                int k)
{
    warprsa_fold_select_part(m, phase, digit,
                             1 - (uint32_t)warprsa_fold_part(k),
                             warprsa_fold_index(k), WARPRSA_FOLD_PART_LIMBS);
}

/* The selected entry. */
WARPRSA_FN void warprsa_fold_pair_get_selected(warprsa_fold_number *a,
                                               const warprsa_fold_memory *m)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS,
              count = WARPRSA_FOLD_WORDS(20);
    uint32_t words[WARPRSA_MESSAGES]
                  [WARPRSA_FOLD_WORDS(WARPRSA_FOLD_LIMBS_MAX)];
    warprsa_fold_part_columns give, got;

    WARPRSA_EACH_MESSAGE(k)
    {
        warprsa_fold_get_words(words[k], m, warprsa_fold_index(k), part_limbs);
        give.of[k][0] = words[k][0] & 0xFFFF;
    }
    warprsa_fold_swap(&got, &give, 1);
    WARPRSA_EACH_MESSAGE(k)
    {
        const int shift = 16 * warprsa_fold_part(k);
        const uint64_t top = got.of[k][0] & ~warprsa_fold_upper_mask(k);

        WARPRSA_UNROLL
        for (int i = 0; i < count; i++) {
            const uint64_t next = i + 1 < count ? words[k][i + 1] : 0;

            words[k][i] = (uint32_t)((next << 32 | words[k][i]) >> shift);
        }
        warprsa_fold_unpack(a->of[k], words[k], part_limbs);
        a->of[k][part_limbs - 1] += (double)top * 0x1p36;
    }
}

#endif
