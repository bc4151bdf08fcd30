/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a thread that raises a number has, and the rows of its products: sums
 * in columns of 64 bits. gpu/kernels/thread/thread_modexp.h gives the bounds.
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
/* Makes every column positive: a column's true sum is at least -2 N 2^51 >
 * -2^58, so 2^60 is enough, and at most 2 N (2^52 + 2^51) + 2^60 < 2^61. */
#define WARPRSA_COLUMN_BIAS 256ull

/* One thread's data. Sample j of an operand is at
 * (j / 2) * 2 * stride + j % 2: pairs, so that a load brings two. */
typedef struct warprsa_thread {
    double *a, *p; /* the number that is raised, the modulus (balanced) */
    int stride;
    double n0inv; /* -1/P mod 2^52 */
    /* Entry e of the table: its pair i is at
     * (i * TABLE_SIZE + e) * 2 * table_stride. */
    double *table;
    int table_stride;
    /* On the device: what this lane fetches for turn 0, see
     * warprsa_fetch_from(). */
    const double *fetch;
    /* The entry that is multiplied by: `near` pairs, the others behind the
     * table. */
    double *chosen;
    int near;
    const uint32_t *exponent;
    int windows;
    const uint64_t *start; /* [2][2 N], warprsa_thread_start() */
} warprsa_thread;

/* How many of the products a_i b_j of two numbers have i + j = column. */
WARPRSA_CONSTANT_FN int warprsa_in_column(int column, int N)
{
    return column < 0 || column > 2 * N - 2 ? 0
           : column < N                     ? column + 1
                                            : 2 * N - 1 - column;
}

/*
 * What column `column` of a product or square starts with: minus the exponent
 * fields and offsets of the halves that it will take (those of T a, of which a
 * square has just over half, and of q P), plus 2^51, which rounds its sample
 * to the nearest, plus the bias, which comes in from the column below but for
 * the lowest. The two words are swapped, see warprsa_column().
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

/* A column's start. The low word is loaded first and becomes the odd register
 * of a pair; then an addition of three 64-bit numbers reads from both banks of
 * the register file. */
WARPRSA_FN uint64_t warprsa_column(const uint64_t *start)
{
#ifdef __CUDACC__
    uint2 words = *reinterpret_cast<const uint2 *>(start);

    return (uint64_t)words.x << 32 | words.y;
#else
    return *start << 32 | *start >> 32;
#endif
}

/* Two samples that lie side by side. Volatile on the device: kept from being
 * hoisted out of the loop over the blocks, where they would cost registers. */
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
 * One column takes the low half of t v and the high half of the product
 * before it in its row. high = 1.5 2^104 + floor(t v / 2^52) 2^52: |t v| <=
 * 2^103 (one factor may be a doubled sample, or q), so the sum lies in
 * [2^104, 2^105], where a double counts by 2^52, and rounding toward zero is
 * the floor. low = 2^52 + the rest, exactly.
 */
WARPRSA_FN void warprsa_step(uint64_t *s, double t, double v, double *high,
                             int first)
{
    double now = warprsa_fma_rz(t, v, WARPRSA_BALANCED_START);
    double low = warprsa_fma_rz(t, v, (WARPRSA_BALANCED_START + 0x1p52) - now);

    *s += warprsa_bits(low);
    if (!first)
        *s += warprsa_bits(*high);
    *high = now;
}

/* A number from a column's low 52 bits, with the exponent of 2^52: one
 * instruction, of which the compiler would make two. */
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

/* The balanced sample of a column that holds 2^51 more. */
WARPRSA_FN double warprsa_balanced(uint64_t column)
{
    return warprsa_column_double(column) - (0x1p52 + 0x1p51);
}

/* What a column leaves to the next; both hold the bias. */
WARPRSA_FN uint64_t warprsa_column_carry(uint64_t column)
{
    return (uint32_t)(column >> 32) >> 20;
}

/* W rows of one sample v, sample j of a number: columns j .. j + W - 1. The
 * last row first: the registers that the compiler gives them then meet less
 * often in a bank. Before compute capability 9.0 that takes more of them than
 * RSA-4096, with rows by eight, has left. */
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

/* S += T a for the multiplier's samples T of one block, but for the rows' last
 * high halves, which belong to columns N .. N + W - 1. */
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

/* The parts of block `block` of a square: the products of its own samples,
 * once, and twice where two differ; and those with all samples above, twice.
 * What is below has been added by the blocks before. */
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
 * W quotients, each from the lowest column left, whose samples of P come in
 * order; then the other samples of P. x is balanced and -1/P below 2^52, so
 * |x / P| < 2^103; q is what is left of it above a multiple of 2^52, in
 * [0, 2^52), and times a balanced sample of P stays within 2^103. `before` are
 * the high halves that the rows before left: one addition with these.
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
        WARPRSA_UNROLL
        for (int j = 0; j < W - r; j++)
            warprsa_step(&s[r + j], q[r], p[j], &high[r], j == 0);
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
