/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The narrow fold: a product modulo a prime that eight numbers share, reduced
 * by a fixed matrix of the prime as in fold.h, by 16 lanes a number. The
 * numbers are the narrow side of the tensor cores' instruction, so that few of
 * them are enough. Numbers have 20 samples of 52 bits; primes are below 2^1024.
 * The end of this comment has what differs for RSA-3072 and RSA-4096.
 *
 * The steps of one multiplication:
 *
 *   product   The samples are five blocks of four. Each of 15 pairs of blocks I
 *             <= J is a lane's: 16 products of samples, in eight columns. A
 *             square counts the pairs with I < J twice. A multiplication takes
 *             both a_I b_J and a_J b_I.
 *   columns   Through shared memory each lane gets the parts of one or two
 *             pairs of columns and sums them: c[0..40).
 *   top       Bits 44..51 of c[19] become byte 7 of c[39], bits 52 and up byte
 *             7 of c[38], so that no carry waits for c[19].
 *   fold      The 160 bytes of c[20..40), as they lie in memory, are multiplied
 *             by the matrix. Row k of it is 2^(52 (20 + k/8) + 8 (k mod 8)) mod
 *             P, with two exceptions: row 159 is 2^(52 19 + 44) mod P, row 151
 *             is 2^(52 20) mod P. A row is cut into 128 digits of 8 bits.
 *   join      Four digit sums are joined to an integer of weight 2^(32 word).
 *             It is cut where a sample ends. At most three such parts belong to
 *             a sample.
 *   carry     y = c + parts. A sample is the lowest 52 bits of y less 2^51,
 *             plus the carry of the y below. Nothing ripples.
 *
 * Bounds. Samples are signed: |a_i| <= 2^51 + 2^12 for i < 19, and |a_19| <=
 * 2^51.2.
 *
 * Halves. A product of samples is below 2^102.4, so that 1.5 2^104 + a_i b_j
 * lies between 2^104 and 2^105, where doubles are 2^52 apart. Hence its high
 * half is at most 2^50.4 in absolute value, and its low half in [0, 2^52).
 *
 * Columns. Column c takes at most 20 low and 20 high halves: it is within
 * [-6.6, 26.6] 2^52. From column 19 up a bias of 7 2^52 makes it positive. One
 * of 2^52 is enough for columns 38 and 39, which take two high halves (below
 * 2^51.3 together) and one. All biases, negated modulo P, are in the start of
 * the lower columns: less than 2^52 in each, where 2^51 for rounding are, too.
 * Columns 20 to 37 are below 34 2^52, so that their byte 7 is at most 2.
 * Columns 38 and 39 are below 3 2^52, and their byte 7 is free. What `top` puts
 * there is at most 34 and 255.
 *
 * Digit sums. The sum of all bytes is H <= 20 (7 255 + 2) + 34 + 255 < 36,030.
 * So D0 + 256 D1 is at most 255 257 H < 2.37e9 < 2^31.2, and four sums make an
 * integer below 2^31.2 + 2^47.2 < 2^48. It has two parts at most, and one if
 * its word begins at one of the lowest five bits of a sample.
 *
 * Carries. y is the sum of a column, within [-6.6, 28.2] 2^52, and three parts
 * below 2^52. So what is carried is within [-7, 31], and a sample within 2^51 +
 * 2^5 of zero.
 *
 * Result. It is the sum of the folded rows, below H P + 2^(52 19 + 44), and of
 * lower columns within 2^(52 19 + 6) of zero: below 2^1039.2 and above -2^994.
 * So the top sample, whose y is not negative, is below 2^51.2 and above -2^6.
 * The result is an operand again.
 *
 * RSA-3072. Compiled with 30 samples and for primes below 2^1536, a block has
 * six samples, in two rounds: four, then two. In the second round every other
 * lane has no pair of its own. What it would store is not stored, and what it
 * loads is zero, for nobody writes there. A lane makes 36 products in 12
 * columns. The matrix has 240 rows of 192 digits, and 16 rows of zeros that
 * fill the last step. For the digits there are half as many warps again,
 * without numbers. These also look through the tables, while the others have
 * the step `product` of squares. Exponents have digits of 5 bits instead of 4.
 *
 * Columns take 30 low and 30 high halves: [-9.9, 39.9] 2^52, with a bias of 10
 * 2^52 from column 29 to 57. Upper ones are below 50 2^52, so that their byte 7
 * is at most 3, and c[29] below 51 2^52. H <= 30 (7 255 + 3) + 50 + 255 <
 * 53,950. D0 + 256 D1 is below 2^31.8, and four sums are below 2^31.8 + 2^47.8
 * < 2^48: parts are as many as for RSA-2048. y is within [-9.9, 44.5] 2^52, a
 * sample within 2^51 + 2^6. The result is below 2^(52 29 + 44) + H P + 2^(52 29
 * + 6) < 2^1553 and above -2^1514: the top sample is below 2^45.
 *
 * RSA-4096. Compiled with 40 samples and for primes below 2^2048 it goes the
 * same way, by the same lanes, with two of everything. A block has eight
 * samples, in two rounds of four; a lane makes 64 products in 16 columns, and
 * sums one or two pairs of columns in each round. The matrix has 320 rows of
 * 256 digits, for which there are as many warps again, without numbers.
 *
 * Columns take 40 low and 40 high halves: [-13.2, 53.2] 2^52, with a bias of 14
 * 2^52 from column 39 to 77. Upper ones are below 67 2^52, so that their byte 7
 * is at most 4, and c[39] below 68 2^52. H <= 40 (7 255 + 4) + 68 + 255 <
 * 71,900. D0 + 256 D1 is below 2^32.2, which is joined in 64 bits, and four
 * sums are below 2^48.2: one part if the word begins at one of the lowest four
 * bits, hence up to four parts to a sample. y is within [-13.2, 58.7] 2^52, a
 * sample within 2^51 + 2^6. The result is below 2^(52 39 + 44) + H P + 2^(52 39
 * + 6) < 2^2072.1 and above -2^2034: the top sample is below 2^44.1.
 */
