/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products and squares of numbers in limbs of 32 bits, by one thread: carry
 * chains, and one step of Karatsuba's method.
 *
 *   A B = L + X (L + H - M) + X^2 H,   X = 2^(16 limbs)
 *   L = Al Bl,   H = Ah Bh,   M = (Al - Ah) (Bl - Bh)
 *
 * The differences are taken as absolute values and a mask of their sign. `n` is
 * a number of limbs, even, and known when this is compiled.
 *
 * The upper half of a product is left in the row of the number, where the fold
 * wants it, and the lower half in registers or, where parts of a product wait
 * in a stage (layout.h), there.
 */
#ifndef WARPRSA_GPU_KERNELS_INT32_FOLD_PRODUCTS_H
#define WARPRSA_GPU_KERNELS_INT32_FOLD_PRODUCTS_H

#include "gpu/kernels/int32_fold/layout.h"

/* Limbs of half a number, at most, and of a product of halves. */
enum {
    WARPRSA_INT_FOLD_HALF_MAX = WARPRSA_INT_FOLD_LIMBS_MAX / 2,
};

/* Where a product takes its second operand from: registers, or chunks. */
typedef struct warprsa_int_fold_operand {
    const uint32_t *limbs; /* NULL: chunks from `first` on of `place` */
    warprsa_int_fold_place place;
    int first;
    warprsa_int_fold_kind kind;
} warprsa_int_fold_operand;

WARPRSA_FN warprsa_int_fold_operand warprsa_int_fold_chunks(
    warprsa_int_fold_place place, int first, const warprsa_int_fold_kind kind)
{
    const warprsa_int_fold_operand b = {NULL, place, first, kind};

    return b;
}

/* Limb i of an operand; they are asked for in ascending order. `four` keeps the
 * chunk. */
WARPRSA_FN uint32_t warprsa_int_fold_limb(uint32_t *four,
                                          const warprsa_int_fold_operand *b,
                                          int i)
{
    if (b->limbs != NULL)
        return b->limbs[i];
    if (i % 4 == 0)
        warprsa_int_fold_get_words(
            four, warprsa_int_fold_chunk(b->place, b->first + i / 4, b->kind));
    return four[i % 4];
}

/*
 * Adds t v[j] at limb i + j, for j = first, first + 2, ... below n. With even
 * `first` the last pair ends one limb below the top, and the chain's carry
 * becomes limb i + n, which nothing else has been added to. With odd `first`
 * the upper limb of the last pair is limb i + n, which is zero before: t v[j]
 * and a carry fit the pair.
 */
WARPRSA_FN void warprsa_int_fold_chain(uint32_t *sum, const uint32_t *v,
                                       const uint32_t t, int i, int first,
                                       const int n)
{
    warprsa_carry carry = {0};

    WARPRSA_UNROLL
    for (int even = 0; even < n; even += 2) {
        const int j = even + (first & 1), at = i + j;

        if (j < first)
            continue;
        if (j == first)
            sum[at] = warprsa_mad_lo_cc(&carry, t, v[j], sum[at]);
        else
            sum[at] = warprsa_madc_lo_cc(&carry, t, v[j], sum[at]);
        if (j + 2 < n || !(first & 1))
            sum[at + 1] = warprsa_madc_hi_cc(&carry, t, v[j], sum[at + 1]);
        else
            sum[at + 1] = warprsa_last_madc_hi(&carry, t, v[j], sum[at + 1]);
    }
    if (!(first & 1) && first < n)
        sum[i + n] = warprsa_addc(&carry, 0, 0);
}

/* The first row, which nothing is added to. */
WARPRSA_FN void warprsa_int_fold_first_row(uint32_t *sum, const uint32_t *v,
                                           const uint32_t t, int first,
                                           const int n)
{
    WARPRSA_UNROLL
    for (int even = 0; even < n; even += 2) {
        const int j = even + (first & 1);
        const uint64_t x = (uint64_t)t * v[j];

        if (j < first)
            continue;
        sum[j] = (uint32_t)x;
        sum[j + 1] = (uint32_t)(x >> 32);
    }
}

/* Sums of a product: pairs of limbs that begin at even limbs, and others. Limbs
 * that no pair has come to yet are zero. */
