/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The matrices of both primes of a key, for the narrow fold (narrow.h), in the
 * order in which threads read them. A warp makes the eight rows that belong to
 * a column of 52 bits. The first is a Montgomery product. Each of the others is
 * the one before it times 2^8, of which a small multiple of the prime is taken
 * off.
 */
#ifndef WARPRSA_GPU_KERNELS_NARROW_FOLD_NARROW_MATRIX_H
#define WARPRSA_GPU_KERNELS_NARROW_FOLD_NARROW_MATRIX_H

#include "gpu/kernels/fold_common/power_of_two.h"
#include "gpu/kernels/narrow_fold/narrow.h"

enum {
    WARPRSA_NARROW_ROWS_OF_COLUMN = 8,
    /* With the columns whose rows are zero. */
    WARPRSA_NARROW_MATRIX_COLUMNS =
        WARPRSA_NARROW_STEP_ROWS / WARPRSA_NARROW_ROWS_OF_COLUMN,
};

/* What makes the matrices. SECRET. */
typedef struct warprsa_narrow_maker {
    warprsa_modulus p;
    warprsa_number r2;
    /* For each lane's prime a little less than 2^8 over its top samples. */
    double factor[WARPRSA_LANES_EMULATED];
} warprsa_narrow_maker;

/* The two top samples of each number as one value, in all of its lanes. */
WARPRSA_FN void warprsa_narrow_top_samples(double *top, const warprsa_number *x,
                                           const int threads_per_number,
                                           const int limbs_per_thread)
{
    const int threads_per_request = 2 * threads_per_number;
    const int high = WARPRSA_NARROW_LIMBS - 1, low = WARPRSA_NARROW_LIMBS - 2;
    uint64_t highs[WARPRSA_LANES_EMULATED], lows[WARPRSA_LANES_EMULATED];

    WARPRSA_EACH_LANE (k, threads_per_request) {
        highs[k] = warprsa_bits(x->of[k][high % limbs_per_thread]);
        lows[k] = warprsa_bits(x->of[k][low % limbs_per_thread]);
    }
    warprsa_broadcast(highs, highs, high / limbs_per_thread, threads_per_number,
                      threads_per_request);
    warprsa_broadcast(lows, lows, low / limbs_per_thread, threads_per_number,
                      threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        top[k] =
            warprsa_from_bits(highs[k]) * 0x1p52 + warprsa_from_bits(lows[k]);
    }
}

/* 1 / x within 2^-50 of its value, for x from 1 to 2^500. A division would
 * branch on what x is. Newton's iteration for the mantissa, between 1 and 2:
 * the line that it begins with is within 1/17, and each step squares the error.
 */
WARPRSA_FN double warprsa_narrow_reciprocal(double x)
{
    const uint64_t bits = warprsa_bits(x), exponent = bits >> 52;
    const double mantissa =
        warprsa_from_bits((bits & WARPRSA_SAMPLE_MASK) | 0x3FF0000000000000ull);
    double y = 24.0 / 17 - 8.0 / 17 * mantissa;

    WARPRSA_UNROLL
    for (int i = 0; i < 4; i++)
        y += y * (1 - mantissa * y);
    return y * warprsa_from_bits((2 * 1023 - exponent) << 52);
}

WARPRSA_FN void warprsa_narrow_new_maker(warprsa_narrow_maker *maker,
                                         const warprsa_operation *op,
                                         const int threads_per_number,
                                         const int limbs_per_thread)
{
    const warprsa_operation_half *half = op->key->half;
    const int threads_per_request = 2 * threads_per_number;

    warprsa_use_primes(&maker->p, op, &half[0], &half[1], WARPRSA_NARROW_LIMBS,
                       threads_per_number, limbs_per_thread,
                       threads_per_request);
    warprsa_load(&maker->r2, half[0].r2, half[1].r2, WARPRSA_NARROW_LIMBS,
                 threads_per_number, limbs_per_thread, threads_per_request);
    warprsa_narrow_top_samples(maker->factor, &maker->p.p, threads_per_number,
                               limbs_per_thread);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        maker->factor[k] =
            (0x1p8 - 0x1p-32) * warprsa_narrow_reciprocal(maker->factor[k]);
    }
}