#ifndef WARPRSA_GPU_KERNELS_NARROW_FOLD_NARROW_H
#define WARPRSA_GPU_KERNELS_NARROW_FOLD_NARROW_H

#include "gpu/kernels/narrow_fold/layout.h"

#define WARPRSA_NARROW_HIGH 0x1.8p104
#define WARPRSA_NARROW_LOW  0x1p52

/* The exponent fields of a low and of a high half. */
#define WARPRSA_NARROW_LOW_FIELD  (0x433ull << 52)
#define WARPRSA_NARROW_HIGH_FIELD (0x4678ull << 48)

#ifdef WARPRSA_VERIFIES
/* Whether the halves of x y are within their bounds, and exact. */
static inline int warprsa_narrow_halves_hold(double x, double y, double high,
                                             double low)
{
    /* 2^51.2 and 2^50.4 */
    return fabs(x) <= 2586638741762875.0 && fabs(y) <= 2586638741762875.0 &&
           llabs(warprsa_counted_from(high, WARPRSA_NARROW_HIGH)) <=
               1485633833817308.0 &&
           low >= 0x1p52 && low < 0x1p53 &&
           warprsa_halves_are_exact(x, y, high, low, WARPRSA_NARROW_HIGH);
}

enum {
    /* What y may carry, and what `top` may put into byte 7 of a column. */
    WARPRSA_NARROW_LEAST_CARRY = -(WARPRSA_NARROW_LIMBS + 2) / 3,
    WARPRSA_NARROW_MOST_CARRY = WARPRSA_NARROW_LIMBS == 20   ? 31
                                : WARPRSA_NARROW_LIMBS == 30 ? 44
                                                             : 58,
    WARPRSA_NARROW_MOST_TOP = WARPRSA_NARROW_LIMBS == 20   ? 34
                              : WARPRSA_NARROW_LIMBS == 30 ? 50
                                                           : 67,
    WARPRSA_NARROW_MOST_BYTES = WARPRSA_NARROW_LIMBS == 20   ? 36030
                                : WARPRSA_NARROW_LIMBS == 30 ? 53950
                                                             : 71900,
};

/* Whether what y carries is within its bounds. */
static inline int warprsa_narrow_carry_holds(uint64_t y)
{
    const int64_t carry = (int64_t)y >> 52;

    return carry >= WARPRSA_NARROW_LEAST_CARRY &&
           carry <= WARPRSA_NARROW_MOST_CARRY;
}

