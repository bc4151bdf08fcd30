/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Numbers in samples of 52 bits held in double precision, and their
 * Montgomery product (Emmart, Zheng, Weems: "Faster Modular Exponentiation
 * using Double Precision Floating Point Arithmetic on the GPU", figures 3-10;
 * two errata of the printed listings are marked).
 *
 * A number is spread over the `width` lanes of a subgroup, L samples a lane,
 * least significant first. `rows` is how many samples a number really has
 * (rows <= width * L, the rest are zero) and R = 2^(52 rows).
 *
 * Bounds. A modulus P has at most 52 rows - 3 bits, so 8P < R. The product
 * of a and b is (ab + mP)/R with m < R, hence
 *     a < R,  b < P    gives a result below 2P     (unreduced input)
 *     a < 2P, b < 2P   gives less than P/2 + P     (inside a power)
 *     a < 4P, b < 2P   gives at most P + P         (sum of two products)
 * A sample lies in [0, 2^52]: the product leaves exactly 2^52 when the carry
 * from the lane below meets a sample of all ones. That is right and stays
 * right as an operand, see warprsa_row().
 */
#ifndef WARPRSA_WIDE_SAMPLE_H
#define WARPRSA_WIDE_SAMPLE_H

#include <math.h>
#include <string.h>

#include "gpu/lanes.h"

#define WARPRSA_SAMPLE_BITS  52
#define WARPRSA_SAMPLE_MASK  0xFFFFFFFFFFFFFull
#define WARPRSA_LANE_SAMPLES 5 /* samples a lane holds at most */

typedef struct warprsa_number {
    double of[WARPRSA_SLOTS][WARPRSA_LANE_SAMPLES];
} warprsa_number;

/* Column sums; carries not resolved. Unsigned in the product, read as two's
 * complement by warprsa_normalise(). */
typedef struct warprsa_columns {
    uint64_t of[WARPRSA_SLOTS][WARPRSA_LANE_SAMPLES + 1];
} warprsa_columns;

/* a * b + c, rounded toward zero. The host engine runs with the rounding
 * mode set (fesetround), so fma() does the same. */
WARPRSA_FN double warprsa_fma_rz(double a, double b, double c)
{
#ifdef __CUDACC__
    return __fma_rz(a, b, c);
#else
    return fma(a, b, c);
#endif
}

WARPRSA_FN uint64_t warprsa_bits(double x)
{
#ifdef __CUDACC__
    return (uint64_t)__double_as_longlong(x);
#else
    uint64_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
#endif
}

WARPRSA_FN double warprsa_from_bits(uint64_t bits)
{
#ifdef __CUDACC__
    return __longlong_as_double((long long)bits);
#else
    double x;

    memcpy(&x, &bits, sizeof(x));
    return x;
#endif
}

/* An integer in [0, 2^52] as a double: with the exponent of 2^52 in front its
 * bits are 2^52 + x (at x = 2^52 the carry into the exponent reads 2^53,
 * which is 2^52 + x again). */
WARPRSA_FN double warprsa_sample(uint64_t x)
{
    return warprsa_from_bits(x + 0x4330000000000000ull) - 0x1p52;
}

/* What a column must start with so that the exponent fields of `high` high
 * and `low` low half products cancel (figure 4): 0x467 is the exponent of
 * 2^104, 0x433 that of 2^52. */
WARPRSA_FN uint64_t warprsa_column_start(int high, int low)
{
    return (0 - ((uint64_t)high * 0x467 + (uint64_t)low * 0x433)) << 52;
}

/*
 * Adds t * v to the columns: for each sample the 104-bit product in two
 * halves. high = 2^104 + floor(t v / 2^52) 2^52, exactly, as the sum lies in
 * [2^104, 2^105] where a double counts by 2^52 and rounding is toward zero;
 * low = 2^52 + the rest, exact. Erratum: figure 8 prints "hi - c2" for
 * "c2 - hi". With t = v = 2^52 high is 2^105, whose bits are those of 2^104
 * plus 2^52: the encoding is continuous and the sum stays right.
 *
 * A column takes at most 2L high and 2L low halves below 2^52 each plus two
 * carries: less than 2^58 for L = 5, so 64 bits never overflow once the
 * exponents have cancelled.
 */