/*
 * x = 2^8 x mod P, exactly, for 0 <= x < P. The quotient is 2^8 x / P, rounded
 * down, or one less. A prime has FOLD_BITS_MIN bits at least, hence 2^63 or
 * more in its top samples. So the estimate is not too large: the samples of P
 * that it lacks add less than one part in 2^63 and roundings less than one in
 * 2^49, and the factor is less by one part in 2^40. It is too small by less
 * than 2^-31, for 2^8 x / P is below 2^8, and by less than 2^-55 for the
 * samples of x that it lacks. So 0 <= 2^8 x - quotient P < 2P, in columns
 * within 2^60 of zero.
 */
WARPRSA_FN void warprsa_narrow_next_row(warprsa_number *x,
                                        const warprsa_narrow_maker *maker,
                                        const int threads_per_number,
                                        const int limbs_per_thread)
{
    const int threads_per_request = 2 * threads_per_number;
    const warprsa_number *p = &maker->p.p;
    double top[WARPRSA_LANES_EMULATED];
    int64_t over[WARPRSA_LANES_EMULATED];
    warprsa_columns s;

    warprsa_narrow_top_samples(top, x, threads_per_number, limbs_per_thread);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        const uint64_t quotient = (uint64_t)(top[k] * maker->factor[k]);

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            s.of[k][i] =
                ((uint64_t)x->of[k][i] << 8) - quotient * (uint64_t)p->of[k][i];
    }
    warprsa_normalise(x, &s, over, threads_per_number, limbs_per_thread,
                      threads_per_request);
    WARPRSA_BOUND("The narrow fold: The rows of the matrix",
                  warprsa_all_over(over, 0, 0, threads_per_request));
    warprsa_take_off(x, p, 1, threads_per_number, limbs_per_thread,
                     threads_per_request);
    WARPRSA_BOUND("The narrow fold: The rows of the matrix",
                  warprsa_are_reduced(x, p, threads_per_number,
                                      limbs_per_thread, threads_per_request));
}

/* x = 2^bit R mod P; with `down`, 2^bit mod P instead. */
WARPRSA_FN void warprsa_narrow_power_of_two(warprsa_number *x,
                                            const warprsa_narrow_maker *maker,
                                            int bit, bool down,
                                            const int threads_per_number,
                                            const int limbs_per_thread)
{
    const int threads_per_request = 2 * threads_per_number;
    warprsa_number factor = maker->r2;

    if (down) {
        warprsa_set_one(x, threads_per_number, limbs_per_thread,
                        threads_per_request);
        warprsa_mont_mul(&factor, x, &factor, &maker->p, WARPRSA_NARROW_LIMBS,
                         threads_per_number, limbs_per_thread,
                         threads_per_request);
    }
    warprsa_fold_set_power_of_two(x, bit, threads_per_number, limbs_per_thread,
                                  threads_per_request);
    warprsa_mont_mul(x, x, &factor, &maker->p, WARPRSA_NARROW_LIMBS,
                     threads_per_number, limbs_per_thread, threads_per_request);
    warprsa_reduce(x, x, &maker->p.p, threads_per_number, limbs_per_thread,
                   threads_per_request);
}

/*
 * Offsets in the matrix, in bytes; that of row k and digit d is their sum. As
 * the instruction wants it: warp, tile of 16 digits, step of 32 rows, thread,
 * word, byte. The columns of a step are those that a thread reads from memory
 * by two loads of 16 bytes and one of 8, or by four or five of 16. The digits
 * of a word of 32 bits belong to one thread, two in each tile.
 */