/* Whether a sample of a result is within the bounds of an operand. */
static inline int warprsa_narrow_sample_holds(double sample, bool is_top)
{
    const double most = WARPRSA_NARROW_LIMBS == 20   ? 2586638741762875.0
                        : WARPRSA_NARROW_LIMBS == 30 ? 0x1p45
                                                     : 18854838150407.0;

    return is_top ? sample > -0x1p6 && sample < most
                  : fabs(sample) <=
                        0x1p51 + (WARPRSA_NARROW_LIMBS == 20 ? 0x1p5 : 0x1p6);
}
#endif

/* Low halves that column c of a product of two blocks gets. */
WARPRSA_FN int warprsa_narrow_block_halves(const int c)
{
    const int side = WARPRSA_NARROW_SIDE;

    return c < 0 || c > 2 * side - 2 ? 0 : c < side ? c + 1 : 2 * side - 1 - c;
}

/* The exponent fields that such a block adds to column c. */
WARPRSA_FN uint64_t warprsa_narrow_block_fields(const int c)
{
    return (uint64_t)warprsa_narrow_block_halves(c) * WARPRSA_NARROW_LOW_FIELD +
           (uint64_t)warprsa_narrow_block_halves(c - 1) *
               WARPRSA_NARROW_HIGH_FIELD;
}

/*
 * Adds the products of a block's `rows` samples with `count` of another, 4 or 2
 * each, to their columns.
 * The high halves of row k, what they leave, and the low halves come one step
 * after the other, so that nothing within a step waits for anything in it. (As
 * one sum with a choice in it, what is added to a column makes the assembler
 * spill.)
 */
WARPRSA_FN void warprsa_narrow_block(uint64_t *s, const double *x,
                                     const double *y, const int rows,
                                     const int count)
{
    double high[4][4], low[4][4];

    WARPRSA_UNROLL
    for (int k = 0; k < rows + 3; k++) {
        WARPRSA_UNROLL
        for (int j = 0; j < count; j++) {
            if (k < rows)
                high[k][j] = warprsa_fma_rz(x[k], y[j], WARPRSA_NARROW_HIGH);
            if (k >= 1 && k < rows + 1)
                low[k - 1][j] =
                    (WARPRSA_NARROW_HIGH + WARPRSA_NARROW_LOW) - high[k - 1][j];
            if (k >= 2 && k < rows + 2)
                low[k - 2][j] = warprsa_fma_rz(x[k - 2], y[j], low[k - 2][j]);
            if (k >= 3) {
                const int r = k - 3;

                WARPRSA_BOUND("The narrow fold: Halves",
                              warprsa_narrow_halves_hold(x[r], y[j], high[r][j],
                                                         low[r][j]));
                if (j > 0)
                    s[r + j] +=
                        warprsa_bits(low[r][j]) + warprsa_bits(high[r][j - 1]);
                else
                    s[r] += warprsa_bits(low[r][0]);
                if (j == count - 1)
                    s[r + count] += warprsa_bits(high[r][j]);
            }
        }
    }
}

/* Samples of a block in a round. */
WARPRSA_FN int warprsa_narrow_round_samples(const int round)
{
    const int left = WARPRSA_NARROW_SIDE - 4 * round;

    return left < 4 ? left : 4;
}

/* Loads a block's samples of a round. */
WARPRSA_FN void warprsa_narrow_load_round(double *x, warprsa_narrow_address at,
                                          const int round)
{
    at += WARPRSA_NARROW_ROUND * round;
    warprsa_narrow_load_samples(x, at);
    if (warprsa_narrow_round_samples(round) == 4)
        warprsa_narrow_load_samples(x + 2, at + WARPRSA_NARROW_HALF_NUMBER);
}

/* The samples of the block at x, times those at y, into all of its columns. The
 * second round goes back through those at y, so that one round of them is not
 * loaded again. */
WARPRSA_FN void warprsa_narrow_multiply_rounds(uint64_t *s,
                                               warprsa_narrow_address x,
                                               warprsa_narrow_address y)
{
    double a[4], b[4];

    WARPRSA_UNROLL
    for (int i = 0; i < WARPRSA_NARROW_ROUNDS; i++) {
        warprsa_narrow_load_round(a, x, i);
        WARPRSA_UNROLL
        for (int k = 0; k < WARPRSA_NARROW_ROUNDS; k++) {
            const int j = i == 0 ? k : WARPRSA_NARROW_ROUNDS - 1 - k;

            if (i == 0 || k > 0)
                warprsa_narrow_load_round(b, y, j);
            warprsa_narrow_block(s + 4 * (i + j), a, b,
                                 warprsa_narrow_round_samples(i),
                                 warprsa_narrow_round_samples(j));
        }
    }
}

