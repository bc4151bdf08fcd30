/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The secret power by one thread a half: no exchange between threads, and a
 * square costs half the products of a multiplication (N (N + 1) / 2 of N^2),
 * which lanes that share a number cannot save.
 *
 * Samples are balanced, in [-2^51, 2^51), so that the double of one is still
 * an operand; R = 2^(52 N) as in wide_sample.h. Columns of 64 bits are in
 * registers, operands and modulus in the thread's own column of shared memory
 * (on the host: an array). W samples of the multiplier at a time make a block
 * of rows, after which W columns are reduced and retired:
 *     S += T a,   q = -S / P mod 2^(52 W),   S = (S + q P) / 2^(52 W)
 *
 * Bounds. With 0 <= q < 2^(52 N) in all,
 *     -|ab|/R <= result < |ab|/R + P,
 * so that operands of at most 3P (32P < R) give results in (-0.29P, 1.29P),
 * and those in turn results in (-0.06P, 1.06P). The top sample takes what is
 * left: |V| < 2P < 2^(52 N - 4) fits.
 */
#ifndef WARPRSA_THREAD_POWER_H
#define WARPRSA_THREAD_POWER_H

#include "gpu/private_operation.h"

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
    double minus_inverse; /* -1/P mod 2^52 */
    /* Entry e of the table: its pair i is at
     * (i * TABLE_SIZE + e) * 2 * table_stride. */
    double *table;
    int table_stride;
    double *chosen; /* `early` pairs, see warprsa_choose_pairs() */
    double *ring;   /* device: entries under way, see warprsa_ring_fill() */
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

    if (first)
        *s += warprsa_bits(low);
    else
        *s += warprsa_bits(low) + warprsa_bits(*high);
    *high = now;
}

/* The balanced sample of a column that holds 2^51 more. */
WARPRSA_FN double warprsa_balanced(uint64_t column)
{
    return warprsa_from_bits((column & WARPRSA_SAMPLE_MASK) |
                             0x4330000000000000ull) -
           (0x1p52 + 0x1p51);
}

/* What a column leaves to the next; both hold the bias. */
WARPRSA_FN uint64_t warprsa_column_carry(uint64_t column)
{
    return (uint32_t)(column >> 32) >> 20;
}

/* W rows of one sample v, sample j of a number: columns j .. j + W - 1. */
WARPRSA_FN void warprsa_rows(uint64_t *s, const double *t, double v,
                             double *high, int first, const int W)
{
    WARPRSA_UNROLL
    for (int r = 0; r < W; r++)
        warprsa_step(&s[r], t[r], v, &high[r], first);
}

/* S += T a for the multiplier's samples T of one block. */
WARPRSA_FN void warprsa_rows_multiply(uint64_t *s, const double *t,
                                      const warprsa_thread *x, const int N,
                                      const int W)
{
    double high[WARPRSA_BLOCK_ROWS_MAX];

    WARPRSA_UNROLL
    for (int j = 0; j < N; j += 2) {
        double v[2];

        warprsa_load_pair(v, warprsa_pair_at(x->a, j / 2, x->stride));
        warprsa_rows(s + j, t, v[0], high, j == 0, W);
        warprsa_rows(s + j + 1, t, v[1], high, 0, W);
    }
    WARPRSA_UNROLL
    for (int r = 0; r < W; r++)
        s[N + r] += warprsa_bits(high[r]);
}

/* The same for a square, block `block` of a: its own samples' products once
 * and twice where two differ, and those with all above, doubled. What is below
 * has been added by the blocks before. */
