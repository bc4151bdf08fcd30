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
 * often in a bank. */
WARPRSA_FN void warprsa_rows(uint64_t *s, const double *t, double v,
                             double *high, int first, const int W)
{
    WARPRSA_UNROLL
    for (int r = W - 1; r >= 0; r--)
        warprsa_step(&s[r], t[r], v, &high[r], first);
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
        s[N + r] += warprsa_bits(before[r]) + warprsa_bits(high[r]);
}

/* All ones if a == b, both below 2^31, else 0. A compiler that knew it to be
 * one of these would make moves under a predicate of it, and those take less
 * time in a warp that has none of its threads do them. */
WARPRSA_FN uint64_t warprsa_equal_mask(uint32_t a, uint32_t b)
{
    uint32_t mask = (uint32_t)((int32_t)((a ^ b) - 1) >> 31);

#ifdef __CUDACC__
    asm volatile("" : "+r"(mask));
#endif
    return (uint64_t)mask << 32 | mask;
}

/* a where the mask has ones, b elsewhere. */
WARPRSA_FN double warprsa_select(uint64_t mask, double a, double b)
{
    return warprsa_from_bits((warprsa_bits(a) & mask) |
                             (warprsa_bits(b) & ~mask));
}

/*
 * The table is read whole for each multiplication, in an order that does not
 * depend on the digit: pair by pair, all its entries, one kept. The reads are
 * spread evenly over the blocks of the squares before, in turns: they begin
 * before products are added up and are put to use after that, but before the
 * reduction, which has no registers to spare. No turn is conditional: then what
 * is read would hold registers from block to block. Meanwhile what the next
 * block reads comes nearer.
 */

/* Entries of a turn, all of one pair: a power of two. */
WARPRSA_FN int warprsa_turn_entries(const int N)
{
    return N % 20 == 0 ? 8 : 4;
}

/* Turns that read one pair of all entries, the whole table, and those of a
 * block. */
WARPRSA_FN uint32_t warprsa_pair_turns(const int N)
{
    return (uint32_t)(WARPRSA_TABLE_SIZE / warprsa_turn_entries(N));
}

WARPRSA_FN int warprsa_turns(const int N)
{
    return N / 2 * WARPRSA_TABLE_SIZE / warprsa_turn_entries(N);
}

WARPRSA_FN int warprsa_block_turns(const int N)
{
    return warprsa_turns(N) / (WARPRSA_WINDOW * WARPRSA_THREAD_BLOCKS);
}

/* How many octets of a table, or of what is fetched, turn `turn` is behind
 * turn 0. One multiplication of 32 bits to 64 then makes an address. */
WARPRSA_FN size_t warprsa_turn_offset(const warprsa_thread *x, int turn,
                                      const int N)
{
    return (size_t)(uint32_t)turn *
           (uint32_t)(warprsa_turn_entries(N) * 2 * x->table_stride *
                      (int)sizeof(double));
}

#define WARPRSA_SEEN_MOST 12 /* entries on their way at once */

/* Where pair `pair` of the chosen entry belongs. */
WARPRSA_FN double *warprsa_chosen_pair(const warprsa_thread *x, int pair,
                                       const int N)
{
    return x->near == N / 2 || pair < x->near
               ? warprsa_pair_at(x->chosen, pair, x->stride)
               : warprsa_pair_at(x->table,
                                 N / 2 * WARPRSA_TABLE_SIZE + pair - x->near,
                                 x->table_stride);
}

/* A warp's lanes bring what its turn will read to the cache that all
 * multiprocessors share: an entry is four lines of 128 octets, a lane's share
 * one line. This is what `lane` of the warp brings for turn 0, of_warp being
 * lane 0's table. */
WARPRSA_FN const double *warprsa_fetch_from(const double *of_warp,
                                            const int table_stride, int lane,
                                            const int N)
{
    return of_warp + lane / 4 % warprsa_turn_entries(N) * 2 * table_stride +
           lane % 4 * 16;
}

WARPRSA_FN void warprsa_turn_fetch(const warprsa_thread *x, int turn,
                                   const int N)
{
#ifdef __CUDACC__
    asm volatile("prefetch.global.L2 [%0];" ::"l"(
        (const char *)x->fetch + warprsa_turn_offset(x, turn, N)));
#else
    (void)x;
    (void)turn;
    (void)N;
#endif
}

WARPRSA_FN void warprsa_turn_begin(double (*seen)[2], const warprsa_thread *x,
                                   int turn, const int N)
{
    const int entries = warprsa_turn_entries(N);
    const double *from = (const double *)((const char *)x->table +
                                          warprsa_turn_offset(x, turn, N));

    WARPRSA_UNROLL
    for (int e = 0; e < entries; e++) {
#ifdef __CUDACC__
        /* Volatile: they stay where they are. */
        asm volatile("ld.global.L1::no_allocate.v2.f64 {%0, %1}, [%2];"
                     : "=d"(seen[e][0]), "=d"(seen[e][1])
                     : "l"(from + e * 2 * x->table_stride));
#else
        seen[e][0] = from[e * 2 * x->table_stride];
        seen[e][1] = from[e * 2 * x->table_stride + 1];
#endif
    }
}