/* The step `product`: of a with itself or, with `multiply`, with b. The block
 * of a diagonal lane has no second product. It multiplies zeros instead, whose
 * exponent fields are taken off. */
WARPRSA_FN void warprsa_narrow_product(const warprsa_narrow_lane *me,
                                       const int multiply)
{
    uint64_t s[2 * WARPRSA_NARROW_SIDE] = {0};

    if (!multiply) {
        warprsa_narrow_multiply_rounds(s, me->left, me->right);
    } else {
        warprsa_narrow_address x = me->left;
        warprsa_narrow_address y =
            me->right + (WARPRSA_NARROW_B - WARPRSA_NARROW_A);

        WARPRSA_ROLLED
        for (int i = 0; i < 2; i++) {
            warprsa_narrow_multiply_rounds(s, x, y);
            x = me->left_again;
            y = me->left + (WARPRSA_NARROW_B - WARPRSA_NARROW_A);
        }
        WARPRSA_UNROLL
        for (int j = 0; j < 2 * WARPRSA_NARROW_SIDE; j++)
            s[j] -= (uint64_t)(me->square *
                               (uint32_t)(warprsa_narrow_block_fields(j) >> 32))
                    << 32;
    }
    WARPRSA_UNROLL
    for (int i = 0; i < WARPRSA_NARROW_SIDE; i++)
        warprsa_narrow_store(
            me->part + WARPRSA_NARROW_PARTS_ROUND * warprsa_narrow_round_of(i) +
                WARPRSA_NARROW_PARTS_ROW * warprsa_narrow_place_of(i),
            s[2 * i], s[2 * i + 1]);
}

#if WARPRSA_NARROW_LIMBS == 30
/* Where the starts of a round are, of the first pair; those of the second come
 * a row behind. */
WARPRSA_FN warprsa_narrow_address
warprsa_narrow_starts_at(const warprsa_narrow_lane *me, const int round)
{
    return me->part + (WARPRSA_NARROW_STARTS - WARPRSA_NARROW_PARTS) +
           2 * WARPRSA_NARROW_STARTS_ROW * round;
}
#endif

/* What a lane's first pair of columns starts from in a round, and its second
 * pair, if it has one. */
WARPRSA_FN void warprsa_narrow_starts(const warprsa_narrow_lane *me,
                                      uint64_t *first, uint64_t *second,
                                      const int round)
{
#if WARPRSA_NARROW_LIMBS == 30
    warprsa_narrow_load(first, warprsa_narrow_starts_at(me, round));
    if (me->second)
        warprsa_narrow_load(second, warprsa_narrow_starts_at(me, round) +
                                        WARPRSA_NARROW_STARTS_ROW);
#else
    WARPRSA_UNROLL
    for (int i = 0; i < 2; i++) {
        first[i] = me->start[round][i];
        second[i] = (uint64_t)me->second_start[round][i] << 32;
    }
#endif
}

/* The step `columns` of one round: c gets the lane's lower columns; upper ones
 * are put into memory. In a multiplication parts count once. */
WARPRSA_FN void warprsa_narrow_columns_of(const warprsa_narrow_lane *me,
                                          uint64_t *c, const int multiply,
                                          const int round)
{
    const uint64_t fourth = (uint64_t)me->fourth << 32 | me->fourth;
    const uint64_t fifth = me->second ? 0 : ~0ull;
    uint64_t part[5][2], first[2] = {0}, second[2] = {0};

    if (!warprsa_narrow_takes_part(me, round))
        return;
    WARPRSA_UNROLL
    for (int i = 0; i < 5; i++)
        warprsa_narrow_load(part[i],
                            me->parts[i] + WARPRSA_NARROW_PARTS_ROUND * round);
    warprsa_narrow_starts(me, first, second, round);
    WARPRSA_UNROLL
    for (int i = 0; i < 2; i++) {
        uint64_t x = (part[1][i] + part[2][i] + (part[3][i] & fourth)) +
                     (part[4][i] & fifth);
        uint64_t y = part[3][i] & ~fourth;

        if (!multiply) {
            x += x;
            y += y;
        }
        c[i] = (part[0][i] + first[i]) + x;
        second[i] = (part[4][i] + second[i]) + y;
        WARPRSA_BOUND("The narrow fold: Columns",
                      me->low || c[i] >> 52 < WARPRSA_NARROW_MOST_TOP);
        WARPRSA_BOUND("The narrow fold: Columns",
                      !me->second || second[i] >> 52 < WARPRSA_NARROW_MOST_TOP);
    }
    if (!me->low)
        warprsa_narrow_store(me->upper_first + 32 * round, c[0], c[1]);
    if (me->second)
        warprsa_narrow_store(me->upper_second + 32 * round, second[0],
                             second[1]);
}

