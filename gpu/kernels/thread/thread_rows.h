/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The data of a thread that computes a modexp, and the rows of its products,
 * which are summed up in columns of 64 bits. The bounds are in
 * gpu/kernels/thread/thread_modexp.h.
 */
#ifndef WARPRSA_GPU_KERNELS_THREAD_THREAD_ROWS_H
#define WARPRSA_GPU_KERNELS_THREAD_THREAD_ROWS_H

#include "gpu/arith/private_operation.h"

#ifdef __CUDACC__
#define WARPRSA_CONSTANT_FN static constexpr
#else
#define WARPRSA_CONSTANT_FN static inline
#endif

/* Blocks of rows in a product, so W = N / 5. */
#define WARPRSA_THREAD_BLOCKS  5
#define WARPRSA_BLOCK_ROWS_MAX (WARPRSA_HALF_SAMPLES / WARPRSA_THREAD_BLOCKS)
/* See warprsa_step(). */
#define WARPRSA_BALANCED_START 0x1.8p104
/* In units of 2^52. The bias makes every column positive: a column's true sum
 * is at least -2 N 2^51 > -2^58, so 2^60 is enough. With the bias the sum is at
 * most 2 N (2^52 + 2^51) + 2^60 < 2^61. */
#define WARPRSA_COLUMN_BIAS 256ull

/* One thread's data. Sample j of an operand is at (j / 2) * 2 * stride + j % 2.
 * Samples lie in pairs, so that one load reads two. */
typedef struct warprsa_thread {
    double *a, *p; /* the base and the result; the modulus (balanced) */
    int stride;
    double n0inv; /* -1/P mod 2^52 */
    /* Entry e of the table: its pair i is at
     * (i * TABLE_SIZE + e) * 2 * table_stride. */
    double *table;
    int table_stride;
    /* On the device: what this lane prefetches for turn 0. See
     * warprsa_fetch_from(). */
    const double *fetch;
    /* The chosen entry, which is the multiplier: its first `near` pairs. The
     * others are behind the table. */
    double *chosen;
    int near;
    const uint32_t *exponent;
    int windows;
    const uint64_t *start; /* [2][2 N], warprsa_thread_start() */
} warprsa_thread;

/* The number of products a_i b_j of two numbers with i + j = column. */
WARPRSA_CONSTANT_FN int warprsa_in_column(int column, int N)
{
    return column < 0 || column > 2 * N - 2 ? 0
           : column < N                     ? column + 1
                                            : 2 * N - 1 - column;
}

/*
 * The start value of column `column` of a product or square. It is the sum of:
 * - minus the exponent fields and offsets of the halves that are going to be
 *   added to the column: those of T a, of which a square has just over half,
 *   and those of q P;
 * - 2^51, which rounds the column's sample to the nearest;
 * - the bias, less what the column below carries of its own bias. The lowest
 *   column has none below.
 *
 * The two words are swapped; see warprsa_column().
 */
WARPRSA_CONSTANT_FN uint64_t warprsa_thread_start(int square, int column, int N)
{
    const uint64_t below = (uint64_t)warprsa_in_column(column - 1, N);
    const uint64_t here = (uint64_t)warprsa_in_column(column, N);
    const uint64_t low = here + (square ? (here + 1) / 2 : here);
    const uint64_t high = below + (square ? (below + 1) / 2 : below);
    const uint64_t start =
        0 -
        (low * (0x433ull << 52) + high * ((0x467ull << 52) + (1ull << 51))) +
        (1ull << 51) + (WARPRSA_COLUMN_BIAS << 52) -
        (column != 0 ? WARPRSA_COLUMN_BIAS : 0);

    return start << 32 | start >> 32;
}

/* A column's start value. The low word is loaded first and becomes the odd
 * register of a pair. Then an addition of three 64-bit numbers reads from both
 * banks of the register file. */
WARPRSA_FN uint64_t warprsa_column(const uint64_t *start)
{
#ifdef __CUDACC__
    uint2 words = *reinterpret_cast<const uint2 *>(start);

    return (uint64_t)words.x << 32 | words.y;
#else
    return *start << 32 | *start >> 32;
#endif
}

/* Loads two adjacent samples. The load is volatile on the device, so that the
 * compiler does not hoist it out of the loop over the blocks. Hoisted loads
 * would cost registers. */