typedef struct warprsa_int_fold_sums {
    uint32_t even[2 * WARPRSA_INT_FOLD_HALF_MAX + 2];
    uint32_t odd[2 * WARPRSA_INT_FOLD_HALF_MAX + 2];
} warprsa_int_fold_sums;

WARPRSA_FN void warprsa_int_fold_zero_sums(warprsa_int_fold_sums *s,
                                           const int n)
{
    WARPRSA_UNROLL
    for (int i = 0; i < 2 * n + 2; i++)
        s->even[i] = s->odd[i] = 0;
}

/* r[0..2n) = a b. */
WARPRSA_FN void warprsa_int_fold_mul(uint32_t *r, const uint32_t *a,
                                     const warprsa_int_fold_operand *b,
                                     const int n)
{
    warprsa_int_fold_sums s;
    warprsa_carry carry = {0};
    uint32_t four[4];

    warprsa_int_fold_zero_sums(&s, n);
    WARPRSA_UNROLL
    for (int i = 0; i < n; i++) {
        const uint32_t t = warprsa_int_fold_limb(four, b, i);

        if (i == 0) {
            warprsa_int_fold_first_row(s.even, a, t, 0, n);
            warprsa_int_fold_first_row(s.odd, a, t, 1, n);
        } else if (i & 1) {
            warprsa_int_fold_chain(s.odd, a, t, i, 0, n);
            warprsa_int_fold_chain(s.even, a, t, i, 1, n);
        } else {
            warprsa_int_fold_chain(s.even, a, t, i, 0, n);
            warprsa_int_fold_chain(s.odd, a, t, i, 1, n);
        }
    }
    r[0] = s.even[0];
    r[1] = warprsa_add_cc(&carry, s.even[1], s.odd[1]);
    WARPRSA_UNROLL
    for (int i = 2; i < 2 * n - 1; i++)
        r[i] = warprsa_addc_cc(&carry, s.even[i], s.odd[i]);
    r[2 * n - 1] =
        warprsa_last_addc(&carry, s.even[2 * n - 1], s.odd[2 * n - 1]);
}

/* A word of two, shifted left by one. */
WARPRSA_FN uint32_t warprsa_int_fold_double(uint32_t low, uint32_t high)
{
#ifdef __CUDACC__
    return __funnelshift_l(low, high, 1);
#else
    return high << 1 | low >> 31;
#endif
}

/* r[0..2n) = a^2: twice the products of two limbs, and the squares of limbs. */
WARPRSA_FN void warprsa_int_fold_sqr(uint32_t *r, const uint32_t *a,
                                     const int n)
{
    warprsa_int_fold_sums s;
    uint32_t twice[2 * WARPRSA_INT_FOLD_HALF_MAX];
    warprsa_carry carry = {0};

    warprsa_int_fold_zero_sums(&s, n);
    WARPRSA_UNROLL
    for (int i = 0; i < n - 1; i++) {
        if (i == 0) {
            warprsa_int_fold_first_row(s.odd, a, a[0], 1, n);
            warprsa_int_fold_first_row(s.even, a, a[0], 2, n);
        } else {
            warprsa_int_fold_chain(s.odd, a, a[i], i, i + 1, n);
            warprsa_int_fold_chain(s.even, a, a[i], i, i + 2, n);
        }
    }
    twice[0] = 0;
    twice[1] = s.odd[1];
    twice[2] = warprsa_add_cc(&carry, s.even[2], s.odd[2]);
    WARPRSA_UNROLL
    for (int i = 3; i < 2 * n - 2; i++)
        twice[i] = warprsa_addc_cc(&carry, s.even[i], s.odd[i]);
    twice[2 * n - 2] = warprsa_last_addc(&carry, 0, s.odd[2 * n - 2]);
    twice[2 * n - 1] = 0;
    WARPRSA_UNROLL
    for (int i = 2 * n - 1; i > 0; i--)
        twice[i] = warprsa_int_fold_double(twice[i - 1], twice[i]);
    WARPRSA_UNROLL
    for (int i = 0; i < n; i++) {
        r[2 * i] = i == 0
                       ? warprsa_mad_lo_cc(&carry, a[i], a[i], twice[2 * i])
                       : warprsa_madc_lo_cc(&carry, a[i], a[i], twice[2 * i]);
        r[2 * i + 1] =
            i == n - 1
                ? warprsa_last_madc_hi(&carry, a[i], a[i], twice[2 * i + 1])
                : warprsa_madc_hi_cc(&carry, a[i], a[i], twice[2 * i + 1]);
    }
}

