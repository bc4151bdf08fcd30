/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Modular inversion in constant time, for blinding factors: Bernstein and
 * Yang, "Fast constant-time gcd computation and modular inversion" (TCHES
 * 2019), with 62 division steps at a time on the low words and the resulting
 * matrix applied to the whole numbers. One thread inverts one number.
 *
 * Whole numbers are in two's complement over limbs of 62 bits, each limb but
 * the top one in [0, 2^62), the top one signed.
 */
#ifndef WARPRSA_INVERSE_H
#define WARPRSA_INVERSE_H

#include "gpu/arithmetic.h"

#define WARPRSA_LIMB_BITS 62
#define WARPRSA_LIMB_MASK 0x3FFFFFFFFFFFFFFFull
#define WARPRSA_LIMBS     34 /* 2080 bits and a sign */

/* Limbs for a number of `rows` samples and its sign. */
#define WARPRSA_LIMBS_OF(rows)                                                 \
    ((WARPRSA_SAMPLE_BITS * (rows) + 1) / WARPRSA_LIMB_BITS + 1)

/* Enough division steps for odd f and any g below 2^bits, bits >= 46:
 * floor((49 bits + 57) / 17), their theorem 11.2. */
#define WARPRSA_DIVSTEPS_OF(bits) ((49 * (bits) + 57) / 17)

/* 2^62 times the transition matrix of 62 division steps; the absolute values
 * of a row sum to 2^62 at most. */
typedef struct warprsa_transition {
    int64_t u, v, q, r;
} warprsa_transition;

/* 62 division steps on the low words of f and g; delta in and out. */
WARPRSA_FN int64_t warprsa_divsteps(int64_t delta, uint64_t f, uint64_t g,
                                    warprsa_transition *t)
{
    uint64_t u = 1, v = 0, q = 0, r = 1;

    WARPRSA_ROLLED
    for (int i = 0; i < WARPRSA_LIMB_BITS; i++) {
        uint64_t odd = 0 - (g & 1);
        /* Swap if delta > 0 and g is odd: (f, g) becomes (g, -f). */
        uint64_t swap = odd & (uint64_t)(-delta >> 63);
        uint64_t x;

        delta = (int64_t)(((uint64_t)delta ^ swap) - swap) + 1;
        x = (f ^ g) & swap;
        f ^= x;
        g = ((g ^ x) ^ swap) - swap;
        x = (u ^ q) & swap;
        u ^= x;
        q = ((q ^ x) ^ swap) - swap;
        x = (v ^ r) & swap;
        v ^= x;
        r = ((r ^ x) ^ swap) - swap;
        g = (g + (f & odd)) >> 1;
        q += u & odd;
        r += v & odd;
        u <<= 1;
        v <<= 1;
    }
    t->u = (int64_t)u;
    t->v = (int64_t)v;
    t->q = (int64_t)q;
    t->r = (int64_t)r;
    return delta;
}

/*
 * (f, g) = (u f + v g, q f + r g) / 2^62, exact by the choice of the matrix.
 * A running sum is below 2^62 * 2^62 plus a carry below 2^63: within 127
 * bits.
 */
WARPRSA_FN void warprsa_apply(int64_t *f, int64_t *g,
                              const warprsa_transition *t, int limbs)
{
    __int128 cf = 0, cg = 0;

    WARPRSA_ROLLED
    for (int i = 0; i < limbs; i++) {
        int64_t fi = f[i], gi = g[i];

        cf += (__int128)t->u * fi + (__int128)t->v * gi;
        cg += (__int128)t->q * fi + (__int128)t->r * gi;
        if (i != 0) {
            f[i - 1] = (int64_t)((uint64_t)cf & WARPRSA_LIMB_MASK);
            g[i - 1] = (int64_t)((uint64_t)cg & WARPRSA_LIMB_MASK);
        }
        cf >>= WARPRSA_LIMB_BITS;
        cg >>= WARPRSA_LIMB_BITS;
    }
    f[limbs - 1] = (int64_t)cf;
    g[limbs - 1] = (int64_t)cg;
}