WARPRSA_FN void warprsa_load_pair(double pair[2], const double *from)
{
#ifdef __CUDACC__
    asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];"
                 : "=d"(pair[0]), "=d"(pair[1])
                 : "r"((uint32_t)__cvta_generic_to_shared(from)));
#else
    pair[0] = from[0];
    pair[1] = from[1];
#endif
}

WARPRSA_FN double *warprsa_pair_at(double *of, int pair, const int stride)
{
    return of + pair * 2 * stride;
}

/*
 * Adds to one column the low half of t v and the high half of the product
 * before it in its row. The high half is
 *     high = 1.5 2^104 + floor(t v / 2^52) 2^52.
 * |t v| <= 2^103 (one factor may be a doubled sample, or q), so the sum lies in
 * [2^104, 2^105]. There the doubles are 2^52 apart, and rounding toward zero is
 * the floor. The low half is 2^52 + the rest, exactly.
 */
WARPRSA_FN void warprsa_step(uint64_t *s, double t, double v, double *high,
                             int first)
{
    double now = warprsa_fma_rz(t, v, WARPRSA_BALANCED_START);
    double low = warprsa_fma_rz(t, v, (WARPRSA_BALANCED_START + 0x1p52) - now);

    WARPRSA_BOUND(
        "Balanced samples, one thread a number",
        now >= 0x1p104 && now <= 0x1p105 && low >= 0x1p52 && low < 0x1p53 &&
            warprsa_halves_are_exact(t, v, now, low, WARPRSA_BALANCED_START));
    *s += warprsa_bits(low);
    if (!first)
        *s += warprsa_bits(*high);
    *high = now;
}

/* The double whose fraction is a column's low 52 bits and whose exponent is
 * that of 2^52. The high word takes one instruction; the compiler would use
 * two. */
WARPRSA_FN double warprsa_column_double(uint64_t column)
{
#ifdef __CUDACC__
    uint32_t high = (uint32_t)(column >> 32);

    /* 0xea: high & 0xfffff | 0x43300000 */
    asm("lop3.b32 %0, %0, 0xfffff, %1, 0xea;" : "+r"(high) : "r"(0x43300000));
    return warprsa_from_bits((uint64_t)high << 32 | (uint32_t)column);
#else
    return warprsa_from_bits((column & WARPRSA_SAMPLE_MASK) |
                             0x4330000000000000ull);
#endif
}

/* The balanced sample of a column that holds 2^51 more than its value. */
WARPRSA_FN double warprsa_balanced(uint64_t column)
{
    return warprsa_column_double(column) - (0x1p52 + 0x1p51);
}

/* What a column carries to the next one. Both hold the bias. */
WARPRSA_FN uint64_t warprsa_column_carry(uint64_t column)
{
    return (uint32_t)(column >> 32) >> 20;
}

/* Adds the products of W rows with one sample v, which is sample j of a number,
 * to columns j .. j + W - 1. The last row comes first: the registers that the
 * compiler then assigns have fewer bank conflicts. Before compute capability
 * 9.0 this order takes more registers than RSA-4096, with eight rows, has left.
 */
WARPRSA_FN void warprsa_rows(uint64_t *s, const double *t, double v,
                             double *high, int first, const int W)
{
    WARPRSA_UNROLL
    for (int i = 0; i < W; i++) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
        const int r = W == 8 ? i : W - 1 - i;
#else
        const int r = W - 1 - i;
#endif

        warprsa_step(&s[r], t[r], v, &high[r], first);
    }
}

/* Computes S += T a for the multiplier's samples T of one block. The rows' last
 * high halves, which belong to columns N .. N + W - 1, are not added but
 * returned in `high`. */
WARPRSA_FN void warprsa_rows_multiply(uint64_t *s, double *high,
                                      const double *t, const warprsa_thread *x,
                                      const int N, const int W)
{
    WARPRSA_UNROLL
    for (int j = 0; j < N; j += 2) {
        double v[2];

        warprsa_load_pair(v, warprsa_pair_at(x->a, j / 2, x->stride));
        warprsa_rows(s + j, t, v[0], high, j == 0, W);
        warprsa_rows(s + j + 1, t, v[1], high, 0, W);
    }
}

/* The parts of block `block` of a square. OWN: the products of the block's own
 * samples, a sample's square once and the product of two samples twice. ABOVE:
 * the products with all samples above the block, twice. The blocks before have
 * added the products with the samples below. */