WARPRSA_FN void warprsa_row(uint64_t *s, double t, const double *v, const int L)
{
    uint64_t carried = 0;

    WARPRSA_UNROLL
    for (int i = 0; i < L; i++) {
        double high = warprsa_fma_rz(t, v[i], 0x1p104);
        double low = warprsa_fma_rz(t, v[i], (0x1p104 + 0x1p52) - high);

        s[i] += warprsa_bits(low) + carried;
        carried = warprsa_bits(high);
    }
    s[L] += carried;
}

/* Broadcast of sample i of a number. */
WARPRSA_FN void warprsa_broadcast_sample(double *to, const warprsa_number *a,
                                         int lane, int place, const int width,
                                         const int G)
{
    uint64_t bits[WARPRSA_SLOTS];

    WARPRSA_EACH_LANE (k, G) {
        bits[k] = warprsa_bits(a->of[k][place]);
    }
    warprsa_broadcast(bits, bits, lane, width, G);
    WARPRSA_EACH_LANE (k, G) {
        to[k] = warprsa_from_bits(bits[k]);
    }
}

/* One row of the Montgomery product: add t * a, find the quotient sample q
 * with q P = -s (mod 2^52), add q * P, and move everything down one sample
 * (figures 8-10). np0 = -1/P mod 2^52. */
WARPRSA_FN void warprsa_product_row(warprsa_columns *s, const double *t,
                                    const warprsa_number *a,
                                    const warprsa_number *p, const double *np0,
                                    const int width, const int L, const int G)
{
    uint64_t q[WARPRSA_SLOTS], down[WARPRSA_SLOTS];

    WARPRSA_EACH_LANE (k, G) {
        double x, high;

        warprsa_row(s->of[k], t[k], a->of[k], L);
        /* The low half of x * np0 alone: 2^104 + high part cancels. */
        x = warprsa_sample(s->of[k][0] & WARPRSA_SAMPLE_MASK);
        high = warprsa_fma_rz(x, np0[k], 0x1p104);
        q[k] = warprsa_bits(warprsa_fma_rz(x, np0[k], 0x1p104 - high));
    }
    warprsa_broadcast(q, q, 0, width, G);
    WARPRSA_EACH_LANE (k, G) {
        warprsa_row(s->of[k], warprsa_from_bits(q[k]), p->of[k], L);
        down[k] = s->of[k][0] & WARPRSA_SAMPLE_MASK;
    }
    /* Lane 0's lowest sample is zero now; it goes round to the top lane. */
    warprsa_rotate(down, down, 1, width, G);
    WARPRSA_EACH_LANE (k, G) {
        s->of[k][0] = s->of[k][1] + (s->of[k][0] >> 52);
        WARPRSA_UNROLL
        for (int i = 1; i < L - 1; i++)
            s->of[k][i] = s->of[k][i + 1];
        s->of[k][L - 1] = s->of[k][L] + down[k];
    }
}

/* Columns to samples: each lane resolves its own carries, pushes what leaves
 * it exactly one lane up, and there it can run on for one sample only: the
 * lane above is below 2^52 in each sample and the carry below 2^12, so the
 * first sample's carry is 0 or 1 and the second ends at 2^52 at most. */
