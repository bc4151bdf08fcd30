/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The inverse of a short number: 1/r mod p for a blinding factor r, which is
 * odd and has a quarter of the prime's bits or fewer, with all the division
 * steps mod r:
 *
 *   v   p mod r                     (reduced from below, Montgomery's way)
 *   w   1/v mod r                   (inverse.h)
 *   t   -1/p mod r = r - w, so that r divides 1 + p t
 *   y   (1 + p t) / r               (exact, from below: Jebelean, 1993)
 *
 * r y = 1 + p t makes y the inverse, and t < r makes it smaller than p. Limbs
 * of 62 bits as in inverse.h; B = 2^62.
 */
#ifndef WARPRSA_SHORT_INVERSE_H
#define WARPRSA_SHORT_INVERSE_H

#include "gpu/inverse.h"

/* Limbs for r and a sign. */
#define WARPRSA_SHORT_LIMBS                                                    \
    ((WARPRSA_BLINDING_BITS + 1) / WARPRSA_LIMB_BITS + 1)

/*
 * v = (v + low + q r) / B with the q that makes it exact; minus_inverse is
 * -1/r mod B. For v <= r + 1 and low < B the result is at most
 * (r + 1 + B - 1 + (B - 1) r) / B = r + 1. A sum is below 2^124 + 2^63.
 */
WARPRSA_FN void warprsa_step_down(int64_t *v, int64_t low, const int64_t *r,
                                  uint64_t minus_inverse)
{
    unsigned __int128 sum = (unsigned __int128)(uint64_t)v[0] + (uint64_t)low;
    uint64_t q = ((uint64_t)sum * minus_inverse) & WARPRSA_LIMB_MASK;

    sum += (unsigned __int128)q * (uint64_t)r[0];
    WARPRSA_UNROLL
    for (int i = 1; i < WARPRSA_SHORT_LIMBS; i++) {
        sum >>= WARPRSA_LIMB_BITS;
        sum += (unsigned __int128)q * (uint64_t)r[i] + (uint64_t)v[i];
        v[i - 1] = (int64_t)((uint64_t)sum & WARPRSA_LIMB_MASK);
    }
    v[WARPRSA_SHORT_LIMBS - 1] = (int64_t)(uint64_t)(sum >> WARPRSA_LIMB_BITS);
}

/*
 * y = (1 + p t) / r, limb by limb: what the lowest column that is left holds
 * is y's limb times r's lowest. A column is the difference of two sums of up
 * to SHORT_LIMBS products below 2^124 each and a carry: within +-2^127, as the
 * top limbs of r and t have less than half their bits.
 */
WARPRSA_FN void warprsa_divide_exactly(int64_t *y, const int64_t *p,
                                       const int64_t *t, const int64_t *r,
                                       uint64_t inverse, int limbs)
{
    __int128 sum = 1;

    WARPRSA_ROLLED
    for (int i = 0; i < limbs; i++) {
        int most = i < WARPRSA_SHORT_LIMBS - 1 ? i : WARPRSA_SHORT_LIMBS - 1;

        sum += (__int128)p[i] * t[0];
        WARPRSA_ROLLED
        for (int j = 1; j <= most; j++)
            sum += (__int128)p[i - j] * t[j] - (__int128)y[i - j] * r[j];
        y[i] = (int64_t)(((uint64_t)sum * inverse) & WARPRSA_LIMB_MASK);
        sum -= (__int128)y[i] * r[0];
        sum >>= WARPRSA_LIMB_BITS;
    }
}

/*
 * x = 1/x mod p, in place, in samples cut exactly; p odd, without a factor in
 * common with x; x odd, below p and below 2^BLINDING_BITS. Time depends on
 * rows alone.
 */
WARPRSA_FN void warprsa_invert_short(warprsa_sample_t *x,
                                     const warprsa_sample_t *p, const int rows)
{
    const int limbs = WARPRSA_LIMBS_OF(rows);
    int64_t whole[WARPRSA_LIMBS], y[WARPRSA_LIMBS];
    int64_t carry = 0;
    warprsa_inversion m;
    uint64_t inverse;

    warprsa_limbs_from_samples(whole, p, rows, limbs);
    warprsa_limbs_from_samples(m.p, x, rows, WARPRSA_SHORT_LIMBS);
    inverse = warprsa_inverse_of_low((uint64_t)m.p[0]);
    /* g = p / B^limbs mod r. */
    for (int i = 0; i < WARPRSA_SHORT_LIMBS; i++)
        m.g[i] = 0;
    WARPRSA_ROLLED
    for (int i = 0; i < limbs; i++)
        warprsa_step_down(m.g, whole[i], m.p, 0 - inverse);
    warprsa_invert_limbs(&m, WARPRSA_BLINDING_BITS, WARPRSA_SHORT_LIMBS);
    /* d = B^limbs / p mod r, and then without B^limbs. */
    WARPRSA_ROLLED
    for (int i = 0; i < limbs; i++)
        warprsa_step_down(m.d, 0, m.p, 0 - inverse);
    /* e = r - d. */
    for (int i = 0; i < WARPRSA_SHORT_LIMBS; i++) {
        carry += m.p[i] - m.d[i];
        m.e[i] = (int64_t)((uint64_t)carry & WARPRSA_LIMB_MASK);
        carry >>= WARPRSA_LIMB_BITS;
    }
    warprsa_divide_exactly(y, whole, m.e, m.p, inverse, limbs);
    warprsa_samples_from_limbs(x, y, rows, limbs);
    warprsa_wipe_inversion(&m, WARPRSA_SHORT_LIMBS);
    for (int i = 0; i < limbs; i++) {
        *(volatile int64_t *)&whole[i] = 0;
        *(volatile int64_t *)&y[i] = 0;
    }
}

#endif
