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
 * Bounds. A modulus P has at most 52 rows - 5 bits, so 32P < R. The product
 * of a and b is below ab/R + 2P (see warprsa_mont_mul_row()), hence
 *     a < R,  b < P     gives a result below 3P     (unreduced input)
 *     a < 3P, b < 3P    gives less than 2.3P        (inside a power)
 *     a < 6P, b < 3P    gives less than 2.6P        (sum of two products)
 * A sample lies in [0, 2^52]: the product leaves exactly 2^52 when the carry
 * from the lane below meets a sample of all ones. That is right and stays
 * right as an operand, see warprsa_row().
 */
#ifndef WARPRSA_GPU_ARITH_WIDE_SAMPLE_H
#define WARPRSA_GPU_ARITH_WIDE_SAMPLE_H

#include <math.h>
#include <string.h>

#include "gpu/arith/lanes.h"
#include "gpu/arith/prepared_key.h"

#define WARPRSA_SAMPLE_BITS          52
#define WARPRSA_SAMPLE_MASK          0xFFFFFFFFFFFFFull
#define WARPRSA_LIMBS_PER_THREAD_MAX 5 /* samples a lane holds at most */
#define WARPRSA_HALF_LIMBS_MAX       WARPRSA_HALF_SAMPLES

/* A sample, and the integer that it holds. */
typedef double warprsa_sample_t;
typedef uint64_t warprsa_sample_bits_t;

typedef struct warprsa_number {
    warprsa_sample_t of[WARPRSA_LANES_EMULATED][WARPRSA_LIMBS_PER_THREAD_MAX];
} warprsa_number;

/* A key as this arithmetic wants it. */
typedef warprsa_prepared_key warprsa_operation_key;
typedef warprsa_prepared_half warprsa_operation_half;

#define warprsa_prepare_operation_key warprsa_prepare_key
#ifdef WARPRSA_BLOCK_ARITH
#define WARPRSA_SHAPES_FEW                                                     \
    {                                                                          \
        WARPRSA_BLOCK_SHAPE_1024, WARPRSA_BLOCK_SHAPE_2048,                    \
            WARPRSA_BLOCK_SHAPE_3072, WARPRSA_BLOCK_SHAPE_4096                 \
    }
#else
#define WARPRSA_SHAPES_FEW                                                     \
    {                                                                          \
        WARPRSA_SHAPE_1024, WARPRSA_SHAPE_2048, WARPRSA_SHAPE_3072,            \
            WARPRSA_SHAPE_4096                                                 \
    }
#endif
#define WARPRSA_SHAPES_MANY WARPRSA_SHAPES_FEW

/* Column sums; carries not resolved. Unsigned in the product, read as two's
 * complement by warprsa_normalise(). */
typedef struct warprsa_columns {
    uint64_t of[WARPRSA_LANES_EMULATED][WARPRSA_LIMBS_PER_THREAD_MAX + 1];
} warprsa_columns;

#ifdef WARPRSA_BLOCK_ARITH
/* Where a request keeps what its lanes exchange: on the device, the place in
 * its block's shared memory, in doubles. */
#ifdef __CUDACC__
typedef unsigned warprsa_exchange;
#else
typedef double *warprsa_exchange;
#endif
#endif

/* A modulus and what the product needs of it. */
typedef struct warprsa_modulus {
    warprsa_number p, inv_2_52;           /* P, 2^-52 mod P */
    double n0inv[WARPRSA_LANES_EMULATED]; /* -1/P mod 2^52 */
#ifdef WARPRSA_BLOCK_ARITH
    warprsa_exchange
        exchange; /* of the request, where the primes' constants lie */
#endif
} warprsa_modulus;

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

/* Of a blinding factor at most. */
#define WARPRSA_BLINDING_BITS (WARPRSA_SAMPLE_BITS * WARPRSA_BLINDING_SAMPLES)