WARPRSA_FN void warprsa_narrow_columns(const warprsa_narrow_lane *me,
                                       uint64_t c[][2], const int multiply)
{
    WARPRSA_UNROLL
    for (int round = 0; round < WARPRSA_NARROW_ROUNDS; round++)
        warprsa_narrow_columns_of(me, c[round], multiply, round);
}

/* The step `top`, which overwrites bytes that the lane of the two highest
 * columns has stored. */
WARPRSA_FN void warprsa_narrow_top(const warprsa_narrow_lane *me,
                                   uint64_t c[][2])
{
    const int last = WARPRSA_NARROW_ROUNDS - 1;
    uint64_t *top = &c[last][1];

    if (me->top) {
        WARPRSA_BOUND("The narrow fold: Columns",
                      *top >> 52 <= WARPRSA_NARROW_MOST_TOP &&
                          me->upper_second[32 * last + 7] == 0 &&
                          me->upper_second[32 * last + 15] == 0);
        warprsa_narrow_store_byte(me->upper_second + 32 * last + 7,
                                  (uint32_t)(*top >> 52));
        warprsa_narrow_store_byte(me->upper_second + 32 * last + 15,
                                  (uint32_t)(*top >> 44));
    }
    *top &= (uint64_t)me->top_mask << 32 | 0xFFFFFFFFu;
}

/* The step `join` of one word: its digit sums d are those of two tiles, d[0]
 * and d[1] of the lower. */
WARPRSA_FN void warprsa_narrow_put_word(warprsa_narrow_address low,
                                        warprsa_narrow_address high, int shift,
                                        uint32_t d0, uint32_t d1, uint32_t d2,
                                        uint32_t d3)
{
#if WARPRSA_NARROW_LIMBS < 40
    const uint64_t x = (d0 + 256 * d1) + ((uint64_t)(d2 + 256 * d3) << 16);
#else /* the sums of two are beyond 32 bits */
    const uint64_t x =
        (d0 + ((uint64_t)d1 << 8)) + ((d2 + ((uint64_t)d3 << 8)) << 16);
#endif

    WARPRSA_BOUND("The narrow fold: Digit sums",
                  WARPRSA_NARROW_LIMBS == 40
                      ? (double)x < 323329842720360.0 /* 2^48.2 */
                      : x < 1ull << 48 &&
                            d0 + (uint64_t)d1 * 256 <= UINT32_MAX &&
                            d2 + (uint64_t)d3 * 256 <= UINT32_MAX);
    warprsa_narrow_store_one(low, (x << shift) & WARPRSA_SAMPLE_MASK);
    warprsa_narrow_store_one(high, x >> (52 - shift));
}

/* Words' parts that a sample of a round may get. The few with four are all in
 * the second round, by the choice of places. */
WARPRSA_FN int warprsa_narrow_word_parts(const int round)
{
    return WARPRSA_NARROW_LIMBS == 40 && round == 0 ? 3
                                                    : WARPRSA_NARROW_WORD_PARTS;
}

/* The step `carry` of one round: y of a lane's pair of samples, and what is
 * carried out of the upper one. */
WARPRSA_FN uint32_t warprsa_narrow_sums(const warprsa_narrow_lane *me,
                                        const uint64_t *c, uint64_t *y,
                                        const int round)
{
    uint64_t x[WARPRSA_NARROW_WORD_PARTS][2];

    y[0] = y[1] = 0;
    if (!warprsa_narrow_takes_part(me, round))
        return 0;
    WARPRSA_UNROLL
    for (int i = 0; i < warprsa_narrow_word_parts(round); i++)
        warprsa_narrow_load(x[i], me->words + WARPRSA_NARROW_WORDS_ROW * i +
                                      WARPRSA_NARROW_ROUND * round);
    WARPRSA_UNROLL
    for (int i = 0; i < 2; i++) {
        y[i] = c[i] + x[0][i] + (x[1][i] + x[2][i]);
#if WARPRSA_NARROW_LIMBS == 40
        if (warprsa_narrow_word_parts(round) > 3)
            y[i] += x[3][i];
#endif
        WARPRSA_BOUND("The narrow fold: Carries",
                      !me->low || warprsa_narrow_carry_holds(y[i]));
    }
    return (uint32_t)((int32_t)(uint32_t)(y[1] >> 32) >> 20);
}

