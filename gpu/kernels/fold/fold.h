/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products modulo a prime that many messages share, without Montgomery's
 * reduction: what lies above 2^(52 rows) is multiplied by a fixed matrix of
 * the prime, which tensor cores do for 64 messages at once. One thread holds
 * one number of `rows` samples of 52 bits; of 40 on the device two do, see
 * pair.h.
 *
 *   columns   c[0..2 rows) of a * b, in 64 bits, carries not resolved; see
 *             multiply.h
 *   top       bits 44.. of c[rows-1] go up: what is above bit 52 into
 *             c[rows], bits 44..51 into byte 7 of the last column
 *   fold      the bytes h[k] of the upper columns (8 a column, as they lie)
 *             times the matrix: row k is 2^(52 (rows + k/8) + 8 (k mod 8)) mod
 *             P, the last row 2^(52 (rows-1) + 44) mod P, the one of the byte
 *             that stands for the columns' bias minus that, each cut into
 *             digits, 7 to an output sample
 *   join      the 7 digit sums of a sample make x, what is above bit 52 of the
 *             seventh goes into the next sample
 *   carry     sample = x + c + carry, up to 2^52
 *
 * Bounds, for P < 2^B with B = 51.2 rows and samples in [0, 2^52]; N = rows.
 * A column is at most (3N + 3) 2^52 and once a carry below 2^12, so its byte 7
 * is at most (3N + 3) / 16 = 3, 5, 7 for N = 20, 30, 40. The last column is one
 * high half, at most 2^52, so byte 7 of it is free, and so is that of the one
 * below, which is 1 for the bias. Then
 *     H = sum of all h <= N (7 * 255 + byte 7) + 255 + 1
 *                      <= 36,016    53,956    71,936
 * Digit sums are at most H times the largest digit. Where two digits are
 * joined in 32 bits, D0 + 256 D1 + f must be below 2^32, f < 2^21 from the
 * sample below: with 8-bit digits 255 * 257 * H = 2.36e9 and 3.54e9, but 4.71e9
 * for N = 40; there every second digit has 7 bits: (255 + 127 * 256) H
 * = 2.36e9. The joined x is below 2^32 + 2^48 + 2^64 - 2^62 in the first case
 * (the third pair is at most 3.54e9 + 15 * 2^16 < 0.83 * 2^32) and below 2^63
 * in the second, and x + c + carry < 2^64. The result is below 2^(52 (N-1) +
 * 44) + 2^(52 (N-1) + 7) + H P, that is below 2^1039.2, 2^1552.9, 2^2072.1 and
 * so below 2^(52 N), the last sample below 2^51.2: an operand again, as sample
 * N / 2 - 1 is below 2^52, too, see warprsa_fold_carry(), and nothing is
 * carried out of the last sample. P may be even and as small as it likes here;
 * see warprsa_fold_reduce() for what that needs.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_FOLD_H
#define WARPRSA_GPU_KERNELS_FOLD_FOLD_H

#include "gpu/kernels/fold/multiply.h"

#define WARPRSA_FOLD_DIGITS    7 /* of an output sample */
#define WARPRSA_FOLD_CARRY_MAX 5 /* samples that are carried at once */

/* B above: the longest prime, 1024, 1536 and 2048 bits. */
#define WARPRSA_FOLD_BITS(limbs) ((limbs) / 10 * 512)
/* The shortest for warprsa_fold_reduce(). */
#define WARPRSA_FOLD_BITS_MIN(limbs) (52 * (limbs)-40)

/*
 * The matrix as wgmma reads it, 16 rows of a column side by side; in the result
 * lane i of four holds columns 2i and 2i + 1 of every eight, so the digits of
 * `limbs_per_lane` consecutive samples are put there. A chunk is what one
 * instruction makes: 4 limbs_per_lane samples.
 */
#define WARPRSA_FOLD_DEPTH(limbs)          (8 * (limbs))
#define WARPRSA_FOLD_LIMBS_PER_LANE(limbs) ((limbs) == 30 ? 4 : 5)
#define WARPRSA_FOLD_CHUNKS(limbs)         ((limbs) == 20 ? 1 : 2)
#define WARPRSA_FOLD_COLUMNS(limbs)        ((limbs) == 30 ? 112 : 144) /* of a chunk */
#define WARPRSA_FOLD_CHUNK_BYTES(limbs)                                        \
    (WARPRSA_FOLD_DEPTH(limbs) * WARPRSA_FOLD_COLUMNS(limbs))
#define WARPRSA_FOLD_MATRIX_BYTES(limbs)                                       \
    (WARPRSA_FOLD_CHUNKS(limbs) * WARPRSA_FOLD_CHUNK_BYTES(limbs))