/* The random bits that sample `index` of a blinding factor is cut from. */
WARPRSA_FN uint64_t warprsa_random_bits(const uint64_t *random, int index)
{
    return index < WARPRSA_BLINDING_SAMPLES ? random[index] : 0;
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
WARPRSA_FN void warprsa_row(uint64_t *s, double t, const double *v,
                            const int limbs_per_thread)
{
    uint64_t carried = 0;

    WARPRSA_UNROLL
    for (int i = 0; i < limbs_per_thread; i++) {
        double high = warprsa_fma_rz(t, v[i], 0x1p104);
        double low = warprsa_fma_rz(t, v[i], (0x1p104 + 0x1p52) - high);

        s[i] += warprsa_bits(low) + carried;
        carried = warprsa_bits(high);
    }
    s[limbs_per_thread] += carried;
}

/* Broadcast of sample i of a number. */
WARPRSA_FN void warprsa_broadcast_sample(double *to, const warprsa_number *a,
                                         int lane, int place,
                                         const int threads_per_number,
                                         const int threads_per_request)
{
    uint64_t bits[WARPRSA_LANES_EMULATED];

    WARPRSA_EACH_LANE (k, threads_per_request) {
        bits[k] = warprsa_bits(a->of[k][place]);
    }
    warprsa_broadcast(bits, bits, lane, threads_per_number,
                      threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        to[k] = warprsa_from_bits(bits[k]);
    }
}

/* Moves all columns down one sample: the lowest gives its carry to the next,
 * the rest of it goes to the lane below (from lane 0 nowhere), and a fresh
 * column enters at the top. */
WARPRSA_FN void warprsa_shift_columns(warprsa_columns *s,
                                      const int threads_per_number,
                                      const int limbs_per_thread,
                                      const int threads_per_request)
{
    uint64_t down[WARPRSA_LANES_EMULATED];

    WARPRSA_EACH_LANE (k, threads_per_request) {
        uint64_t lane = (uint64_t)warprsa_lane(k, threads_per_request) &
                        (uint64_t)(threads_per_number - 1);

        down[k] = lane != 0 ? s->of[k][0] & WARPRSA_SAMPLE_MASK : 0;
    }
    warprsa_rotate(down, down, 1, threads_per_number, threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        s->of[k][0] = s->of[k][1] + (s->of[k][0] >> 52);
        WARPRSA_UNROLL
        for (int i = 1; i < limbs_per_thread - 1; i++)
            s->of[k][i] = s->of[k][i + 1];
        s->of[k][limbs_per_thread - 1] = s->of[k][limbs_per_thread] + down[k];
        s->of[k][limbs_per_thread] =
            warprsa_column_start(2 * limbs_per_thread, 2 * limbs_per_thread);
    }
}

/* The lowest sample of the sum, in every lane. */
WARPRSA_FN void warprsa_lowest_sample(double *x, const warprsa_columns *s,
                                      const int threads_per_number,
                                      const int threads_per_request)
{
    uint64_t bits[WARPRSA_LANES_EMULATED];

    WARPRSA_EACH_LANE (k, threads_per_request) {
        bits[k] = s->of[k][0] & WARPRSA_SAMPLE_MASK;
    }
    warprsa_broadcast(bits, bits, 0, threads_per_number, threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        x[k] = warprsa_sample(bits[k]);
    }
}

/*
 * One row of the Montgomery product: the sum S takes t * a and is divided by
 * 2^52. Of the lowest sample x, which is cut off, x 2^-52 mod P comes back:
 *     S = floor(S / 2^52) + x (2^-52 mod P)
 * which needs no quotient. It may leave S as large as 2^52 P; therefore the
 * last row is the classical one, S = (S + q P) / 2^52 with q = -x / P mod
 * 2^52 (figures 8-10). What the rows bring back is, seen from the end, less
 * than P (1 + 2^-52 + ...) in all but the last and less than P in that.
 */
WARPRSA_FN void warprsa_mont_mul_row(warprsa_columns *s, const double *t,
                                     const warprsa_number *a,
                                     const warprsa_modulus *m, int last,
                                     const int threads_per_number,
                                     const int limbs_per_thread,
                                     const int threads_per_request)
{
    double x[WARPRSA_LANES_EMULATED];

    WARPRSA_EACH_LANE (k, threads_per_request) {
        warprsa_row(s->of[k], t[k], a->of[k], limbs_per_thread);
    }
    warprsa_lowest_sample(x, s, threads_per_number, threads_per_request);
    if (last) {
        WARPRSA_EACH_LANE (k, threads_per_request) {
            double high = warprsa_fma_rz(x[k], m->n0inv[k], 0x1p104);
            double q = warprsa_fma_rz(x[k], m->n0inv[k], 0x1p104 - high);

            warprsa_row(s->of[k], q, m->p.of[k], limbs_per_thread);
            /* A low half that the lowest column was not started for. */
            s->of[k][0] += warprsa_column_start(0, 1);
        }
        warprsa_shift_columns(s, threads_per_number, limbs_per_thread,
                              threads_per_request);
    } else {
        warprsa_shift_columns(s, threads_per_number, limbs_per_thread,
                              threads_per_request);
        WARPRSA_EACH_LANE (k, threads_per_request) {
            warprsa_row(s->of[k], x[k], m->inv_2_52.of[k], limbs_per_thread);
        }
    }
}

/* Columns to samples: each lane resolves its own carries, pushes what leaves
 * it exactly one lane up, and there it can run on for one sample only: the
 * lane above is below 2^52 in each sample and the carry below 2^12, so the
 * first sample's carry is 0 or 1 and the second ends at 2^52 at most. */
WARPRSA_FN void warprsa_resolve(warprsa_number *r, warprsa_columns *s,
                                const int threads_per_number,
                                const int limbs_per_thread,
                                const int threads_per_request)
{
    uint64_t up[WARPRSA_LANES_EMULATED];

    WARPRSA_EACH_LANE (k, threads_per_request) {
        WARPRSA_UNROLL
        for (int i = 1; i < limbs_per_thread; i++) {
            s->of[k][i] += s->of[k][i - 1] >> 52;
            s->of[k][i - 1] &= WARPRSA_SAMPLE_MASK;
        }
        up[k] = s->of[k][limbs_per_thread - 1] >> 52;
        s->of[k][limbs_per_thread - 1] &= WARPRSA_SAMPLE_MASK;
    }
    warprsa_rotate(up, up, -1, threads_per_number, threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        /* The number is below R: nothing leaves its top lane. */
        uint64_t in = (warprsa_lane(k, threads_per_request) &
                       (threads_per_number - 1)) != 0
                          ? up[k]
                          : 0;

        s->of[k][0] += in;
        s->of[k][1] += s->of[k][0] >> 52;
        s->of[k][0] &= WARPRSA_SAMPLE_MASK;
        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            r->of[k][i] = warprsa_sample(s->of[k][i]);
    }
}

/*
 * Start values of the columns, and what makes them right at the end. A column
 * that enters is started for 2L high and 2L low halves. One that is there from
 * the start at place i has been, in its i + 1 rows, at the places i..0 when
 * t * a was added and i - 1..0 when x (2^-52 mod P) was; the one at L missed
 * one high half. One that ends at place L - left entered `left` rows before
 * the end and met fewer; in the last row both sums come before the shift.
 */
WARPRSA_FN void warprsa_start_columns(warprsa_columns *s,
                                      const int limbs_per_thread,
                                      const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        s->of[k][0] = warprsa_column_start(0, 1);
        WARPRSA_UNROLL
        for (int i = 1; i < limbs_per_thread; i++)
            s->of[k][i] = warprsa_column_start(2 * i - 1, 2 * i + 1);
        s->of[k][limbs_per_thread] = warprsa_column_start(
            2 * limbs_per_thread - 1, 2 * limbs_per_thread);
    }
}