/* 2^52 plus the lower 52 bits of y, as a double. */
WARPRSA_FN double warprsa_narrow_low(uint64_t y)
{
    return warprsa_from_bits((y & WARPRSA_SAMPLE_MASK) |
                             WARPRSA_NARROW_LOW_FIELD);
}

/* 2^52 + 2^31 plus a carry, as a double. */
WARPRSA_FN double warprsa_narrow_carry(uint32_t carry)
{
    return warprsa_from_bits(WARPRSA_NARROW_LOW_FIELD | (carry ^ 0x80000000u));
}

#define WARPRSA_NARROW_HALF (0x1p53 + 0x1p51 + 0x1p31)

/* The double that has this upper word, and the lower word of the constant. */
WARPRSA_FN double warprsa_narrow_half(uint32_t high)
{
    return warprsa_from_bits((uint64_t)high << 32 |
                             (uint32_t)warprsa_bits(WARPRSA_NARROW_HALF));
}

/* Ends the step: the lane's samples of a round from its sums and the carry from
 * below. */
WARPRSA_FN void warprsa_narrow_samples(const warprsa_narrow_lane *me, double *a,
                                       const uint64_t *y, uint32_t carry,
                                       const int round)
{
    const uint32_t own = (uint32_t)((int32_t)(uint32_t)(y[0] >> 32) >> 20);
    const double half = round == WARPRSA_NARROW_ROUNDS - 1
                            ? warprsa_narrow_half(me->half)
                            : WARPRSA_NARROW_HALF;

    a[0] = (warprsa_narrow_low(y[0]) - WARPRSA_NARROW_HALF) +
           warprsa_narrow_carry(round == 0 && me->lowest ? 0 : carry);
    a[1] = (warprsa_narrow_low(y[1]) - half) + warprsa_narrow_carry(own);
    WARPRSA_BOUND(
        "The narrow fold: The result",
        !me->low || !warprsa_narrow_takes_part(me, round) ||
            (warprsa_narrow_sample_holds(a[0], false) &&
             warprsa_narrow_sample_holds(
                 a[1], me->top && round == WARPRSA_NARROW_ROUNDS - 1)));
    if (me->low && warprsa_narrow_takes_part(me, round))
        warprsa_narrow_store_samples(me->number + WARPRSA_NARROW_ROUND * round,
                                     a);
}

/* Low halves that column c of a whole product gets. */
WARPRSA_FN int warprsa_narrow_halves(int c)
{
    const int limbs = WARPRSA_NARROW_LIMBS;

    return c < 0 || c > 2 * limbs - 2 ? 0
           : c < limbs                ? c + 1
                                      : 2 * limbs - 1 - c;
}

/* What makes column c positive, in units of 2^52: more than a third for each
 * high half. */
WARPRSA_FN uint64_t warprsa_narrow_bias(int c)
{
    return c < WARPRSA_NARROW_LIMBS - 1     ? 0
           : c < WARPRSA_NARROW_COLUMNS - 2 ? (WARPRSA_NARROW_LIMBS + 2) / 3
                                            : 1;
}

/* What column c starts from: less the exponent fields, plus its bias, 2^51 for
 * rounding, and the negated biases of all columns. */
WARPRSA_FN uint64_t warprsa_narrow_start(const warprsa_narrow_key *key, int c)
{
    uint64_t start =
        (warprsa_narrow_bias(c) << 52) -
        (uint64_t)warprsa_narrow_halves(c) * WARPRSA_NARROW_LOW_FIELD -
        (uint64_t)warprsa_narrow_halves(c - 1) * WARPRSA_NARROW_HIGH_FIELD;

    if (c < WARPRSA_NARROW_LIMBS)
        start += key->bias[c];
    if (c < WARPRSA_NARROW_LIMBS - 1)
        start += WARPRSA_SAMPLE_HALF;
    return start;
}

#endif