WARPRSA_FN int warprsa_narrow_row_offset(int k)
{
    const int column = k / 8;
    const bool in_pairs = WARPRSA_NARROW_ROUNDS > 1 || column < 16;
    const int step = in_pairs ? column % 2 + column / 8 * 2 : 4;
    const int thread = in_pairs ? column % 8 / 2 : column - 16;

    return 16 * (32 * step + thread) + k / 4 % 2 * 8 + k % 4;
}

WARPRSA_FN int warprsa_narrow_digit_offset(int digit)
{
    static const uint8_t place_of_word[] = WARPRSA_NARROW_PLACE_OF_WORD;
    const int place = place_of_word[digit / 4];
    const int tile = place / 8 * WARPRSA_NARROW_TILES + digit / 2 % 2;

    return 16 * 32 * WARPRSA_NARROW_STEPS * tile + 16 * 4 * (place % 8) +
           4 * (digit % 2);
}

/* Puts x as row `row` of a column into the exchange buffer, as integers. */
WARPRSA_FN void warprsa_narrow_put_row(const warprsa_number *x,
                                       warprsa_exchange exchange, int row,
                                       const int threads_per_number,
                                       const int limbs_per_thread)
{
    const int threads_per_request = 2 * threads_per_number;

    WARPRSA_EACH_LANE (k, threads_per_request) {
        double *to =
            warprsa_exchange_array(exchange, k, 0, threads_per_number,
                                   limbs_per_thread, threads_per_request) +
            WARPRSA_NARROW_LIMBS * row;
        const int first =
            warprsa_lane_in_number(k, threads_per_number, threads_per_request) *
            limbs_per_thread;

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            if (first + i < WARPRSA_NARROW_LIMBS)
                to[first + i] = warprsa_from_bits((uint64_t)x->of[k][i]);
    }
}

/* Digits 2 index and 2 index + 1 of a row in the exchange buffer. */
WARPRSA_FN uint32_t warprsa_narrow_two_digits(const double *row, int index)
{
    const int bit = 16 * index, at = bit / 52, shift = bit % 52;
    const uint64_t low = warprsa_bits(row[at]) >> shift;
    const uint64_t high =
        shift > 52 - 16 ? warprsa_bits(row[at + 1]) << (52 - shift) : 0;

    return (uint32_t)(low | high) & 0xFFFF;
}

/* Puts the eight rows of a column from the exchange buffer into both matrices.
 * Two digits are 16 bytes: four rows of the first and of the second digit, then
 * the next four rows of both. */
WARPRSA_FN void warprsa_narrow_put_column(warprsa_narrow_key *to_p,
                                          warprsa_narrow_key *to_q,
                                          warprsa_exchange exchange, int column,
                                          const int threads_per_number,
                                          const int limbs_per_thread)
{
    const int threads_per_request = 2 * threads_per_number;
    const int rows = WARPRSA_NARROW_ROWS_OF_COLUMN;

    WARPRSA_EACH_LANE (k, threads_per_request) {
        const int lane = warprsa_lane(k, threads_per_request);
        const double *from =
            warprsa_exchange_array(exchange, k, 0, threads_per_number,
                                   limbs_per_thread, threads_per_request);
        uint64_t *matrix = (lane < threads_per_number ? to_p : to_q)->matrix;

        WARPRSA_ROLLED
        for (int i = lane & (threads_per_number - 1);
             i < WARPRSA_NARROW_DIGITS / 2; i += threads_per_number) {
            uint64_t *to = matrix + (warprsa_narrow_row_offset(rows * column) +
                                     warprsa_narrow_digit_offset(2 * i)) /
                                        8;
            uint64_t bytes[2] = {0, 0};

            WARPRSA_UNROLL
            for (int row = 0; row < rows; row++) {
                const uint64_t digits = warprsa_narrow_two_digits(
                    from + WARPRSA_NARROW_LIMBS * row, i);

                bytes[row / 4] |= ((digits & 0xFF) | (digits >> 8) << 32)
                                  << (8 * (row % 4));
            }
            to[0] = bytes[0];
            to[1] = bytes[1];
        }
    }
}