WARPRSA_FN void warprsa_finish_columns(warprsa_columns *s,
                                       const int limbs_per_thread,
                                       const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        WARPRSA_UNROLL
        for (int left = 1; left <= limbs_per_thread; left++)
            s->of[k][limbs_per_thread - left] +=
                warprsa_column_start(2 * left + 1, 2 * left - 1 - (left == 1)) -
                warprsa_column_start(2 * limbs_per_thread,
                                     2 * limbs_per_thread);
    }
}

/* r = a b / R mod P, up to two more P (bounds above). r may be a or b. */
WARPRSA_FN void warprsa_mont_mul_by_rows(
    warprsa_number *r, const warprsa_number *a, const warprsa_number *b,
    const warprsa_modulus *m, const int limbs, const int threads_per_number,
    const int limbs_per_thread, const int threads_per_request)
{
    warprsa_columns s;

    warprsa_start_columns(&s, limbs_per_thread, threads_per_request);
    WARPRSA_ROLLED
    for (int lane = 0; lane * limbs_per_thread < limbs; lane++) {
        WARPRSA_UNROLL
        for (int place = 0; place < limbs_per_thread; place++) {
            const int may_end = (limbs - 1) % limbs_per_thread == place;
            double t[WARPRSA_LANES_EMULATED];

            warprsa_broadcast_sample(t, b, lane, place, threads_per_number,
                                     threads_per_request);
            warprsa_mont_mul_row(
                &s, t, a, m,
                may_end && lane * limbs_per_thread + place == limbs - 1,
                threads_per_number, limbs_per_thread, threads_per_request);
            if (limbs % limbs_per_thread != 0 && may_end &&
                lane * limbs_per_thread + place == limbs - 1)
                break;
        }
    }
    warprsa_finish_columns(&s, limbs_per_thread, threads_per_request);
    warprsa_resolve(r, &s, threads_per_number, limbs_per_thread,
                    threads_per_request);
}

#ifndef WARPRSA_BLOCK_ARITH
WARPRSA_FN void warprsa_mont_mul(warprsa_number *r, const warprsa_number *a,
                                 const warprsa_number *b,
                                 const warprsa_modulus *m, const int limbs,
                                 const int threads_per_number,
                                 const int limbs_per_thread,
                                 const int threads_per_request)
{
    warprsa_mont_mul_by_rows(r, a, b, m, limbs, threads_per_number,
                             limbs_per_thread, threads_per_request);
}

/* r = a^2 / R mod P; nothing is gained here by the factors being the same. */
WARPRSA_FN void warprsa_mont_sqr(warprsa_number *r, const warprsa_number *a,
                                 const warprsa_modulus *m, const int limbs,
                                 const int threads_per_number,
                                 const int limbs_per_thread,
                                 const int threads_per_request)
{
    warprsa_mont_mul(r, a, a, m, limbs, threads_per_number, limbs_per_thread,
                     threads_per_request);
}
#endif

#endif
