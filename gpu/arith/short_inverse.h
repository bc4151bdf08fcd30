/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The inverse of a short number: 1/r mod p for a blinding factor r, which is
 * odd and has a quarter of the prime's bits or fewer. All division steps are
 * done modulo r instead of modulo p, so that they run on short numbers:
 *
 *   v   p mod r                     (reduced from below, Montgomery's way)
 *   w   1/v mod r                   (inverse.h)
 *   t   -1/p mod r = r - w, so that r divides 1 + p t
 *   y   (1 + p t) / r               (exact division from below: Jebelean,
 *                                   "An algorithm for exact division", 1993)
 *
 * r y = 1 + p t makes y the inverse of r, and t < r makes y smaller than p.
 * Limbs have 62 bits as in inverse.h; B = 2^62.
 */
#ifndef WARPRSA_GPU_ARITH_SHORT_INVERSE_H
#define WARPRSA_GPU_ARITH_SHORT_INVERSE_H

#include "gpu/arith/inverse.h"

/* Limbs of a prime, at most and for a given number of samples. */
#define WARPRSA_SIGNED62_PRIME_LIMBS_OF(samples)                               \
    (WARPRSA_SAMPLE_BITS * (samples) / WARPRSA_SIGNED62_BITS + 1)
#define WARPRSA_SIGNED62_PRIME_LIMBS                                           \
    ((52 * WARPRSA_HALF_SAMPLES) / WARPRSA_SIGNED62_BITS + 1)

/* v = (v + low + q r) / B, with the q that makes the division exact; n0inv is
 * -1/r mod B. For v <= r + 1 and low < B the result is at most (r + 1 + B - 1 +
 * (B - 1) r) / B = r + 1. A running sum is below 2^124 + 2^63. */
WARPRSA_FN void warprsa_step_down(int64_t *v, int64_t low, const int64_t *r,
                                  uint64_t n0inv)
{
    unsigned __int128 sum = (unsigned __int128)(uint64_t)v[0] + (uint64_t)low;
    uint64_t q = ((uint64_t)sum * n0inv) & WARPRSA_SIGNED62_MASK;

    sum += (unsigned __int128)q * (uint64_t)r[0];
    WARPRSA_UNROLL
    for (int i = 1; i < WARPRSA_SIGNED62_LIMBS; i++) {
        sum >>= WARPRSA_SIGNED62_BITS;
        sum += (unsigned __int128)q * (uint64_t)r[i] + (uint64_t)v[i];
        v[i - 1] = (int64_t)((uint64_t)sum & WARPRSA_SIGNED62_MASK);
    }
    v[WARPRSA_SIGNED62_LIMBS - 1] =
        (int64_t)(uint64_t)(sum >> WARPRSA_SIGNED62_BITS);
}

/*
 * p = (1 + p t) / r, limb by limb from below; `inverse` is 1/r mod B. In each
 * turn the lowest column not yet cleared equals the quotient's next limb times
 * r's lowest limb, mod B.
 *
 * Bound. A column is the difference of two sums, each of up to SIGNED62_LIMBS
 * products below 2^124, and a carry. It stays within +-2^127, as the top limbs
 * of r and t have less than half their bits.
 *
 * The most recent limbs of p and of the quotient are kept in registers.
 */
WARPRSA_FN void warprsa_divide_exactly(int64_t *p, const int64_t *t,
                                       const int64_t *r, uint64_t inverse,
                                       int limbs)
{
    int64_t last_p[WARPRSA_SIGNED62_LIMBS] = {0},
            last_y[WARPRSA_SIGNED62_LIMBS] = {0};
    __int128 sum = 1;

    WARPRSA_ROLLED
    for (int i = 0; i < limbs; i++) {
        WARPRSA_UNROLL
        for (int j = WARPRSA_SIGNED62_LIMBS - 1; j > 0; j--) {
            last_p[j] = last_p[j - 1];
            last_y[j] = last_y[j - 1];
        }
        last_p[0] = p[i];
        sum += (__int128)last_p[0] * t[0];
        WARPRSA_UNROLL
        for (int j = 1; j < WARPRSA_SIGNED62_LIMBS; j++)
            sum += (__int128)last_p[j] * t[j] - (__int128)last_y[j] * r[j];
        last_y[0] =
            (int64_t)(((uint64_t)sum * inverse) & WARPRSA_SIGNED62_MASK);
        sum -= (__int128)last_y[0] * r[0];
        sum >>= WARPRSA_SIGNED62_BITS;
        p[i] = last_y[0];
    }
}

/* x = 1/x mod p, in place, in samples below 2^SAMPLE_BITS; p is odd and has no
 * factor in common with x; x is odd, below p and below 2^BLINDING_BITS. The
 * time depends on `samples` alone. */
WARPRSA_FN void warprsa_invert_short(warprsa_sample_t *x,
                                     const warprsa_sample_t *p,
                                     const int samples)
{
    const int limbs = WARPRSA_SIGNED62_PRIME_LIMBS_OF(samples);
    int64_t whole[WARPRSA_SIGNED62_PRIME_LIMBS], carry = 0;
    warprsa_inversion m;
    uint64_t inverse;

    WARPRSA_ROLLED
    for (int i = 0; i < limbs; i++)
        whole[i] = warprsa_signed62_of_samples(p, samples, i);
    WARPRSA_UNROLL
    for (int i = 0; i < WARPRSA_SIGNED62_LIMBS; i++)
        m.p[i] = warprsa_signed62_of_samples(x, samples, i);
    inverse = warprsa_inverse_of_low((uint64_t)m.p[0]);
    /* g = p / B^limbs mod r. */
    WARPRSA_UNROLL
    for (int i = 0; i < WARPRSA_SIGNED62_LIMBS; i++)
        m.g[i] = 0;
    WARPRSA_ROLLED
    for (int i = 0; i < limbs; i++)
        warprsa_step_down(m.g, whole[i], m.p, 0 - inverse);
    warprsa_invert_signed62(&m);
    /* d = B^limbs / p mod r, and then without B^limbs. */
    WARPRSA_ROLLED
    for (int i = 0; i < limbs; i++)
        warprsa_step_down(m.d, 0, m.p, 0 - inverse);
    /* e = r - d. */
    WARPRSA_UNROLL
    for (int i = 0; i < WARPRSA_SIGNED62_LIMBS; i++) {
        carry += m.p[i] - m.d[i];
        m.e[i] = (int64_t)((uint64_t)carry & WARPRSA_SIGNED62_MASK);
        carry >>= WARPRSA_SIGNED62_BITS;
    }
    warprsa_divide_exactly(whole, m.e, m.p, inverse, limbs);
    WARPRSA_ROLLED
    for (int i = 0; i < samples; i++)
        x[i] = warprsa_sample_of_signed62(whole, limbs, i);
    for (int i = 0; i < limbs; i++)
        *(volatile int64_t *)&whole[i] = 0;
#ifndef __CUDACC__ /* on the device m stays in registers */
    for (size_t i = 0; i < sizeof(m); i++)
        ((volatile uint8_t *)&m)[i] = 0;
#endif
}

#endif