WARPRSA_FN void warprsa_rows_square(uint64_t *s, const warprsa_thread *x,
                                    int block, const int N, const int W)
{
    double own[WARPRSA_BLOCK_ROWS_MAX], twice[WARPRSA_BLOCK_ROWS_MAX];
    double high[WARPRSA_BLOCK_ROWS_MAX];

    WARPRSA_UNROLL
    for (int r = 0; r < W; r += 2)
        warprsa_load_pair(
            own + r, warprsa_pair_at(x->a, block * (W / 2) + r / 2, x->stride));
    WARPRSA_UNROLL
    for (int r = 0; r < W; r++)
        twice[r] = own[r] + own[r];
    WARPRSA_UNROLL
    for (int other = 0; other < N / W; other++) {
        if (other == block) {
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
        if (other > block) {
            WARPRSA_UNROLL
            for (int j = W * other; j < W * other + W; j += 2) {
                double v[2];

                warprsa_load_pair(v, warprsa_pair_at(x->a, j / 2, x->stride));
                warprsa_rows(s + j, twice, v[0], high, 0, W);
                warprsa_rows(s + j + 1, twice, v[1], high, 0, W);
            }
        }
    }
    WARPRSA_UNROLL
    for (int r = 0; r < W; r++)
        s[N + r] += warprsa_bits(high[r]);
}

/*
 * W quotients, each from the lowest column left, whose samples of P come in
 * order; then the other samples of P. x is balanced and -1/P below 2^52, so
 * |x / P| < 2^103; q is what is left of it above a multiple of 2^52, in
 * [0, 2^52), and times a balanced sample of P stays within 2^103.
 */
WARPRSA_FN void warprsa_rows_reduce(uint64_t *s, const warprsa_thread *x,
                                    const int N, const int W)
{
    double q[WARPRSA_BLOCK_ROWS_MAX], high[WARPRSA_BLOCK_ROWS_MAX];
    double p[WARPRSA_BLOCK_ROWS_MAX];

    WARPRSA_UNROLL
    for (int j = 0; j < W; j += 2)
        warprsa_load_pair(p + j, warprsa_pair_at(x->p, j / 2, x->stride));
    WARPRSA_UNROLL
    for (int r = 0; r < W; r++) {
        double low = warprsa_balanced(s[r]);
        double up =
            warprsa_fma_rz(low, x->minus_inverse, WARPRSA_BALANCED_START);

        q[r] =
            warprsa_fma_rz(low, x->minus_inverse, WARPRSA_BALANCED_START - up);
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
        s[N + r] += warprsa_bits(high[r]);
}

/*
 * The table is read whole for each multiplication, in an order that does not
 * depend on the digit: pair by pair, all its entries, one kept. On the device
 * the reads run ahead: each thread copies its own pairs into its own RING
 * places of shared memory, and a place is filled again as soon as it has been
 * read, so that RING reads are always under way, through the squares as well.
 * No other thread reads what a thread copied, hence no barrier. What a block
 * multiplies by is chosen when the block begins; or the first `early` pairs of
 * it before the block before is reduced, which where the ring is short lets
 * the reads for some come while others are put to use.
 */
#define WARPRSA_RING_GROUP 4 /* entries that are waited for together */

/* Starts the copies of entries e .. e + GROUP - 1 of a pair. */
WARPRSA_FN void warprsa_ring_fill(const warprsa_thread *x, int pair, int e,
                                  const int ring)
{
#ifdef __CUDACC__
    /* One address for all, the rest are constant distances from it. */
    const double *from =
        warprsa_pair_at(x->table, pair * WARPRSA_TABLE_SIZE, x->table_stride);

    WARPRSA_UNROLL
    for (int i = e; i < e + WARPRSA_RING_GROUP; i++)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                         (uint32_t)__cvta_generic_to_shared(
                             warprsa_pair_at(x->ring, i % ring, x->stride))),
                     "l"(from + i * 2 * x->table_stride)
                     : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
#else
    (void)x;
    (void)pair;
    (void)e;
    (void)ring;
#endif
}

/* Waits until all groups but the last ring / GROUP - 1 have come. */
WARPRSA_FN void warprsa_ring_wait(const int ring)
{
#ifdef __CUDACC__
    if (ring == 4 * WARPRSA_RING_GROUP)
        asm volatile("cp.async.wait_group 3;" ::: "memory");
    else if (ring == 2 * WARPRSA_RING_GROUP)
        asm volatile("cp.async.wait_group 1;" ::: "memory");
    else
        asm volatile("cp.async.wait_group 0;" ::: "memory");
#else
    (void)ring;
#endif
}

/* From the first pair on; the table must not change from here. */
WARPRSA_FN void warprsa_ring_start(const warprsa_thread *x, const int ring)
{
#ifdef __CUDACC__
    __threadfence();
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
    WARPRSA_UNROLL
    for (int e = 0; e < ring; e += WARPRSA_RING_GROUP)
        warprsa_ring_fill(x, 0, e, ring);
}

/* Waits for the copies under way, which nobody will take: who wipes the table
 * and the ring has to come after them. */
WARPRSA_FN void warprsa_ring_end(void)
{
#ifdef __CUDACC__
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

WARPRSA_FN void warprsa_ring_take(double seen[2], const warprsa_thread *x,
                                  int pair, int e, const int ring)
{
#ifdef __CUDACC__
    (void)pair;
    warprsa_load_pair(seen, warprsa_pair_at(x->ring, e % ring, x->stride));
#else
    (void)ring;
    warprsa_load_pair(seen,
                      warprsa_pair_at(x->table, pair * WARPRSA_TABLE_SIZE + e,
                                      x->table_stride));
#endif
}

/* condition ? a : b without a branch; the condition is 0 or 1. */
WARPRSA_FN double warprsa_select(uint32_t condition, double a, double b)
{
#ifdef __CUDACC__
    return condition != 0 ? a : b;
#else
    uint64_t mask = 0 - (uint64_t)condition;

    return warprsa_from_bits((warprsa_bits(a) & mask) |
                             (warprsa_bits(b) & ~mask));
#endif
}

/* Pair `pair` of entry `digit`: of four entries the one that the digit's low
 * bits say, kept if its high bits say these four. */
WARPRSA_FN void warprsa_scan_pair(double kept[2], const warprsa_thread *x,
                                  int pair, uint32_t digit, const int N,
                                  const int ring)
{
    const int next = pair + 1 < N / 2 ? pair + 1 : 0;
    const uint32_t odd = digit & 1, upper = (digit >> 1) & 1;

    WARPRSA_UNROLL
    for (int e = 0; e < WARPRSA_TABLE_SIZE; e += WARPRSA_RING_GROUP) {
        const uint32_t here =
            digit / WARPRSA_RING_GROUP == (uint32_t)e / WARPRSA_RING_GROUP;
        double seen[WARPRSA_RING_GROUP][2];

        warprsa_ring_wait(ring);
        WARPRSA_UNROLL
        for (int i = 0; i < WARPRSA_RING_GROUP; i++)
            warprsa_ring_take(seen[i], x, pair, e + i, ring);
        WARPRSA_UNROLL
        for (int i = 0; i < 2; i++) {
            double one = warprsa_select(odd, seen[1][i], seen[0][i]);
            double other = warprsa_select(odd, seen[3][i], seen[2][i]);

            one = warprsa_select(upper, other, one);
            kept[i] = e == 0 ? one : warprsa_select(here, one, kept[i]);
        }
        warprsa_ring_fill(x, e + ring < WARPRSA_TABLE_SIZE ? pair : next,
                          (e + ring) % WARPRSA_TABLE_SIZE, ring);
    }
}

/* The first `early` pairs of block `block` of entry `digit`, for later. */
WARPRSA_FN void warprsa_choose_pairs(const warprsa_thread *x, int block,
                                     uint32_t digit, const int N, const int W,
                                     const int ring, const int early)
{
    WARPRSA_UNROLL
    for (int i = 0; i < early; i++) {
        double *to = warprsa_pair_at(x->chosen, i, x->stride);
        double kept[2] = {0, 0};

        warprsa_scan_pair(kept, x, block * (W / 2) + i, digit, N, ring);
        to[0] = kept[0];
        to[1] = kept[1];
    }
}

/* What block `block` multiplies by. */
WARPRSA_FN void warprsa_multiplier(double *t, const warprsa_thread *x,
                                   int block, uint32_t digit, const int N,
                                   const int W, const int ring, const int early)
{
    WARPRSA_UNROLL
    for (int i = 0; i < W / 2; i++) {
        if (i < early)
            warprsa_load_pair(t + 2 * i,
                              warprsa_pair_at(x->chosen, i, x->stride));
        else
            warprsa_scan_pair(t + 2 * i, x, block * (W / 2) + i, digit, N,
                              ring);
    }
}

/*
 * a = a a, or a times entry `digit` whose first pairs have been chosen; over R.
 * `next` is the entry that the next product multiplies by, negative if it is a
 * square. Both ways share the reduction's code: the loop over the blocks has to
 * stay in the instruction cache.
 */
WARPRSA_FN void warprsa_thread_product(const warprsa_thread *x, int square,
                                       int digit, int next, const int N,
                                       const int W, const int ring,
                                       const int early)
{
    uint64_t s[WARPRSA_HALF_SAMPLES + WARPRSA_BLOCK_ROWS_MAX];
    const uint64_t *start = x->start + (square ? 2 * N : 0);

    WARPRSA_UNROLL
    for (int c = 0; c < N + W; c++)
        s[c] = warprsa_column(start + c);
    WARPRSA_ROLLED
    for (int block = 0; block < N / W; block++) {
        const int last = block == N / W - 1;

        if (square) {
            warprsa_rows_square(s, x, block, N, W);
        } else {
            double t[WARPRSA_BLOCK_ROWS_MAX];

            warprsa_multiplier(t, x, block, (uint32_t)digit, N, W, ring, early);
            warprsa_rows_multiply(s, t, x, N, W);
        }
        if (last ? next >= 0 : !square)
            warprsa_choose_pairs(x, last ? 0 : block + 1,
                                 (uint32_t)(last ? next : digit), N, W, ring,
                                 early);
        warprsa_rows_reduce(s, x, N, W);
        WARPRSA_UNROLL
        for (int c = 0; c < N; c++)
            s[c] = s[c + W];
        if (!last) {
            WARPRSA_UNROLL
            for (int c = 0; c < W; c++)
                s[N + c] = warprsa_column(start + (block + 1) * W + N + c);
        }
    }
    WARPRSA_UNROLL
    for (int c = 0; c < N; c++) {
        warprsa_pair_at(x->a, c / 2, x->stride)[c % 2] = warprsa_balanced(s[c]);
        if (c < N - 1)
            s[c + 1] += warprsa_column_carry(s[c]);
    }
}

/* Samples in [0, 2^52] to balanced ones: to[j] of an operand. The number is
 * below 2^(52 N - 2), so that nothing leaves its top sample. */
WARPRSA_FN void warprsa_balance(double *to, const double *from,
                                const int to_stride, const int from_stride,
                                const int N)
{
    uint64_t carry = 0;

    WARPRSA_ROLLED
    for (int j = 0; j < N; j++) {
        uint64_t x = (uint64_t)from[j / 2 * 2 * from_stride + j % 2] + carry +
                     (1ull << 51);

        to[j / 2 * 2 * to_stride + j % 2] = warprsa_balanced(x);
        carry = x >> 52;
    }
}

/* a + P, which is above zero, in samples of [0, 2^52). The sums of two balanced
 * samples and a carry stay within 2^53: arithmetic shifts resolve them. */
WARPRSA_FN void warprsa_unbalance(const warprsa_thread *x, const int N)
{
    int64_t carry = 0;

    WARPRSA_ROLLED
    for (int j = 0; j < N; j++) {
        double *a = warprsa_pair_at(x->a, j / 2, x->stride) + j % 2;
        double p = warprsa_pair_at(x->p, j / 2, x->stride)[j % 2];
        int64_t sum = (int64_t)*a + (int64_t)p + carry;

        *a = warprsa_sample((uint64_t)sum & WARPRSA_SAMPLE_MASK);
        carry = sum >> 52;
    }
}

WARPRSA_FN void warprsa_put_entry(const warprsa_thread *x, int e, const int N)
{
    WARPRSA_ROLLED
    for (int pair = 0; pair < N / 2; pair++) {
        double *to = warprsa_pair_at(x->table, pair * WARPRSA_TABLE_SIZE + e,
                                     x->table_stride);
        const double *from = warprsa_pair_at(x->a, pair, x->stride);

        to[0] = from[0];
        to[1] = from[1];
    }
}

/* a = entry 0, which is R mod P. */
WARPRSA_FN void warprsa_get_one(const warprsa_thread *x, const int N)
{
    WARPRSA_ROLLED
    for (int pair = 0; pair < N / 2; pair++) {
        const double *from = warprsa_pair_at(
            x->table, pair * WARPRSA_TABLE_SIZE, x->table_stride);
        double *to = warprsa_pair_at(x->a, pair, x->stride);

        to[0] = from[0];
        to[1] = from[1];
    }
}

WARPRSA_FN void warprsa_wipe_table(const warprsa_thread *x, const int N)
{
    WARPRSA_ROLLED
    for (int i = 0; i < N / 2 * WARPRSA_TABLE_SIZE; i++) {
        volatile double *at = warprsa_pair_at(x->table, i, x->table_stride);

        at[0] = 0;
        at[1] = 0;
    }
}

WARPRSA_FN int warprsa_thread_digit(const warprsa_thread *x, int place)
{
    const int per_word = 32 / WARPRSA_WINDOW;

    return (int)((x->exponent[place / per_word] >>
                  (WARPRSA_WINDOW * (place % per_word))) &
                 (WARPRSA_TABLE_SIZE - 1));
}

/* Threads of a block run in step where that keeps them in the same
 * instructions: the code of the larger sizes just fits the cache. */
WARPRSA_FN void warprsa_keep_step(const int in_step)
{
#ifdef __CUDACC__
    if (in_step)
        __syncthreads();
#else
    (void)in_step;
#endif
}

/* The ring from its beginning, and the first pairs of entry `digit`. */
WARPRSA_FN void warprsa_choose_first(const warprsa_thread *x, int digit,
                                     const int N, const int W, const int ring,
                                     const int early)
{
    warprsa_ring_start(x, ring);
    warprsa_choose_pairs(x, 0, (uint32_t)digit, N, W, ring, early);
}

/*
 * a = a^exponent; entry 0 of the table must be R mod P. First the entries 2 to
 * 15, each the one before times entry 1; then for each digit four squares and
 * a multiplication, the first digit's by R mod P. One loop for all, so that
 * the product's code is there once.
 */
WARPRSA_FN void warprsa_thread_power(const warprsa_thread *x, const int N,
                                     const int W, const int ring,
                                     const int early, const int in_step)
{
    WARPRSA_STAGE(POWERS);
    int entry = 2, squares = 0, place = x->windows - 1, digit = 1;

    warprsa_put_entry(x, 1, N);
    warprsa_choose_first(x, digit, N, W, ring, early);
    WARPRSA_ROLLED
    for (;;) {
        const int square = squares > 0, building = entry < WARPRSA_TABLE_SIZE;

        warprsa_keep_step(in_step);
        warprsa_thread_product(x, square, digit,
                               building || squares == 1 ? digit : -1, N, W,
                               ring, early);
        if (square) {
            squares--;
        } else if (building) {
            warprsa_put_entry(x, entry, N);
            if (++entry == WARPRSA_TABLE_SIZE) {
                warprsa_get_one(x, N);
                digit = warprsa_thread_digit(x, place);
                warprsa_choose_first(x, digit, N, W, ring, early);
            }
        } else if (place == 0) {
            break;
        } else {
            digit = warprsa_thread_digit(x, --place);
            squares = WARPRSA_WINDOW;
        }
    }
    warprsa_ring_end();
    warprsa_wipe_table(x, N);
}

#endif