/* What is above bit 44 of the lower half goes up. */
WARPRSA_FN void warprsa_fold_top(uint64_t *s, const int limbs)
{
    s[limbs] += s[limbs - 1] >> 52;
    s[2 * limbs - 1] |= (s[limbs - 1] >> 44 & 0xFF) << 56;
    s[limbs - 1] &= (1ull << 44) - 1;
}

/* Where digit `digit` of a sample starts; 52 for the one after the last. */
WARPRSA_FN int warprsa_fold_digit_shift(int digit, const int limbs)
{
    if (limbs <= 30)
        return digit == WARPRSA_FOLD_DIGITS ? 52 : 8 * digit;
    return digit == WARPRSA_FOLD_DIGITS ? 52 : (15 * digit + 1) / 2;
}

/* The row of the byte that stands for minus the biases. */
WARPRSA_FN int warprsa_fold_bias_row(const int limbs)
{
    return 8 * (limbs - 2) + 7;
}

/* Place in the matrix of row k, digit `digit` of sample `sample`. */
WARPRSA_FN int warprsa_fold_matrix_offset(int k, int sample, int digit,
                                          const int limbs)
{
    const int limbs_per_lane = WARPRSA_FOLD_LIMBS_PER_LANE(limbs);
    int chunk = sample / (4 * limbs_per_lane),
        lane = sample / limbs_per_lane % 4;
    int own = sample % limbs_per_lane * WARPRSA_FOLD_DIGITS + digit;
    int column = own / 2 * 8 + 2 * lane + own % 2;

    return chunk * WARPRSA_FOLD_CHUNK_BYTES(limbs) +
           k / 16 * (16 * WARPRSA_FOLD_COLUMNS(limbs)) + column * 16 + k % 16;
}

/* a * b + c as one instruction. Of a power of two and a few bits of a word the
 * compiler would make a shift, a mask and an addition. */
WARPRSA_FN uint32_t warprsa_multiply_add(uint32_t a, uint32_t b, uint32_t c)
{
#ifdef __CUDACC__
    uint32_t r;

    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
#else
    return a * b + c;
#endif
}

/* x of one sample from its digit sums; `over` is what comes from the sample
 * below and then what goes to the one above. The last shift or two become one
 * multiplication with addition of 64 bits each. */
WARPRSA_FN uint64_t warprsa_fold_join(const uint32_t *d, uint32_t *over,
                                      const int limbs)
{
    const int last = limbs <= 30 ? 4 : 7; /* bits of the seventh digit */
    const uint32_t low = d[1] * 256 + (d[0] + *over);
    const uint32_t middle = d[3] * 256 + d[2];
    const uint32_t high = warprsa_multiply_add(d[6] & ((1u << last) - 1),
                                               limbs <= 30 ? 1 << 16 : 1 << 15,
                                               d[5] * 256 + d[4]);

    *over = d[6] >> last;
    if (limbs <= 30)
        return (low | (uint64_t)high << 32) + ((uint64_t)middle << 16);
    return low + ((uint64_t)middle << 15) + ((uint64_t)high << 30);
}

/* A sample from an integer in [0, 2^52]. */
WARPRSA_FN double warprsa_fold_sample(uint64_t x)
{
    return warprsa_from_bits(x + ((uint64_t)0x433 << 52)) - 0x1p52;
}

/* One from the lower 52 bits of an integer. */
WARPRSA_FN double warprsa_fold_low_sample(uint64_t x)
{
#ifdef __CUDACC__
    uint32_t high;

    /* Both in one instruction, which the compiler does not find. */
    asm("lop3.b32 %0, %1, 0xfffff, %2, 0xEA;"
        : "=r"(high)
        : "r"((uint32_t)(x >> 32)), "r"(0x43300000));
    return warprsa_from_bits((uint64_t)high << 32 | (uint32_t)x) - 0x1p52;
#else
    return warprsa_fold_sample(x & WARPRSA_SAMPLE_MASK);
#endif
}

/*
 * `count` >= 2 samples from x, their columns and the carry from below, and
 * their carry. What is carried out does not wait for what comes in: that is
 * below 2^13, and so it makes the first sample overflow by one at most, and the
 * second sample 2^52 at most. All others are below that, sample N / 2 - 1,
 * which is the last of five or the third of four, among them.
 */