#define WARPRSA_OWN   1
#define WARPRSA_ABOVE 2

WARPRSA_FN void warprsa_rows_square(uint64_t *s, double *high,
                                    const double *own, const double *twice,
                                    const warprsa_thread *x, int block,
                                    const int parts, const int N, const int W)
{
    WARPRSA_UNROLL
    for (int other = 0; other < N / W; other++) {
        if ((parts & WARPRSA_OWN) && other == block) {
            WARPRSA_UNROLL
            for (int r = 0; r < W; r++) {
                warprsa_step(&s[W * other + 2 * r], own[r], own[r], &high[r],
                             1);
                WARPRSA_UNROLL
                for (int i = r + 1; i < W; i++)
                    warprsa_step(&s[W * other + r + i], twice[r], own[i],
                                 &high[r], 0);
            }
        }
        if ((parts & WARPRSA_ABOVE) && other > block) {
            WARPRSA_UNROLL
            for (int j = W * other; j < W * other + W; j += 2) {
                double v[2];

                warprsa_load_pair(v, warprsa_pair_at(x->a, j / 2, x->stride));
                warprsa_rows(s + j, twice, v[0], high, 0, W);
                warprsa_rows(s + j + 1, twice, v[1], high, 0, W);
            }
        }
    }
}

/*
 * Reduces W columns. It computes W quotient samples q, each from the lowest
 * column that is left, and adds their products with the low W samples of P in
 * order. Then it adds the products with the other samples of P.
 *
 * The column's sample x is balanced and -1/P mod 2^52 is below 2^52, so the
 * absolute value of their product is below 2^103. q is the product mod 2^52, in
 * [0, 2^52). q times a balanced sample of P stays within 2^103. `before` has
 * the high halves that the rows before left; they are added together with the
 * last high halves of these rows.
 */
WARPRSA_FN void warprsa_rows_reduce(uint64_t *s, const double *before,
                                    const warprsa_thread *x, const int N,
                                    const int W)
{
    double q[WARPRSA_BLOCK_ROWS_MAX], high[WARPRSA_BLOCK_ROWS_MAX];
    double p[WARPRSA_BLOCK_ROWS_MAX];

    WARPRSA_UNROLL
    for (int j = 0; j < W; j += 2)
        warprsa_load_pair(p + j, warprsa_pair_at(x->p, j / 2, x->stride));
    WARPRSA_UNROLL
    for (int r = 0; r < W; r++) {
        double low = warprsa_balanced(s[r]);
        double up = warprsa_fma_rz(low, x->n0inv, WARPRSA_BALANCED_START);

        q[r] = warprsa_fma_rz(low, x->n0inv, WARPRSA_BALANCED_START - up);
        WARPRSA_BOUND("Balanced samples, one thread a number: Quotients",
                      fabs(low) <= 0x1p51 && q[r] >= 0 && q[r] < 0x1p52 &&
                          (uint64_t)q[r] ==
                              ((uint64_t)(int64_t)low * (uint64_t)x->n0inv &
                               WARPRSA_SAMPLE_MASK));
        WARPRSA_UNROLL
        for (int j = 0; j < W - r; j++)
            warprsa_step(&s[r + j], q[r], p[j], &high[r], j == 0);
        WARPRSA_BOUND("Balanced samples, one thread a number: Columns",
                      s[r] < 1ull << 61 &&
                          s[r] >= (1ull << 60) - (1ull << 58) &&
                          (s[r] & WARPRSA_SAMPLE_MASK) == 1ull << 51);
        s[r + 1] += warprsa_column_carry(s[r]);
    }
    WARPRSA_UNROLL
    for (int j = 1; j < W; j++)
        WARPRSA_UNROLL
    for (int r = W - j; r < W; r++)
        warprsa_step(&s[r + j], q[r], p[j], &high[r], 0);
    WARPRSA_UNROLL
    for (int j = W; j < N; j += 2) {
        double v[2];

        warprsa_load_pair(v, warprsa_pair_at(x->p, j / 2, x->stride));
        warprsa_rows(s + j, q, v[0], high, 0, W);
        warprsa_rows(s + j + 1, q, v[1], high, 0, W);
    }
    WARPRSA_UNROLL
    for (int r = 0; r < W; r++)
        s[N + r] += warprsa_bits(before[r]) + warprsa_bits(high[r]);
}

#endif