/*
 * (d, e) = (u d + v e, q d + r e) / 2^62 mod p. Before the division a
 * multiple of p is added that makes the low 62 bits zero. d and e stay within
 * (-2p, p): u d + v e lies within 2^62 (-2p, p), or (-p, 2p) for negative
 * factors; the first correction adds u p where d is negative and v p where e
 * is, which brings it within 2^62 (-p, p), the second subtracts less than
 * 2^62 p.
 */
WARPRSA_FN void warprsa_apply_modulo(int64_t *d, int64_t *e,
                                     const warprsa_transition *t,
                                     const int64_t *p, uint64_t p_inverse,
                                     int limbs)
{
    int64_t d_negative = d[limbs - 1] >> 63, e_negative = e[limbs - 1] >> 63;
    int64_t md = (t->u & d_negative) + (t->v & e_negative);
    int64_t me = (t->q & d_negative) + (t->r & e_negative);
    uint64_t low_d =
        (uint64_t)t->u * (uint64_t)d[0] + (uint64_t)t->v * (uint64_t)e[0];
    uint64_t low_e =
        (uint64_t)t->q * (uint64_t)d[0] + (uint64_t)t->r * (uint64_t)e[0];
    __int128 cd = 0, ce = 0;

    md -= (int64_t)((p_inverse * low_d + (uint64_t)md) & WARPRSA_LIMB_MASK);
    me -= (int64_t)((p_inverse * low_e + (uint64_t)me) & WARPRSA_LIMB_MASK);
    WARPRSA_ROLLED
    for (int i = 0; i < limbs; i++) {
        int64_t di = d[i], ei = e[i], pi = p[i];

        cd += (__int128)t->u * di + (__int128)t->v * ei + (__int128)md * pi;
        ce += (__int128)t->q * di + (__int128)t->r * ei + (__int128)me * pi;
        if (i != 0) {
            d[i - 1] = (int64_t)((uint64_t)cd & WARPRSA_LIMB_MASK);
            e[i - 1] = (int64_t)((uint64_t)ce & WARPRSA_LIMB_MASK);
        }
        cd >>= WARPRSA_LIMB_BITS;
        ce >>= WARPRSA_LIMB_BITS;
    }
    d[limbs - 1] = (int64_t)cd;
    e[limbs - 1] = (int64_t)ce;
}

/* x + (p & mask), after x has been negated where `negate` is all ones. */
WARPRSA_FN void warprsa_adjust(int64_t *x, const int64_t *p, int64_t mask,
                               int64_t negate, int limbs)
{
    int64_t carry = 0;

    WARPRSA_ROLLED
    for (int i = 0; i < limbs; i++) {
        int64_t sum = ((x[i] ^ negate) - negate) + (p[i] & mask) + carry;

        carry = sum >> WARPRSA_LIMB_BITS;
        x[i] =
            i == limbs - 1 ? sum : (int64_t)((uint64_t)sum & WARPRSA_LIMB_MASK);
    }
}

/* Samples to limbs of 62 bits. */
WARPRSA_FN void warprsa_limbs_from_samples(int64_t *limb,
                                           const warprsa_sample_t *sample,
                                           int rows, int limbs)
{
    unsigned __int128 bits = 0;
    int have = 0, next = 0;

    for (int i = 0; i < limbs; i++) {
        while (have < WARPRSA_LIMB_BITS && next < rows) {
            bits |= (unsigned __int128)(uint64_t)sample[next++] << have;
            have += WARPRSA_SAMPLE_BITS;
        }
        limb[i] = (int64_t)((uint64_t)bits & WARPRSA_LIMB_MASK);
        bits >>= WARPRSA_LIMB_BITS;
        have -= WARPRSA_LIMB_BITS;
        have = have < 0 ? 0 : have;
    }
}

