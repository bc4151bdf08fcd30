/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Numbers in samples of 52 bits held in double precision, and their Montgomery
 * product (Emmart, Zheng, Weems: "Faster Modular Exponentiation using Double
 * Precision Floating Point Arithmetic on the GPU", ARITH 2018, figures 3-10;
 * the errata of the printed listings are marked). "Sample" is that paper's word
 * for a limb.
 *
 * A number is spread over the threads_per_number lanes of a subgroup,
 * limbs_per_thread samples in each lane, least significant first. `limbs` is
 * how many samples a number really has (limbs <= threads_per_number *
 * limbs_per_thread; the samples above are zero), and R = 2^(52 limbs).
 *
 * Bounds. A modulus P has at most 52 limbs - 5 bits, so 32P < R. The product of
 * a and b is below ab/R + 2P (see warprsa_mont_mul_row()), hence
 *
 *   a < R,  b < P     gives a result below 3P     (unreduced input)
 *   a < 3P, b < 3P    gives less than 2.3P        (inside a modexp)
 *   a < 6P, b < 3P    gives less than 2.6P        (sum of two products)
 *
 * A sample lies in [0, 2^52]: the product leaves exactly 2^52 where the carry
 * from the lane below meets a sample of all ones. Such a number has the right
 * value, and warprsa_row() computes correctly with it.
 */
#ifndef WARPRSA_GPU_ARITH_WIDE_SAMPLE_H
#define WARPRSA_GPU_ARITH_WIDE_SAMPLE_H

#include <math.h>
#include <string.h>

#include "gpu/arith/bound.h"
#include "gpu/arith/lanes.h"
#include "gpu/arith/prepared_key.h"

#define WARPRSA_SAMPLE_BITS          52
#define WARPRSA_SAMPLE_MASK          0xFFFFFFFFFFFFFull
#define WARPRSA_LIMBS_PER_THREAD_MAX 5 /* samples in a lane at most */
#define WARPRSA_HALF_LIMBS_MAX       WARPRSA_HALF_SAMPLES

/* The type of a sample, and of the integer that it holds. */
typedef double warprsa_sample_t;
typedef uint64_t warprsa_sample_bits_t;

typedef struct warprsa_number {
    warprsa_sample_t of[WARPRSA_LANES_EMULATED][WARPRSA_LIMBS_PER_THREAD_MAX];
} warprsa_number;

/* A private key prepared for this arithmetic. */
typedef warprsa_prepared_key warprsa_operation_key;
typedef warprsa_prepared_half warprsa_operation_half;

#define warprsa_prepare_operation_key warprsa_prepare_key
#ifdef WARPRSA_BLOCK_ARITH
#define WARPRSA_SHAPES_FEW                                                     \
    {                                                                          \
        WARPRSA_BLOCK_SHAPE_1024, WARPRSA_BLOCK_SHAPE_2048,                    \
            WARPRSA_BLOCK_SHAPE_3072, WARPRSA_BLOCK_SHAPE_4096                 \
    }
#elif defined(WARPRSA_LARGE)
#define WARPRSA_SHAPES_FEW                                                     \
    {                                                                          \
        [WARPRSA_CLASS_6144] = WARPRSA_SHAPE_6144,                             \
        [WARPRSA_CLASS_8192] = WARPRSA_SHAPE_8192,                             \
    }
#else
#define WARPRSA_SHAPES_FEW                                                     \
    {                                                                          \
        WARPRSA_SHAPE_1024, WARPRSA_SHAPE_2048, WARPRSA_SHAPE_3072,            \
            WARPRSA_SHAPE_4096                                                 \
    }
#endif
#define WARPRSA_SHAPES_MANY WARPRSA_SHAPES_FEW

/* Column sums, carries not resolved. Unsigned within the product;
 * warprsa_normalise() reads them as two's complement. */