/*
 * Makes the rows of a column, 8 column to 8 column + 7, of the matrices of both
 * primes: zeros behind the last byte's. The last rows of the two highest
 * columns are not the next powers of two (narrow.h). The exchange buffer has
 * the rows afterwards, and what products need is gone.
 */
WARPRSA_FN void warprsa_narrow_make_column(warprsa_narrow_key *to_p,
                                           warprsa_narrow_key *to_q,
                                           const warprsa_narrow_maker *maker,
                                           int column,
                                           const int threads_per_number,
                                           const int limbs_per_thread)
{
    const int threads_per_request = 2 * threads_per_number;
    const int limbs = WARPRSA_NARROW_LIMBS;
    const int last = WARPRSA_NARROW_ROWS_OF_COLUMN - 1;
    const bool is_top = column == limbs - 1;
    const bool has_own_last = is_top || column == limbs - 2;
    warprsa_number x = {0}, last_row = {0};

    if (has_own_last)
        warprsa_narrow_power_of_two(&last_row, maker,
                                    is_top ? 52 * column + 44 : 0, is_top,
                                    threads_per_number, limbs_per_thread);
    if (column < limbs)
        warprsa_narrow_power_of_two(&x, maker, 52 * column, false,
                                    threads_per_number, limbs_per_thread);
    warprsa_sync_lanes();
    WARPRSA_ROLLED
    for (int row = 0; row < last; row++) {
        warprsa_narrow_put_row(&x, maker->p.exchange, row, threads_per_number,
                               limbs_per_thread);
        warprsa_narrow_next_row(&x, maker, threads_per_number,
                                limbs_per_thread);
    }
    warprsa_choose(&x, has_own_last, &last_row, &x, limbs_per_thread,
                   threads_per_request);
    warprsa_narrow_put_row(&x, maker->p.exchange, last, threads_per_number,
                           limbs_per_thread);
    warprsa_sync_lanes();
    warprsa_narrow_put_column(to_p, to_q, maker->p.exchange, column,
                              threads_per_number, limbs_per_thread);
    warprsa_sync_lanes();
}

/* The biases of all columns, negated modulo P. That of column c is a multiple
 * of 2^(52 (c + 1)), so those of columns N - 1 to 2N - 2 are a number times R,
 * and that of column 2N - 1 is R^2. */
WARPRSA_FN void warprsa_narrow_make_bias(warprsa_narrow_key *to_p,
                                         warprsa_narrow_key *to_q,
                                         const warprsa_narrow_maker *maker,
                                         const int threads_per_number,
                                         const int limbs_per_thread)
{
    const int threads_per_request = 2 * threads_per_number;
    const int limbs = WARPRSA_NARROW_LIMBS;
    warprsa_number x = {0};
    int64_t over[WARPRSA_LANES_EMULATED];

    WARPRSA_EACH_LANE (k, threads_per_request) {
        const int first =
            (warprsa_lane(k, threads_per_request) & (threads_per_number - 1)) *
            limbs_per_thread;

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            x.of[k][i] =
                first + i < limbs
                    ? (double)warprsa_narrow_bias(limbs - 1 + first + i)
                    : 0.0;
    }
    /* Within 1.02 P of zero, and then 2.02. */
    warprsa_mont_mul(&x, &x, &maker->r2, &maker->p, limbs, threads_per_number,
                     limbs_per_thread, threads_per_request);
    warprsa_add(&x, &x, &maker->r2, threads_per_number, limbs_per_thread,
                threads_per_request);
    warprsa_reduce(&x, &x, &maker->p.p, threads_per_number, limbs_per_thread,
                   threads_per_request);
    warprsa_subtract(&x, &maker->p.p, &x, 1, over, threads_per_number,
                     limbs_per_thread, threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        const int lane = warprsa_lane(k, threads_per_request);
        const int first = (lane & (threads_per_number - 1)) * limbs_per_thread;
        warprsa_narrow_key *to = lane < threads_per_number ? to_p : to_q;

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            if (first + i < limbs)
                to->bias[first + i] = (uint64_t)x.of[k][i];
    }
}

#endif