/* All ones if bit `bit` of the digit is set, else 0. */
WARPRSA_FN uint64_t warprsa_bit_mask(uint32_t digit, int bit)
{
    return warprsa_equal_mask(digit >> bit & 1, 1);
}

/* Entry `digit`, if it is among those that the turn has read, comes to its
 * place. Of a pair's turns one has it; the others keep what is there. Each bit
 * of the digit halves what may be it. */
WARPRSA_FN void warprsa_turn_end(const warprsa_thread *x, double (*seen)[2],
                                 int turn, uint32_t digit, const int N)
{
    const uint32_t turns = warprsa_pair_turns(N);
    double *to = warprsa_chosen_pair(x, (int)((uint32_t)turn / turns), N);
    const uint64_t here = warprsa_equal_mask(
        digit / (uint32_t)warprsa_turn_entries(N), (uint32_t)turn % turns);
    const double kept[2] = {to[0], to[1]};
    int left = warprsa_turn_entries(N);

    WARPRSA_UNROLL
    for (int bit = 0; bit < WARPRSA_WINDOW; bit++) {
        if (left > 1) {
            const uint64_t upper = warprsa_bit_mask(digit, bit);

            left /= 2;
            WARPRSA_UNROLL
            for (int e = 0; e < left; e++)
                WARPRSA_UNROLL
            for (int i = 0; i < 2; i++)
                seen[e][i] =
                    warprsa_select(upper, seen[2 * e + 1][i], seen[2 * e][i]);
        }
    }
    to[0] = warprsa_select(here, seen[0][0], kept[0]);
    to[1] = warprsa_select(here, seen[0][1], kept[1]);
}

/* What block `block` multiplies by. */
WARPRSA_FN void warprsa_multiplier(double *t, const warprsa_thread *x,
                                   int block, const int N, const int W)
{
    WARPRSA_UNROLL
    for (int i = 0; i < W / 2; i++) {
        const double *from = warprsa_chosen_pair(x, block * (W / 2) + i, N);

        t[2 * i] = from[0];
        t[2 * i + 1] = from[1];
    }
}

/* `count` turns begin, or end. */
WARPRSA_FN void warprsa_turns_begin(double (*seen)[2], const warprsa_thread *x,
                                    int turn, const int count, const int N)
{
    WARPRSA_UNROLL
    for (int i = 0; i < count; i++)
        warprsa_turn_begin(seen + i * warprsa_turn_entries(N), x, turn + i, N);
}

WARPRSA_FN void warprsa_turns_end(const warprsa_thread *x, double (*seen)[2],
                                  int turn, const int count, uint32_t digit,
                                  const int N)
{
    WARPRSA_UNROLL
    for (int i = 0; i < count; i++)
        warprsa_turn_end(x, seen + i * warprsa_turn_entries(N), turn + i, digit,
                         N);
}

/* The rows of block `block` of a square, and beside them the block's turns of
 * choosing entry `digit`, the first of which is `turn`. */
WARPRSA_FN void warprsa_square_and_choose(uint64_t *s, double *high,
                                          const warprsa_thread *x, int block,
                                          uint32_t digit, int turn, const int N,
                                          const int W)
{
    const int turns = warprsa_block_turns(N);
    const int fit = WARPRSA_SEEN_MOST / warprsa_turn_entries(N);
    const int early = turns < fit ? turns : fit;
    const int next = turn + turns < warprsa_turns(N) ? turn + turns : 0;
    double own[WARPRSA_BLOCK_ROWS_MAX], twice[WARPRSA_BLOCK_ROWS_MAX];
    double seen[WARPRSA_SEEN_MOST][2];

    warprsa_turns_begin(seen, x, turn, early, N);
    WARPRSA_UNROLL
    for (int i = 0; i < turns; i++)
        warprsa_turn_fetch(x, next + i, N);
    WARPRSA_UNROLL
    for (int r = 0; r < W; r += 2)
        warprsa_load_pair(
            own + r, warprsa_pair_at(x->a, block * (W / 2) + r / 2, x->stride));
    WARPRSA_UNROLL
    for (int r = 0; r < W; r++)
        twice[r] = own[r] + own[r];
    if (turns == early) {
        warprsa_rows_square(s, high, own, twice, x, block,
                            WARPRSA_OWN | WARPRSA_ABOVE, N, W);
    } else {
        warprsa_rows_square(s, high, own, twice, x, block, WARPRSA_OWN, N, W);
        warprsa_turns_end(x, seen, turn, early, digit, N);
        turn += early;
        warprsa_turns_begin(seen, x, turn, turns - early, N);
        warprsa_rows_square(s, high, own, twice, x, block, WARPRSA_ABOVE, N, W);
    }
    warprsa_turns_end(x, seen, turn, turns == early ? early : turns - early,
                      digit, N);
}

/*
 * a = a a, with turn `turn` and those after it of choosing entry `digit`
 * beside; or a times the chosen entry; over R. Both ways share the reduction's
 * code: the loop over the blocks has to stay in the instruction cache.
 */