WARPRSA_FN void warprsa_fold_carry(double *a, const uint64_t *x,
                                   const uint64_t *s, const int count,
                                   uint32_t *carry)
{
    uint64_t y[WARPRSA_FOLD_CARRY_MAX], over = 0;

    WARPRSA_UNROLL
    for (int i = 0; i < count; i++) {
        y[i] = x[i] + s[i] + over;
        over = y[i] >> 52;
    }
    y[0] = (y[0] & WARPRSA_SAMPLE_MASK) + *carry;
    y[1] = (y[1] & WARPRSA_SAMPLE_MASK) + (y[0] >> 52);
    *carry = (uint32_t)over;
    WARPRSA_UNROLL
    for (int i = 0; i < count; i++)
        a[i] =
            i == 1 ? warprsa_fold_sample(y[i]) : warprsa_fold_low_sample(y[i]);
}

/* An integer in [0, 2^52] again. */
WARPRSA_FN uint64_t warprsa_fold_integer(double sample)
{
    return warprsa_bits(sample + 0x1p52) - ((uint64_t)0x433 << 52);
}

/* r = columns (signed) with carries resolved; what is carried out. */
WARPRSA_FN int64_t warprsa_fold_resolve(double *r, const uint64_t *s,
                                        const int count)
{
    int64_t carry = 0;

    WARPRSA_UNROLL
    for (int i = 0; i < count; i++) {
        int64_t x = (int64_t)s[i] + carry;

        carry = x >> 52;
        r[i] = warprsa_sample((uint64_t)x & WARPRSA_SAMPLE_MASK);
    }
    return carry;
}

/* a + (p where `mask` is all ones). */
WARPRSA_FN void warprsa_fold_add_masked(double *a, const double *p,
                                        uint64_t mask, const int limbs)
{
    uint64_t s[WARPRSA_FOLD_LIMBS_MAX];

    WARPRSA_UNROLL
    for (int i = 0; i < limbs; i++)
        s[i] = warprsa_fold_integer(a[i]) + ((uint64_t)p[i] & mask);
    (void)warprsa_fold_resolve(a, s, limbs);
}

/* a = a - b + (p if that is negative); samples below 2^52. */
WARPRSA_FN void warprsa_fold_subtract(double *a, const double *b,
                                      const double *p, const int limbs)
{
    uint64_t s[WARPRSA_FOLD_LIMBS_MAX];
    int64_t over;

    WARPRSA_UNROLL
    for (int i = 0; i < limbs; i++)
        s[i] = warprsa_fold_integer(a[i]) - (uint64_t)b[i];
    over = warprsa_fold_resolve(a, s, limbs);
    warprsa_fold_add_masked(a, p, (uint64_t)over, limbs);
}

/* 1 / x for x in [2^11, 2^104], off by less than 2^-50 of it. The device's
 * division has a branch for all other numbers; here two of Newton's steps
 * follow an approximation to 20 bits. */
WARPRSA_FN double warprsa_fold_reciprocal(double x)
{
#ifdef __CUDACC__
    double r;

    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    r = __fma_rn(__fma_rn(-x, r, 1), r, r);
    return __fma_rn(__fma_rn(-x, r, 1), r, r);
#else
    return 1 / x;
#endif
}

/*
 * a = a mod p, exactly, for the result a of a fold and p of at least
 * FOLD_BITS_MIN bits: then a < 2^39.5 p. The quotient estimated from the two
 * top samples of each is off by less than 2^-48 of itself, whichever way
 * things are rounded. Made smaller by 2^-40 of itself, by 0.71 at most, and
 * cut off it is the right one or one too small, so that one conditional
 * subtraction ends it. The top sample of p is at least 2^11.
 */
WARPRSA_FN void warprsa_fold_reduce(double *a, const double *p, const int limbs)
{
    double top = a[limbs - 1] * 0x1p52 + a[limbs - 2];
    double ratio =
        top * warprsa_fold_reciprocal(p[limbs - 1] * 0x1p52 + p[limbs - 2]);
    double q = (double)(uint64_t)(ratio * (1 - 0x1p-40));
    uint64_t s[WARPRSA_FOLD_LIMBS_MAX];
    uint64_t down = 0;
    int64_t over;

    WARPRSA_UNROLL
    for (int i = 0; i < limbs; i++) {
        double high = warprsa_fma_rz(q, p[i], 0x1p104);
        double low = warprsa_fma_rz(q, p[i], 0x1p104 - high);

        s[i] = warprsa_fold_integer(a[i]) - (uint64_t)low - down;
        down = warprsa_bits(high) - warprsa_bits(0x1p104);
    }
    (void)warprsa_fold_resolve(a, s, limbs);
    WARPRSA_UNROLL
    for (int i = 0; i < limbs; i++)
        s[i] = warprsa_fold_integer(a[i]) - (uint64_t)p[i];
    over = warprsa_fold_resolve(a, s, limbs);
    warprsa_fold_add_masked(a, p, (uint64_t)over, limbs);
}

#endif