WARPRSA_FN void warprsa_resolve(warprsa_number *r, warprsa_columns *s,
                                const int width, const int L, const int G)
{
    uint64_t up[WARPRSA_SLOTS];

    WARPRSA_EACH_LANE (k, G) {
        WARPRSA_UNROLL
        for (int i = 1; i < L; i++) {
            s->of[k][i] += s->of[k][i - 1] >> 52;
            s->of[k][i - 1] &= WARPRSA_SAMPLE_MASK;
        }
        up[k] = s->of[k][L - 1] >> 52;
        s->of[k][L - 1] &= WARPRSA_SAMPLE_MASK;
    }
    warprsa_rotate(up, up, -1, width, G);
    WARPRSA_EACH_LANE (k, G) {
        /* The number is below R: nothing leaves its top lane. */
        uint64_t in = (warprsa_lane(k, G) & (width - 1)) != 0 ? up[k] : 0;

        s->of[k][0] += in;
        s->of[k][1] += s->of[k][0] >> 52;
        s->of[k][0] &= WARPRSA_SAMPLE_MASK;
        WARPRSA_UNROLL
        for (int i = 0; i < L; i++)
            r->of[k][i] = warprsa_sample(s->of[k][i]);
    }
}

/*
 * Start values of the columns, and what makes them right at the end. Column i
 * of a lane meets rows 0..i before it has moved out: i + 1 low halves and i
 * high ones of each of the two products. A column that enters later is
 * started for L of each; but one that enters with `left` rows to go (its own
 * among them) ends at place L - left and has met left high and left - 1 low
 * halves only, which is put right there (erratum: figure 9 lacks the latter).
 */
WARPRSA_FN void warprsa_start_columns(warprsa_columns *s, const int L,
                                      const int G)
{
    WARPRSA_EACH_LANE (k, G) {
        WARPRSA_UNROLL
        for (int i = 0; i < L; i++)
            s->of[k][i] = warprsa_column_start(2 * i, 2 * i + 2);
    }
}

WARPRSA_FN void warprsa_finish_columns(warprsa_columns *s, const int L,
                                       const int G)
{
    WARPRSA_EACH_LANE (k, G) {
        WARPRSA_UNROLL
        for (int left = 1; left <= L; left++)
            s->of[k][L - left] += warprsa_column_start(2 * left, 2 * left - 2) -
                                  warprsa_column_start(2 * L, 2 * L);
    }
}

/* r = a b / R mod P, up to one more P (bounds above). r may be a or b. */
WARPRSA_FN void warprsa_product(warprsa_number *r, const warprsa_number *a,
                                const warprsa_number *b,
                                const warprsa_number *p, const double *np0,
                                const int rows, const int width, const int L,
                                const int G)
{
    warprsa_columns s;

    warprsa_start_columns(&s, L, G);
    WARPRSA_ROLLED
    for (int lane = 0; lane * L < rows; lane++) {
        WARPRSA_UNROLL
        for (int place = 0; place < L; place++) {
            double t[WARPRSA_SLOTS];

            if (rows % L != 0 && lane * L + place >= rows)
                break;
            WARPRSA_EACH_LANE (k, G) {
                s.of[k][L] = warprsa_column_start(2 * L, 2 * L);
            }
            warprsa_broadcast_sample(t, b, lane, place, width, G);
            warprsa_product_row(&s, t, a, p, np0, width, L, G);
        }
    }
    warprsa_finish_columns(&s, L, G);
    warprsa_resolve(r, &s, width, L, G);
}

/*
 * Signed columns (|c| < 2^62) to samples in [0, 2^52), exactly. `over` gets,
 * in every lane of a number, what is carried out at its top (negative for a
 * negative number). A carry moves one lane up per turn, so after `width`
 * turns none is left.
 */