/* And back; the number must not be negative. */
WARPRSA_FN void warprsa_samples_from_limbs(warprsa_sample_t *sample,
                                           const int64_t *limb, int rows,
                                           int limbs)
{
    unsigned __int128 bits = 0;
    int have = 0, next = 0;

    for (int i = 0; i < rows; i++) {
        while (have < WARPRSA_SAMPLE_BITS && next < limbs) {
            bits |= (unsigned __int128)(uint64_t)limb[next++] << have;
            have += WARPRSA_LIMB_BITS;
        }
        sample[i] = (warprsa_sample_t)((uint64_t)bits & WARPRSA_SAMPLE_MASK);
        bits >>= WARPRSA_SAMPLE_BITS;
        have -= WARPRSA_SAMPLE_BITS;
        have = have < 0 ? 0 : have;
    }
}

/* The memory of one inversion; the caller gives it so that it can be wiped
 * and, on the device, lies where all threads together read it fast. */
typedef struct warprsa_inversion {
    int64_t f[WARPRSA_LIMBS], g[WARPRSA_LIMBS];
    int64_t d[WARPRSA_LIMBS], e[WARPRSA_LIMBS];
    int64_t p[WARPRSA_LIMBS];
} warprsa_inversion;

/* 1/m mod 2^62 (and 2^64) for odd m. Newton: each turn doubles the right bits,
 * from 3 (m m = 1 mod 8). */
WARPRSA_FN uint64_t warprsa_inverse_of_low(uint64_t m)
{
    uint64_t x = m;

    for (int i = 0; i < 5; i++)
        x *= 2 - m * x;
    return x;
}

/* m->d = 1/g mod p within [0, p), for m->p odd and m->g at most p + 1, both
 * below 2^bits; 0 has no inverse and gives zero. */
WARPRSA_FN void warprsa_invert_limbs(warprsa_inversion *m, int bits, int limbs)
{
    const int rounds =
        (WARPRSA_DIVSTEPS_OF(bits) + WARPRSA_LIMB_BITS - 1) / WARPRSA_LIMB_BITS;
    const uint64_t p_inverse = warprsa_inverse_of_low((uint64_t)m->p[0]);
    warprsa_transition t;
    int64_t delta = 1, sign;

    for (int i = 0; i < limbs; i++) {
        m->f[i] = m->p[i];
        m->d[i] = 0;
        m->e[i] = i == 0;
    }
    WARPRSA_ROLLED
    for (int i = 0; i < rounds; i++) {
        /* 62 steps depend on the 62 lowest bits alone. */
        delta =
            warprsa_divsteps(delta, (uint64_t)m->f[0], (uint64_t)m->g[0], &t);
        warprsa_apply_modulo(m->d, m->e, &t, m->p, p_inverse, limbs);
        warprsa_apply(m->f, m->g, &t, limbs);
    }
    /* g = 0 and f = +-1, so d = +-1/x within (-2p, p). */
    sign = m->f[limbs - 1] >> 63;
    warprsa_adjust(m->d, m->p, m->d[limbs - 1] >> 63, 0, limbs);
    warprsa_adjust(m->d, m->p, 0, sign, limbs);
    warprsa_adjust(m->d, m->p, m->d[limbs - 1] >> 63, 0, limbs);
}

WARPRSA_FN void warprsa_wipe_inversion(warprsa_inversion *m, int limbs)
{
    for (int i = 0; i < limbs; i++) {
        *(volatile int64_t *)&m->f[i] = 0;
        *(volatile int64_t *)&m->g[i] = 0;
        *(volatile int64_t *)&m->d[i] = 0;
        *(volatile int64_t *)&m->e[i] = 0;
        *(volatile int64_t *)&m->p[i] = 0;
    }
}

/*
 * x = 1/x mod p, in place, in samples cut exactly; p odd, x < p. Zero, which
 * has no inverse, gives zero. Time depends on rows alone.
 */
WARPRSA_FN void warprsa_invert(warprsa_sample_t *x, const warprsa_sample_t *p,
                               const int rows)
{
    const int limbs = WARPRSA_LIMBS_OF(rows);
    warprsa_inversion m;

    warprsa_limbs_from_samples(m.p, p, rows, limbs);
    warprsa_limbs_from_samples(m.g, x, rows, limbs);
    warprsa_invert_limbs(&m, WARPRSA_SAMPLE_BITS * rows, limbs);
    warprsa_samples_from_limbs(x, m.d, rows, limbs);
    warprsa_wipe_inversion(&m, limbs);
}

#endif
