/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Modular inversion in constant time, for blinding factors, by division steps:
 * Bernstein and Yang, "Fast constant-time gcd computation and modular
 * inversion" (TCHES 2019). As in other implementations, 62 steps at a time run
 * on the low words alone, and the matrix that describes them is then applied to
 * the whole numbers. One thread inverts one number modulo a blinding factor
 * (see short_inverse.h), whose few limbs stay in registers.
 *
 * Whole numbers here are in two's complement over limbs of 62 bits ("signed62",
 * the name libsecp256k1 gives the format): each limb but the top one lies in
 * [0, 2^62), the top one is signed.
 */
#ifndef WARPRSA_GPU_ARITH_INVERSE_H
#define WARPRSA_GPU_ARITH_INVERSE_H

#include "gpu/arith/arithmetic.h"

#define WARPRSA_SIGNED62_BITS 62
#define WARPRSA_SIGNED62_MASK 0x3FFFFFFFFFFFFFFFull
/* Limbs of a blinding factor with a sign bit. */
#define WARPRSA_SIGNED62_LIMBS                                                 \
    ((WARPRSA_BLINDING_BITS + 1) / WARPRSA_SIGNED62_BITS + 1)

/*
 * A number of division steps that is enough for odd f and any g of at most f +
 * 1, both below 2^bits, if delta begins at 1/2 instead of at 1: Wuille, "Bounds
 * on divsteps iterations in safegcd" (2021). That text applies both kinds of
 * steps to the convex hulls, one for each delta, of all real (f, g) that are
 * possible, until |g| < 1 in each of them; its formula describes the numbers of
 * steps that this took. Theorem 11.2 of Bernstein and Yang, for delta from 1,
 * gives floor((49 bits + 57) / 17), which for 260 bits is 752 steps instead of
 * 600.
 */
#define WARPRSA_DIVSTEPS_OF(bits) ((45907 * (bits) + 26313) / 19929)

/* The transition matrix of 62 division steps, times 2^62. The absolute values
 * in a row add up to 2^62 at most. */
typedef struct warprsa_transition {
    int64_t u, v, q, r;
} warprsa_transition;

/* Division steps after which the matrix entries still fit words of 32 bits. */
#define WARPRSA_HALF_STEPS 31

/* Reads a matrix entry of HALF_STEPS steps from its 32-bit word. Entries lie in
 * (-2^31, 2^31], so that the word tells them apart: the first entries lie in
 * (-1, 1], and each step doubles these bounds and either doubles an entry, or
 * adds to it or subtracts from it another one within the old bounds. */
WARPRSA_FN int64_t warprsa_matrix_entry(uint32_t word)
{
    return (int64_t)(int32_t)(word - 1) + 1;
}

/* HALF_STEPS division steps on the low words of f and g. delta - 1/2 is passed
 * in and returned. */