WARPRSA_FN void warprsa_normalise(warprsa_number *r, warprsa_columns *s,
                                  int64_t *over, const int width, const int L,
                                  const int G)
{
    uint64_t in[WARPRSA_SLOTS], out[WARPRSA_SLOTS];

    WARPRSA_EACH_LANE (k, G) {
        in[k] = 0;
        over[k] = 0;
    }
    WARPRSA_ROLLED
    for (int turn = 0; turn < width; turn++) {
        WARPRSA_EACH_LANE (k, G) {
            int64_t carry = (int64_t)in[k];

            WARPRSA_UNROLL
            for (int i = 0; i < L; i++) {
                int64_t x = (int64_t)s->of[k][i] + carry;

                carry = x >> 52;
                s->of[k][i] = (uint64_t)x & WARPRSA_SAMPLE_MASK;
            }
            out[k] = (uint64_t)carry;
        }
        warprsa_rotate(in, out, -1, width, G);
        warprsa_broadcast(out, out, width - 1, width, G);
        WARPRSA_EACH_LANE (k, G) {
            over[k] += (int64_t)out[k];
            if ((warprsa_lane(k, G) & (width - 1)) == 0)
                in[k] = 0;
        }
    }
    WARPRSA_EACH_LANE (k, G) {
        WARPRSA_UNROLL
        for (int i = 0; i < L; i++)
            r->of[k][i] = warprsa_sample(s->of[k][i]);
    }
}

/* r = a - b + (c masked): the three steps of an exact reduction. Samples are
 * at most 2^52, so a column is within 3 * 2^52. */
WARPRSA_FN void warprsa_subtract(warprsa_number *r, const warprsa_number *a,
                                 const warprsa_number *b, int64_t *over,
                                 const int width, const int L, const int G)
{
    warprsa_columns s;

    WARPRSA_EACH_LANE (k, G) {
        WARPRSA_UNROLL
        for (int i = 0; i < L; i++)
            s.of[k][i] = (uint64_t)a->of[k][i] - (uint64_t)b->of[k][i];
    }
    warprsa_normalise(r, &s, over, width, L, G);
}

/* r = a + factor * b where `over` is negative, else a; in the same time. */
WARPRSA_FN void
warprsa_add_if_negative(warprsa_number *r, const warprsa_number *a,
                        const warprsa_number *b, uint64_t factor, int64_t *over,
                        const int width, const int L, const int G)
{
    warprsa_columns s;

    WARPRSA_EACH_LANE (k, G) {
        uint64_t mask = (uint64_t)(over[k] >> 63);

        WARPRSA_UNROLL
        for (int i = 0; i < L; i++)
            s.of[k][i] = (uint64_t)a->of[k][i] +
                         ((factor * (uint64_t)b->of[k][i]) & mask);
    }
    warprsa_normalise(r, &s, over, width, L, G);
}

/* r = a mod P, exactly, for a < 2P. */
WARPRSA_FN void warprsa_reduce(warprsa_number *r, const warprsa_number *a,
                               const warprsa_number *p, const int width,
                               const int L, const int G)
{
    int64_t over[WARPRSA_SLOTS];
    warprsa_number less;

    warprsa_subtract(&less, a, p, over, width, L, G);
    warprsa_add_if_negative(r, &less, p, 1, over, width, L, G);
}

/* r = a + b, samples in [0, 2^52); the sum must be below 2^(52 width L). */
WARPRSA_FN void warprsa_add(warprsa_number *r, const warprsa_number *a,
                            const warprsa_number *b, const int width,
                            const int L, const int G)
{
    int64_t over[WARPRSA_SLOTS];
    warprsa_columns s;

    WARPRSA_EACH_LANE (k, G) {
        WARPRSA_UNROLL
        for (int i = 0; i < L; i++)
            s.of[k][i] = (uint64_t)a->of[k][i] + (uint64_t)b->of[k][i];
    }
    warprsa_normalise(r, &s, over, width, L, G);
}

/* r = choice ? a : b in every lane, without a branch; choice is 0 or 1. */
WARPRSA_FN void warprsa_choose(warprsa_number *r, uint32_t choice,
                               const warprsa_number *a, const warprsa_number *b,
                               const int L, const int G)
{
    uint64_t mask = 0 - (uint64_t)choice;

    WARPRSA_EACH_LANE (k, G) {
        WARPRSA_UNROLL
        for (int i = 0; i < L; i++)
            r->of[k][i] =
                warprsa_from_bits((warprsa_bits(a->of[k][i]) & mask) |
                                  (warprsa_bits(b->of[k][i]) & ~mask));
    }
}

#endif