typedef struct warprsa_columns {
    uint64_t of[WARPRSA_LANES_EMULATED][WARPRSA_LIMBS_PER_THREAD_MAX + 1];
} warprsa_columns;

#ifdef WARPRSA_BLOCK_ARITH
/* The buffer through which the lanes of a request exchange samples: on the
 * device an offset into the shared memory of the block of threads, in doubles;
 * on the host an array. */
#ifdef __CUDACC__
typedef unsigned warprsa_exchange;
#else
typedef double *warprsa_exchange;
#endif
#endif

/* A modulus and the constants that its product needs. */
typedef struct warprsa_modulus {
    warprsa_number p, inv_2_52;           /* P, 2^-52 mod P */
    double n0inv[WARPRSA_LANES_EMULATED]; /* -1/P mod 2^52 */
#ifdef WARPRSA_BLOCK_ARITH
    warprsa_exchange exchange; /* holds the constants of both primes */
#endif
} warprsa_modulus;

#include "gpu/arith/number_bound.h"

/* a * b + c, rounded toward zero. On the host fma() rounds by the mode in
 * force, which the engine sets with fesetround(). */
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

/* An integer in [0, 2^52] to a double. With the exponent of 2^52 in front of
 * it, its bits read 2^52 + x. At x = 2^52 the carry into the exponent makes
 * them read 2^53, which is 2^52 + x again. */
WARPRSA_FN double warprsa_sample(uint64_t x)
{
    return warprsa_from_bits(x + 0x4330000000000000ull) - 0x1p52;
}

/* Bits of a blinding factor, at most. */
#define WARPRSA_BLINDING_BITS (WARPRSA_SAMPLE_BITS * WARPRSA_BLINDING_SAMPLES)

/* The random bits that sample `index` of a blinding factor is made of. */
WARPRSA_FN uint64_t warprsa_random_bits(const uint64_t *random, int index)
{
    return index < WARPRSA_BLINDING_SAMPLES ? random[index] : 0;
}

/* The value that a column must start from, so that the exponent fields of
 * `high` high and `low` low half products cancel (figure 4 of the paper): 0x467
 * is the biased exponent of 2^104, 0x433 that of 2^52. */
WARPRSA_FN uint64_t warprsa_column_start(int high, int low)
{
    return (0 - ((uint64_t)high * 0x467 + (uint64_t)low * 0x433)) << 52;
}

/*
 * One row of a product: adds t * v to the columns. The 104-bit product of t and
 * a sample is split into two halves:
 *
 *   high = 2^104 + floor(t v / 2^52) 2^52    exact: the sum lies in
 *          [2^104, 2^105], where doubles are 2^52 apart, and rounding is
 *          toward zero
 *   low  = 2^52 + (t v mod 2^52)             exact
 *
 * Erratum: figure 8 of the paper prints "hi - c2" for "c2 - hi". With t = v =
 * 2^52 high is 2^105. Its bits are those of 2^104 plus 2^52, as the encoding of
 * doubles is continuous, and the sum stays right.
 *
 * A column takes at most 2 limbs_per_thread high and 2 limbs_per_thread low
 * halves below 2^52 each and two carries: less than 2^58 for limbs_per_thread =
 * 5. So 64 bits do not overflow once the exponent fields have cancelled.
 */
WARPRSA_FN void warprsa_row(uint64_t *s, double t, const double *v,
                            const int limbs_per_thread)
{
    uint64_t carried = 0;

    WARPRSA_UNROLL
    for (int i = 0; i < limbs_per_thread; i++) {
        double high = warprsa_fma_rz(t, v[i], 0x1p104);
        double low = warprsa_fma_rz(t, v[i], (0x1p104 + 0x1p52) - high);

        WARPRSA_BOUND("A product of two samples in two halves: A sample may be "
                      "2^52",
                      t >= 0 && t <= 0x1p52 && v[i] >= 0 && v[i] <= 0x1p52);
        WARPRSA_BOUND(
            "A product of two samples in two halves",
            high >= 0x1p104 && high <= 0x1p105 && low < 0x1p53 &&
                warprsa_halves_are_exact(t, v[i], high, low, 0x1p104));
        s[i] += warprsa_bits(low) + carried;
        carried = warprsa_bits(high);
    }
    s[limbs_per_thread] += carried;
}

