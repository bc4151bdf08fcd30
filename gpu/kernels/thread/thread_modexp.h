/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The modexp with a secret exponent that uses one thread for each half. Threads
 * exchange nothing. A square needs about half the products of a multiplication,
 * N (N + 1) / 2 instead of N^2. Lanes that share a number cannot save these.
 *
 * Samples are balanced: they are in [-2^51, 2^51), so a doubled sample is still
 * an operand. R = 2^(52 N) as in wide_sample.h. The columns of 64 bits are in
 * registers. The operands and the modulus are in the thread's own column of
 * shared memory (on the host: in an array). W samples T of the multiplier at a
 * time make a block of rows. After each block, W columns are reduced and
 * retired:
 *     S += T a,   q = -S / P mod 2^(52 W),   S = (S + q P) / 2^(52 W)
 *
 * Bounds. With 0 <= q < 2^(52 N) in all,
 *     -|ab|/R <= result < |ab|/R + P,
 * so operands of at most 3P (32P < R) give results in (-0.29P, 1.29P). Operands
 * in that range in turn give results in (-0.06P, 1.06P). The top sample takes
 * what is left of a number V: |V| < 2P < 2^(52 N - 4) fits.
 */
#ifndef WARPRSA_GPU_KERNELS_THREAD_THREAD_MODEXP_H
#define WARPRSA_GPU_KERNELS_THREAD_THREAD_MODEXP_H

#include "gpu/kernels/thread/thread_table.h"

/* Adds the rows of block `block` of a square. In between, it does the block's
 * turns of choosing entry `digit`, the first of which is `turn`. */
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

#ifdef WARPRSA_VERIFIES
/* The number that a has, or the modulus, or the chosen entry. */
static inline long double warprsa_thread_value(const warprsa_thread *x,
                                               const double *of, const int N)
{
    long double value = 0;

    for (int j = N - 1; j >= 0; j--)
        value = value * 0x1p52L + (of == x->chosen
                                       ? warprsa_chosen_pair(x, j / 2, N)[j % 2]
                                       : of[j / 2 * 2 * x->stride + j % 2]);
    return value;
}

/* Whether a is in [-|product|, |product| + P), and in (-0.29P, 1.29P). */
static inline int warprsa_thread_is_bounded(const warprsa_thread *x,
                                            long double product, const int N)
{
    const long double a = warprsa_thread_value(x, x->a, N);
    const long double p = warprsa_thread_value(x, x->p, N);
    const long double most = fabsl(product) + 0x1p-40L * p;

    return a > -most && a < most + p && a > -0.29L * p && a < 1.29L * p;
}
#endif

/*
 * If `square` is set, computes a = a a / R mod P; in between it does turn
 * `turn` and those after it of choosing entry `digit`. Otherwise computes a = a
 * times the chosen entry / R mod P. Both ways share the reduction's code,
 * because the loop over the blocks has to stay in the instruction cache.
 */
WARPRSA_FN void warprsa_thread_mont_mul(const warprsa_thread *x, int square,
                                        uint32_t digit, int turn, const int N,
                                        const int W)
{
    uint64_t s[WARPRSA_HALF_SAMPLES + WARPRSA_BLOCK_ROWS_MAX];
    const uint64_t *start = x->start + (square ? 2 * N : 0);

    WARPRSA_VERIFY_ONLY(
        const long double product =
            warprsa_thread_value(x, x->a, N) / warprsa_power_of_two(52 * N) *
            warprsa_thread_value(x, square ? x->a : x->chosen, N));
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
        WARPRSA_BOUND("Balanced samples, one thread a number: Columns",
                      s[c] < 1ull << 61 && s[c] >= (1ull << 60) - (1ull << 58));
        WARPRSA_BOUND("Balanced samples, one thread a number: Bounds",
                      c < N - 1 || s[c] >> 52 == WARPRSA_COLUMN_BIAS);
        warprsa_pair_at(x->a, c / 2, x->stride)[c % 2] = warprsa_balanced(s[c]);
        if (c < N - 1)
            s[c + 1] += warprsa_column_carry(s[c]);
    }
    WARPRSA_BOUND("Balanced samples, one thread a number: Bounds",
                  warprsa_thread_is_bounded(x, product, N));
}

/* Converts samples in [0, 2^52] to balanced ones: to[j] of an operand. The
 * number is below 2^(52 N - 2), so nothing is carried out of its top sample. */
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
    WARPRSA_BOUND("Balanced samples, one thread a number: Bounds", carry == 0);
}

/* Computes a = a + P, which is above zero, in samples of [0, 2^52). The sums of
 * two balanced samples and a carry stay within 2^53, so arithmetic shifts
 * resolve them. */
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
    WARPRSA_BOUND("Balanced samples, one thread a number: Bounds", carry == 0);
}

/* Digit number `digit_index` of the exponent; digit 0 is the lowest. */
WARPRSA_FN uint32_t warprsa_thread_digit(const warprsa_thread *x,
                                         int digit_index)
{
    const int per_word = 32 / WARPRSA_WINDOW;

    return (x->exponent[digit_index / per_word] >>
            (WARPRSA_WINDOW * (digit_index % per_word))) &
           (WARPRSA_TABLE_SIZE - 1);
}

/* If `in_step` is set, waits for all threads of the block. This keeps them in
 * the same instructions: the code of the larger sizes just fits the instruction
 * cache. */
WARPRSA_FN void warprsa_keep_step(const int in_step)
{
#ifdef __CUDACC__
    if (in_step)
        __syncthreads();
#else
    (void)in_step;
#endif
}

/*
 * Computes a = a^exponent. Entry 0 of the table must be R mod P. The entries 2
 * to 15 come first; each is the one before it times entry 1. Then a becomes the
 * first digit's entry, and each further digit takes four squares and a
 * multiplication. One loop does all of this, so that there is only one copy of
 * the product's code.
 */
WARPRSA_FN void warprsa_thread_modexp(const warprsa_thread *x, const int N,
                                      const int W, const int in_step)
{
    WARPRSA_STAGE(MODEXP);
    int entry = 2, squares = 0, digit_index = x->windows - 1, turn = 0;
    uint32_t digit = 0;

    warprsa_put_entry(x, 1, N);
    warprsa_choose_a(x, N);
    WARPRSA_ROLLED
    for (;;) {
        const int square = squares > 0;

        warprsa_keep_step(in_step);
        warprsa_thread_mont_mul(x, square, digit, turn, N, W);
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
            warprsa_choose_entry(x, warprsa_thread_digit(x, digit_index), N);
            warprsa_get_chosen(x, N);
        }
        if (digit_index == 0)
            break;
        digit = warprsa_thread_digit(x, --digit_index);
        squares = WARPRSA_WINDOW;
        turn = 0;
    }
    warprsa_wipe_table(x, N);
}

#endif