/* d[0..n) = |x - y|; returns all ones if x < y, else 0. */
WARPRSA_FN uint32_t warprsa_int_fold_difference(uint32_t *d, const uint32_t *x,
                                                const uint32_t *y, const int n)
{
    warprsa_carry carry = {0};
    uint32_t mask;

    d[0] = warprsa_sub_cc(&carry, x[0], y[0]);
    WARPRSA_UNROLL
    for (int i = 1; i < n; i++)
        d[i] = warprsa_subc_cc(&carry, x[i], y[i]);
    mask = warprsa_subc(&carry, 0, 0);
    d[0] = warprsa_add_cc(&carry, d[0] ^ mask, mask & 1);
    WARPRSA_UNROLL
    for (int i = 1; i < n - 1; i++)
        d[i] = warprsa_addc_cc(&carry, d[i] ^ mask, 0);
    d[n - 1] = warprsa_last_addc(&carry, d[n - 1] ^ mask, 0);
    return mask;
}

/* d[0..n) becomes -d modulo 2^(32 n) if `mask` is all ones; returns the limb
 * above: all ones if that is negative, else 0. */
WARPRSA_FN uint32_t warprsa_int_fold_negate(uint32_t *d, uint32_t mask,
                                            const int n)
{
    warprsa_carry carry = {0};

    d[0] = warprsa_add_cc(&carry, d[0] ^ mask, mask & 1);
    WARPRSA_UNROLL
    for (int i = 1; i < n; i++)
        d[i] = warprsa_addc_cc(&carry, d[i] ^ mask, 0);
    return warprsa_addc(&carry, mask, 0);
}

/*
 * r[0..2n) = L + X (L + H - M) + X^2 H, from r = L | H and M with the limb
 * `top` above. `middle` is L + H - M, Al Bh + Ah Bl, which is neither negative
 * nor more than n limbs and a carry, `above`.
 */
WARPRSA_FN void warprsa_int_fold_merge(uint32_t *r, const uint32_t *m,
                                       uint32_t top, const int n)
{
    uint32_t middle[WARPRSA_INT_FOLD_LIMBS_MAX], above;
    warprsa_carry carry = {0};

    middle[0] = warprsa_sub_cc(&carry, r[0], m[0]);
    WARPRSA_UNROLL
    for (int i = 1; i < n; i++)
        middle[i] = warprsa_subc_cc(&carry, r[i], m[i]);
    above = warprsa_subc(&carry, 0, top);
    middle[0] = warprsa_add_cc(&carry, middle[0], r[n]);
    WARPRSA_UNROLL
    for (int i = 1; i < n; i++)
        middle[i] = warprsa_addc_cc(&carry, middle[i], r[n + i]);
    above = warprsa_addc(&carry, above, 0);
    WARPRSA_BOUND("The fold in integers: Karatsuba's step", above <= 1);
    r[n / 2] = warprsa_add_cc(&carry, r[n / 2], middle[0]);
    WARPRSA_UNROLL
    for (int i = 1; i < n; i++)
        r[n / 2 + i] = warprsa_addc_cc(&carry, r[n / 2 + i], middle[i]);
    r[3 * n / 2] = warprsa_addc_cc(&carry, r[3 * n / 2], above);
    WARPRSA_UNROLL
    for (int i = 3 * n / 2 + 1; i < 2 * n - 1; i++)
        r[i] = warprsa_addc_cc(&carry, r[i], 0);
    r[2 * n - 1] = warprsa_last_addc(&carry, r[2 * n - 1], 0);
}

/* The same in two steps over the stage, which has L in its chunks from 0 on.
 * First, L - M + X^-1 of what L has above X goes to where X begins; returns the
 * limb above. */