WARPRSA_FN void warprsa_thread_product(const warprsa_thread *x, int square,
                                       uint32_t digit, int turn, const int N,
                                       const int W)
{
    uint64_t s[WARPRSA_HALF_SAMPLES + WARPRSA_BLOCK_ROWS_MAX];
    const uint64_t *start = x->start + (square ? 2 * N : 0);

    WARPRSA_UNROLL
    for (int c = 0; c < N + W; c++)
        s[c] = warprsa_column(start + c);
    WARPRSA_ROLLED
    for (int block = 0; block < N / W; block++) {
        double high[WARPRSA_BLOCK_ROWS_MAX];

        if (square) {
            warprsa_square_and_choose(s, high, x, block, digit, turn, N, W);
            turn += warprsa_block_turns(N);
        } else {
            double t[WARPRSA_BLOCK_ROWS_MAX];

            warprsa_multiplier(t, x, block, N, W);
            warprsa_rows_multiply(s, high, t, x, N, W);
        }
        warprsa_rows_reduce(s, high, x, N, W);
        WARPRSA_UNROLL
        for (int c = 0; c < N; c++)
            s[c] = s[c + W];
        if (block < N / W - 1) {
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

/* Chooses entry 1, which is a. */
WARPRSA_FN void warprsa_choose_a(const warprsa_thread *x, const int N)
{
    WARPRSA_ROLLED
    for (int pair = 0; pair < N / 2; pair++) {
        double *to = warprsa_chosen_pair(x, pair, N);
        const double *from = warprsa_pair_at(x->a, pair, x->stride);

        to[0] = from[0];
        to[1] = from[1];
    }
}

/* Chooses entry `digit`, all turns at once. */
WARPRSA_FN void warprsa_choose_entry(const warprsa_thread *x, uint32_t digit,
                                     const int N)
{
    WARPRSA_ROLLED
    for (int turn = 0; turn < warprsa_turns(N); turn++) {
        double seen[WARPRSA_SEEN_MOST][2];

        warprsa_turn_begin(seen, x, turn, N);
        warprsa_turn_end(x, seen, turn, digit, N);
    }
}

/* a = the chosen entry. */
WARPRSA_FN void warprsa_get_chosen(const warprsa_thread *x, const int N)
{
    WARPRSA_ROLLED
    for (int pair = 0; pair < N / 2; pair++) {
        double *to = warprsa_pair_at(x->a, pair, x->stride);
        const double *from = warprsa_chosen_pair(x, pair, N);

        to[0] = from[0];
        to[1] = from[1];
    }
}

WARPRSA_FN void warprsa_wipe_table(const warprsa_thread *x, const int N)
{
    WARPRSA_ROLLED
    for (int i = 0; i < N / 2 * (WARPRSA_TABLE_SIZE + 1) - x->near; i++) {
        volatile double *at = warprsa_pair_at(x->table, i, x->table_stride);

        at[0] = 0;
        at[1] = 0;
    }
}

WARPRSA_FN uint32_t warprsa_thread_digit(const warprsa_thread *x, int place)
{
    const int per_word = 32 / WARPRSA_WINDOW;

    return (x->exponent[place / per_word] >>
            (WARPRSA_WINDOW * (place % per_word))) &
           (WARPRSA_TABLE_SIZE - 1);
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

/* What has been stored in the table is read by loads that the compiler does not
 * see as such. */
WARPRSA_FN void warprsa_table_is_full(void)
{
#ifdef __CUDACC__
    asm volatile("" ::: "memory");
#endif
}

/*
 * a = a^exponent; entry 0 of the table must be R mod P. First the entries 2 to
 * 15, each the one before times entry 1. Then a is the first digit's entry, and
 * for each digit after it there are four squares and a multiplication. One
 * loop for all, so that the product's code is there once.
 */
WARPRSA_FN void warprsa_thread_power(const warprsa_thread *x, const int N,
                                     const int W, const int in_step)
{
    WARPRSA_STAGE(POWERS);
    int entry = 2, squares = 0, place = x->windows - 1, turn = 0;
    uint32_t digit = 0;

    warprsa_put_entry(x, 1, N);
    warprsa_choose_a(x, N);
    WARPRSA_ROLLED
    for (;;) {
        const int square = squares > 0;

        warprsa_keep_step(in_step);
        warprsa_thread_product(x, square, digit, turn, N, W);
        if (square) {
            squares--;
            turn += WARPRSA_THREAD_BLOCKS * warprsa_block_turns(N);
            continue;
        }
        if (entry < WARPRSA_TABLE_SIZE) {
            warprsa_put_entry(x, entry, N);
            if (++entry < WARPRSA_TABLE_SIZE)
                continue;
            warprsa_table_is_full();
            warprsa_choose_entry(x, warprsa_thread_digit(x, place), N);
            warprsa_get_chosen(x, N);
        }
        if (place == 0)
            break;
        digit = warprsa_thread_digit(x, --place);
        squares = WARPRSA_WINDOW;
        turn = 0;
    }
    warprsa_wipe_table(x, N);
}

#endif