WARPRSA_FN int32_t warprsa_half_divsteps(int32_t delta, uint32_t f, uint32_t g,
                                         warprsa_transition *t)
{
    uint32_t u = 1, v = 0, q = 0, r = 1;

    WARPRSA_ROLLED
    for (int i = 0; i < WARPRSA_HALF_STEPS; i++) {
        uint32_t odd = 0 - (g & 1);
        /* Swap if delta > 0 and g is odd: (f, g) becomes (g, -f), and delta
         * becomes 1 - delta. */
        uint32_t swap = odd & ~(uint32_t)(delta >> 31);
        uint32_t x;

        delta = (int32_t)((uint32_t)delta ^ swap) + 1;
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
    t->u = warprsa_matrix_entry(u);
    t->v = warprsa_matrix_entry(v);
    t->q = warprsa_matrix_entry(q);
    t->r = warprsa_matrix_entry(r);
    return delta;
}

/* u x + v y of low words, modulo 2^64. */
WARPRSA_FN uint64_t warprsa_combine(int64_t u, uint64_t x, int64_t v,
                                    uint64_t y)
{
    return (uint64_t)u * x + (uint64_t)v * y;
}

/* 62 division steps on the low words of f and g, of which 62 bits count; delta
 * - 1/2 is passed in and returned. They are done as 31 steps twice, on words of
 * half the length, which takes half the instructions on a processor with 32-bit
 * words. */
WARPRSA_FN int32_t warprsa_divsteps(int32_t delta, uint64_t f, uint64_t g,
                                    warprsa_transition *t)
{
    warprsa_transition first, then;

    delta = warprsa_half_divsteps(delta, (uint32_t)f, (uint32_t)g, &first);
    delta = warprsa_half_divsteps(
        delta,
        (uint32_t)(warprsa_combine(first.u, f, first.v, g) >>
                   WARPRSA_HALF_STEPS),
        (uint32_t)(warprsa_combine(first.q, f, first.r, g) >>
                   WARPRSA_HALF_STEPS),
        &then);
    t->u = then.u * first.u + then.v * first.q;
    t->v = then.u * first.v + then.v * first.r;
    t->q = then.q * first.u + then.r * first.q;
    t->r = then.q * first.v + then.r * first.r;
    return delta;
}

/* (f, g) = (u f + v g, q f + r g) / 2^62. The division is exact by the choice
 * of the matrix. A running sum is below 2^62 * 2^62 plus a carry below 2^63 and
 * so fits 127 bits. */
WARPRSA_FN void warprsa_apply(int64_t *f, int64_t *g,
                              const warprsa_transition *t)
{
    __int128 cf = 0, cg = 0;

    WARPRSA_UNROLL
    for (int i = 0; i < WARPRSA_SIGNED62_LIMBS; i++) {
        int64_t fi = f[i], gi = g[i];

        cf += (__int128)t->u * fi + (__int128)t->v * gi;
        cg += (__int128)t->q * fi + (__int128)t->r * gi;
        if (i != 0) {
            f[i - 1] = (int64_t)((uint64_t)cf & WARPRSA_SIGNED62_MASK);
            g[i - 1] = (int64_t)((uint64_t)cg & WARPRSA_SIGNED62_MASK);
        }
        cf >>= WARPRSA_SIGNED62_BITS;
        cg >>= WARPRSA_SIGNED62_BITS;
    }
    f[WARPRSA_SIGNED62_LIMBS - 1] = (int64_t)cf;
    g[WARPRSA_SIGNED62_LIMBS - 1] = (int64_t)cg;
}

/*
 * (d, e) = (u d + v e, q d + r e) / 2^62 mod p. Before the division a multiple
 * of p is added that makes the low 62 bits zero.
 *
 * d and e stay within (-2p, p). u d + v e lies within 2^62 (-2p, p), or within
 * 2^62 (-p, 2p) for negative factors. The first correction adds u p where d is
 * negative and v p where e is negative, which brings the sum within 2^62 (-p,
 * p). The second subtracts less than 2^62 p.
 */
WARPRSA_FN void warprsa_apply_modulo(int64_t *d, int64_t *e,
                                     const warprsa_transition *t,
                                     const int64_t *p, uint64_t p_inverse)
{
    int64_t d_negative = d[WARPRSA_SIGNED62_LIMBS - 1] >> 63,
            e_negative = e[WARPRSA_SIGNED62_LIMBS - 1] >> 63;
    int64_t md = (t->u & d_negative) + (t->v & e_negative);
    int64_t me = (t->q & d_negative) + (t->r & e_negative);
    uint64_t low_d =
        (uint64_t)t->u * (uint64_t)d[0] + (uint64_t)t->v * (uint64_t)e[0];
    uint64_t low_e =
        (uint64_t)t->q * (uint64_t)d[0] + (uint64_t)t->r * (uint64_t)e[0];
    __int128 cd = 0, ce = 0;

    md -= (int64_t)((p_inverse * low_d + (uint64_t)md) & WARPRSA_SIGNED62_MASK);
    me -= (int64_t)((p_inverse * low_e + (uint64_t)me) & WARPRSA_SIGNED62_MASK);
    WARPRSA_UNROLL
    for (int i = 0; i < WARPRSA_SIGNED62_LIMBS; i++) {
        int64_t di = d[i], ei = e[i], pi = p[i];

        cd += (__int128)t->u * di + (__int128)t->v * ei + (__int128)md * pi;
        ce += (__int128)t->q * di + (__int128)t->r * ei + (__int128)me * pi;
        if (i != 0) {
            d[i - 1] = (int64_t)((uint64_t)cd & WARPRSA_SIGNED62_MASK);
            e[i - 1] = (int64_t)((uint64_t)ce & WARPRSA_SIGNED62_MASK);
        }
        cd >>= WARPRSA_SIGNED62_BITS;
        ce >>= WARPRSA_SIGNED62_BITS;
    }
    d[WARPRSA_SIGNED62_LIMBS - 1] = (int64_t)cd;
    e[WARPRSA_SIGNED62_LIMBS - 1] = (int64_t)ce;
}

/* x = x + (p & mask), where x has been negated first if `negate` is all
 * ones. */
WARPRSA_FN void warprsa_adjust(int64_t *x, const int64_t *p, int64_t mask,
                               int64_t negate)
{
    int64_t carry = 0;

    WARPRSA_UNROLL
    for (int i = 0; i < WARPRSA_SIGNED62_LIMBS; i++) {
        int64_t sum = ((x[i] ^ negate) - negate) + (p[i] & mask) + carry;

        carry = sum >> WARPRSA_SIGNED62_BITS;
        x[i] = i == WARPRSA_SIGNED62_LIMBS - 1
                   ? sum
                   : (int64_t)((uint64_t)sum & WARPRSA_SIGNED62_MASK);
    }
}

/* ORs into `to` the `bits` bits of a number from bit `from` on. The number is
 * given in `pieces` pieces of `piece` bits, of[0] the lowest. All shift counts
 * are constants where the loop around is unrolled. */
#define WARPRSA_CUT(to, from, bits, pieces, piece, of)                         \
    for (int j_ = (from) / (piece);                                            \
         j_ < (pieces) && (piece)*j_ < (from) + (bits); j_++)                  \
    (to) |= (piece)*j_ >= (from) ? (uint64_t)(of)[j_] << ((piece)*j_ - (from)) \
                                 : (uint64_t)(of)[j_] >> ((from) - (piece)*j_)

/* Limb `index` of a number given in samples. */
WARPRSA_FN int64_t warprsa_signed62_of_samples(const warprsa_sample_t *sample,
                                               int samples, int index)
{
    uint64_t limb = 0;

    WARPRSA_CUT(limb, index * WARPRSA_SIGNED62_BITS, WARPRSA_SIGNED62_BITS,
                samples, WARPRSA_SAMPLE_BITS, sample);
    return (int64_t)(limb & WARPRSA_SIGNED62_MASK);
}

/* Sample `index` of a non-negative number given in limbs. */
WARPRSA_FN warprsa_sample_t warprsa_sample_of_signed62(const int64_t *limb,
                                                       int limbs, int index)
{
    uint64_t sample = 0;

    WARPRSA_CUT(sample, index * WARPRSA_SAMPLE_BITS, WARPRSA_SAMPLE_BITS, limbs,
                WARPRSA_SIGNED62_BITS, limb);
    return (warprsa_sample_t)(sample & WARPRSA_SAMPLE_MASK);
}

typedef struct warprsa_inversion {
    int64_t f[WARPRSA_SIGNED62_LIMBS], g[WARPRSA_SIGNED62_LIMBS];
    int64_t d[WARPRSA_SIGNED62_LIMBS], e[WARPRSA_SIGNED62_LIMBS];
    int64_t p[WARPRSA_SIGNED62_LIMBS];
} warprsa_inversion;

/* 1/m mod 2^62 (and mod 2^64) for odd m. Newton's iteration: each turn doubles
 * the number of correct bits, from 3 at the start (m m = 1 mod 8). */
WARPRSA_FN uint64_t warprsa_inverse_of_low(uint64_t m)
{
    uint64_t x = m;

    for (int i = 0; i < 5; i++)
        x *= 2 - m * x;
    return x;
}

/* m->d = 1/g mod p within [0, p), for odd m->p and m->g of at most p + 1. A g
 * of 0 has no inverse and gives zero. */
WARPRSA_FN void warprsa_invert_signed62(warprsa_inversion *m)
{
    const int rounds = (WARPRSA_DIVSTEPS_OF(WARPRSA_BLINDING_BITS) +
                        WARPRSA_SIGNED62_BITS - 1) /
                       WARPRSA_SIGNED62_BITS;
    const uint64_t p_inverse = warprsa_inverse_of_low((uint64_t)m->p[0]);
    warprsa_transition t;
    int64_t sign;
    int32_t delta = 0;

    WARPRSA_UNROLL
    for (int i = 0; i < WARPRSA_SIGNED62_LIMBS; i++) {
        m->f[i] = m->p[i];
        m->d[i] = 0;
        m->e[i] = i == 0;
    }
    WARPRSA_ROLLED
    for (int i = 0; i < rounds; i++) {
        /* 62 steps depend on the 62 lowest bits alone. */
        delta =
            warprsa_divsteps(delta, (uint64_t)m->f[0], (uint64_t)m->g[0], &t);
        warprsa_apply_modulo(m->d, m->e, &t, m->p, p_inverse);
        warprsa_apply(m->f, m->g, &t);
    }
    /* Now g = 0 and f = +-1: d is plus or minus the inverse, within (-2p,
     * p). */
    sign = m->f[WARPRSA_SIGNED62_LIMBS - 1] >> 63;
    warprsa_adjust(m->d, m->p, m->d[WARPRSA_SIGNED62_LIMBS - 1] >> 63, 0);
    warprsa_adjust(m->d, m->p, 0, sign);
    warprsa_adjust(m->d, m->p, m->d[WARPRSA_SIGNED62_LIMBS - 1] >> 63, 0);
}

#endif