WARPRSA_FN uint32_t warprsa_int_fold_merge_low(warprsa_int_fold_place stage,
                                               const uint32_t *m, uint32_t top,
                                               const int n)
{
    uint32_t low[WARPRSA_INT_FOLD_LIMBS_MAX],
        middle[WARPRSA_INT_FOLD_LIMBS_MAX], above;
    warprsa_carry carry = {0};

    warprsa_int_fold_get(low, stage, 0, WARPRSA_INT_FOLD_STAGE, n);
    middle[0] = warprsa_sub_cc(&carry, low[0], m[0]);
    WARPRSA_UNROLL
    for (int i = 1; i < n; i++)
        middle[i] = warprsa_subc_cc(&carry, low[i], m[i]);
    above = warprsa_subc(&carry, 0, top);
    middle[0] = warprsa_add_cc(&carry, middle[0], low[n / 2]);
    WARPRSA_UNROLL
    for (int i = 1; i < n; i++)
        middle[i] =
            warprsa_addc_cc(&carry, middle[i], i < n / 2 ? low[n / 2 + i] : 0);
    above = warprsa_addc(&carry, above, 0);
    warprsa_int_fold_put(stage, n / 8, middle, WARPRSA_INT_FOLD_STAGE, n);
    return above;
}

/* Then H is added, there and X higher. The upper half goes to the row. */
WARPRSA_FN void warprsa_int_fold_merge_high(warprsa_int_fold_place stage,
                                            warprsa_int_fold_place row,
                                            const uint32_t *h, uint32_t above,
                                            const int n)
{
    uint32_t middle[WARPRSA_INT_FOLD_LIMBS_MAX],
        high[WARPRSA_INT_FOLD_LIMBS_MAX];
    warprsa_carry carry = {0};

    warprsa_int_fold_get(middle, stage, n / 8, WARPRSA_INT_FOLD_STAGE, n);
    middle[0] = warprsa_add_cc(&carry, middle[0], h[0]);
    WARPRSA_UNROLL
    for (int i = 1; i < n; i++)
        middle[i] = warprsa_addc_cc(&carry, middle[i], h[i]);
    above = warprsa_addc(&carry, above, 0);
    WARPRSA_BOUND("The fold in integers: Karatsuba's step", above <= 1);
    warprsa_int_fold_put(stage, n / 8, middle, WARPRSA_INT_FOLD_STAGE, n / 2);
    high[0] = warprsa_add_cc(&carry, middle[n / 2], h[0]);
    WARPRSA_UNROLL
    for (int i = 1; i < n / 2; i++)
        high[i] = warprsa_addc_cc(&carry, middle[n / 2 + i], h[i]);
    high[n / 2] = warprsa_addc_cc(&carry, h[n / 2], above);
    WARPRSA_UNROLL
    for (int i = n / 2 + 1; i < n - 1; i++)
        high[i] = warprsa_addc_cc(&carry, h[i], 0);
    high[n - 1] = warprsa_last_addc(&carry, h[n - 1], 0);
    warprsa_int_fold_put(row, 0, high, WARPRSA_INT_FOLD_KIND(n), n);
}

/* The square of x, of n limbs: the upper half in the row, the lower half in
 * s[0..n) or in the stage. s has 2 n limbs. */
WARPRSA_FN void warprsa_int_fold_square(uint32_t *s, const uint32_t *x,
                                        warprsa_int_fold_place row,
                                        warprsa_int_fold_place stage,
                                        const int n)
{
    uint32_t d[WARPRSA_INT_FOLD_HALF_MAX], m[WARPRSA_INT_FOLD_LIMBS_MAX];

    if (WARPRSA_INT_FOLD_STAGES(n)) {
        uint32_t above;

        warprsa_int_fold_sqr(m, x, n / 2);
        warprsa_int_fold_put(stage, 0, m, WARPRSA_INT_FOLD_STAGE, n);
        (void)warprsa_int_fold_difference(d, x, x + n / 2, n / 2);
        warprsa_int_fold_sqr(m, d, n / 2);
        above = warprsa_int_fold_merge_low(stage, m, 0, n);
        warprsa_int_fold_sqr(m, x + n / 2, n / 2);
        warprsa_int_fold_merge_high(stage, row, m, above, n);
        return;
    }
    (void)warprsa_int_fold_difference(d, x, x + n / 2, n / 2);
    warprsa_int_fold_sqr(m, d, n / 2);
    warprsa_int_fold_sqr(s, x, n / 2);
    warprsa_int_fold_sqr(s + n, x + n / 2, n / 2);
    warprsa_int_fold_merge(s, m, 0, n);
    warprsa_int_fold_put(row, 0, s + n, WARPRSA_INT_FOLD_KIND(n), n);
}