/* Gives sample `index` of lane `lane` to every lane of its subgroup. */
WARPRSA_FN void warprsa_broadcast_sample(double *to, const warprsa_number *a,
                                         int lane, int index,
                                         const int threads_per_number,
                                         const int threads_per_request)
{
    uint64_t bits[WARPRSA_LANES_EMULATED];

    WARPRSA_EACH_LANE (k, threads_per_request) {
        bits[k] = warprsa_bits(a->of[k][index]);
    }
    warprsa_broadcast(bits, bits, lane, threads_per_number,
                      threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        to[k] = warprsa_from_bits(bits[k]);
    }
}

/* Divides the sum by 2^52, dropping its lowest sample: all columns move down by
 * one. A lane's lowest column adds its carry to the column above and passes its
 * 52 low bits to the top column of the lane below; in lane 0 these bits are the
 * ones dropped. A new column enters at the top of each lane. */
WARPRSA_FN void warprsa_shift_columns(warprsa_columns *s,
                                      const int threads_per_number,
                                      const int limbs_per_thread,
                                      const int threads_per_request)
{
    uint64_t down[WARPRSA_LANES_EMULATED];

    WARPRSA_EACH_LANE (k, threads_per_request) {
        uint64_t lane = (uint64_t)warprsa_lane(k, threads_per_request) &
                        (uint64_t)(threads_per_number - 1);

        WARPRSA_BOUND("A product of two samples in two halves: Columns do not "
                      "overflow",
                      s->of[k][0] < 1ull << 58);
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

/* The lowest sample of the sum, given to every lane. */
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
 * One row of the Montgomery product: adds t * a to the sum S and divides S by
 * 2^52. The lowest sample x is cut off, and x 2^-52 mod P takes its place:
 *
 *   S = floor(S / 2^52) + x (2^-52 mod P)
 *
 * No quotient is needed for it, but it may leave S as large as 2^52 P. The last
 * row is therefore the classical one, S = (S + q P) / 2^52 with q = -x / P mod
 * 2^52 (figures 8-10 of the paper).
 *
 * Bound. What a row but the last adds for x is below 2^52 P and is divided by
 * 2^52 in each later row. Summed over these rows, that is less than P (1 +
 * 2^-52 + ...) at the end; the last row adds less than P. Hence the result is
 * below ab/R + 2P.
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

            WARPRSA_BOUND("Montgomery multiplication by rows",
                          (uint64_t)q ==
                              (((uint64_t)x[k] * (uint64_t)m->n0inv[k]) &
                               WARPRSA_SAMPLE_MASK));
            warprsa_row(s->of[k], q, m->p.of[k], limbs_per_thread);
            /* The lowest column was not started for this low half. */
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

/*
 * Resolves columns into samples. Each lane resolves its own carries and passes
 * what leaves it to the lane above. Nothing is passed on a second time: every
 * sample is below 2^52 by then and the carry that enters is below 2^12, so the
 * carry out of a lane's first sample is 0 or 1, and added to the second sample
 * it makes 2^52 at most, which a sample may be.
 */
WARPRSA_FN void warprsa_resolve(warprsa_number *r, warprsa_columns *s,
                                const int threads_per_number,
                                const int limbs_per_thread,
                                const int threads_per_request)
{
    uint64_t up[WARPRSA_LANES_EMULATED];

    WARPRSA_EACH_LANE (k, threads_per_request) {
        WARPRSA_VERIFY_ONLY(for (int i = 0; i < limbs_per_thread; i++))
        WARPRSA_BOUND("A product of two samples in two halves: Columns do not "
                      "overflow",
                      s->of[k][i] < 1ull << 58);
        WARPRSA_UNROLL
        for (int i = 1; i < limbs_per_thread; i++) {
            s->of[k][i] += s->of[k][i - 1] >> 52;
            s->of[k][i - 1] &= WARPRSA_SAMPLE_MASK;
        }
        up[k] = s->of[k][limbs_per_thread - 1] >> 52;
        s->of[k][limbs_per_thread - 1] &= WARPRSA_SAMPLE_MASK;
        WARPRSA_BOUND("Montgomery multiplication by rows: Carries",
                      up[k] < (warprsa_lane_in_number(k, threads_per_number,
                                                      threads_per_request) ==
                                       threads_per_number - 1
                                   ? 1
                                   : 1 << 12));
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
        WARPRSA_BOUND("Montgomery multiplication by rows: Carries",
                      s->of[k][0] >> 52 <= 1 && s->of[k][1] <= 1ull << 52);
        s->of[k][0] &= WARPRSA_SAMPLE_MASK;
        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            r->of[k][i] = warprsa_sample(s->of[k][i]);
    }
}

/*
 * The columns' start values, and their correction at the end. A column that
 * enters at the top of a lane is started for 2 limbs_per_thread high and as
 * many low halves, which is what it takes on its way down through all columns
 * of the lane. Columns that do not make the whole way take fewer:
 *
 * Those there from the start. The one at index i is added to in i + 1 rows: at
 * the indices i..0 by t * a, and at i - 1..0 by x (2^-52 mod P). The column at
 * index limbs_per_thread misses one high half.
 *
 * Those still there at the end. The one at index limbs_per_thread - left
 * entered `left` rows before the end. In the last row both products are added
 * before the columns move.
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

/* r = a b / R mod P, plus at most two P (see the bounds above); r may be a or
 * b. */
WARPRSA_FN void warprsa_mont_mul_by_rows(
    warprsa_number *r, const warprsa_number *a, const warprsa_number *b,
    const warprsa_modulus *m, const int limbs, const int threads_per_number,
    const int limbs_per_thread, const int threads_per_request)
{
    warprsa_columns s;

    WARPRSA_VERIFY_ONLY(const warprsa_values product = warprsa_products_of(
                            a, b, limbs, threads_per_number, limbs_per_thread,
                            threads_per_request));
    warprsa_start_columns(&s, limbs_per_thread, threads_per_request);
    WARPRSA_ROLLED
    for (int lane = 0; lane * limbs_per_thread < limbs; lane++) {
        WARPRSA_UNROLL
        for (int index = 0; index < limbs_per_thread; index++) {
            const int may_end = (limbs - 1) % limbs_per_thread == index;
            double t[WARPRSA_LANES_EMULATED];

            warprsa_broadcast_sample(t, b, lane, index, threads_per_number,
                                     threads_per_request);
            warprsa_mont_mul_row(
                &s, t, a, m,
                may_end && lane * limbs_per_thread + index == limbs - 1,
                threads_per_number, limbs_per_thread, threads_per_request);
            if (limbs % limbs_per_thread != 0 && may_end &&
                lane * limbs_per_thread + index == limbs - 1)
                break;
        }
    }
    warprsa_finish_columns(&s, limbs_per_thread, threads_per_request);
    warprsa_resolve(r, &s, threads_per_number, limbs_per_thread,
                    threads_per_request);
    WARPRSA_BOUND("Montgomery multiplication by rows: Bound",
                  warprsa_are_below(r, &product, 2, &m->p, limbs,
                                    threads_per_number, limbs_per_thread,
                                    threads_per_request));
    WARPRSA_BOUND("Montgomery multiplication by rows: Bound",
                  warprsa_are_below(r, NULL, 3, &m->p, limbs,
                                    threads_per_number, limbs_per_thread,
                                    threads_per_request));
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

/* r = a^2 / R mod P. Nothing is gained here by the factors being equal. */
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