/* db = |bl - bh| of the operand in the row; returns the mask of its sign. */
WARPRSA_FN uint32_t warprsa_int_fold_operand_difference(
    uint32_t *db, warprsa_int_fold_place row, const int n)
{
    uint32_t low[WARPRSA_INT_FOLD_HALF_MAX], high[WARPRSA_INT_FOLD_HALF_MAX];

    warprsa_int_fold_get(low, row, 0, WARPRSA_INT_FOLD_KIND(n), n / 2);
    warprsa_int_fold_get(high, row, n / 8, WARPRSA_INT_FOLD_KIND(n), n / 2);
    return warprsa_int_fold_difference(db, low, high, n / 2);
}

/* The same of x times the operand in the row, by way of the stage. */
WARPRSA_FN void warprsa_int_fold_multiply_staged(const uint32_t *x,
                                                 warprsa_int_fold_place row,
                                                 warprsa_int_fold_place stage,
                                                 const int n)
{
    const warprsa_int_fold_operand low =
        warprsa_int_fold_chunks(row, 0, WARPRSA_INT_FOLD_KIND(n));
    const warprsa_int_fold_operand high =
        warprsa_int_fold_chunks(row, n / 8, WARPRSA_INT_FOLD_KIND(n));
    const warprsa_int_fold_operand staged =
        warprsa_int_fold_chunks(stage, n / 4, WARPRSA_INT_FOLD_STAGE);
    uint32_t m[WARPRSA_INT_FOLD_LIMBS_MAX], d[WARPRSA_INT_FOLD_HALF_MAX];
    uint32_t sign = warprsa_int_fold_operand_difference(d, row, n), top, above;

    warprsa_int_fold_put(stage, n / 4, d, WARPRSA_INT_FOLD_STAGE, n / 2);
    warprsa_int_fold_mul(m, x, &low, n / 2);
    warprsa_int_fold_put(stage, 0, m, WARPRSA_INT_FOLD_STAGE, n);
    sign ^= warprsa_int_fold_difference(d, x, x + n / 2, n / 2);
    warprsa_int_fold_mul(m, d, &staged, n / 2);
    top = warprsa_int_fold_negate(m, sign, n);
    above = warprsa_int_fold_merge_low(stage, m, top, n);
    warprsa_int_fold_mul(m, x + n / 2, &high, n / 2);
    warprsa_int_fold_merge_high(stage, row, m, above, n);
}

WARPRSA_FN void warprsa_int_fold_multiply(uint32_t *s, const uint32_t *x,
                                          warprsa_int_fold_place row,
                                          warprsa_int_fold_place stage,
                                          const int n)
{
    const warprsa_int_fold_operand low =
        warprsa_int_fold_chunks(row, 0, WARPRSA_INT_FOLD_KIND(n));
    const warprsa_int_fold_operand high =
        warprsa_int_fold_chunks(row, n / 8, WARPRSA_INT_FOLD_KIND(n));
    uint32_t m[WARPRSA_INT_FOLD_LIMBS_MAX], da[WARPRSA_INT_FOLD_HALF_MAX],
        db[WARPRSA_INT_FOLD_HALF_MAX], sign, top;
    const warprsa_int_fold_operand difference = {db, row, 0,
                                                 WARPRSA_INT_FOLD_KIND(n)};

    if (WARPRSA_INT_FOLD_STAGES(n)) {
        warprsa_int_fold_multiply_staged(x, row, stage, n);
        return;
    }
    sign = warprsa_int_fold_operand_difference(db, row, n);
    sign ^= warprsa_int_fold_difference(da, x, x + n / 2, n / 2);
    warprsa_int_fold_mul(m, da, &difference, n / 2);
    top = warprsa_int_fold_negate(m, sign, n);
    warprsa_int_fold_mul(s, x, &low, n / 2);
    warprsa_int_fold_mul(s + n, x + n / 2, &high, n / 2);
    warprsa_int_fold_merge(s, m, top, n);
    warprsa_int_fold_put(row, 0, s + n, WARPRSA_INT_FOLD_KIND(n), n);
}

#endif
