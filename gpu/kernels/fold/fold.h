/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The fold: reduction of a product modulo a prime that many numbers share,
 * without Montgomery's method. What lies above 2^(52 N) is multiplied by a
 * fixed matrix of the prime, and tensor cores do that for 64 numbers at once.
 * A number has N = `limbs` samples of 52 bits; N is 20, 30 or 40. One thread
 * holds one number. On the device, two threads share a number of 40 samples:
 * see pair.h.
 *
 * The steps of one multiplication:
 *
 *   columns   multiply.h makes c[0..2 N), the columns of a * b, as integers of
 *             64 bits whose carries are not resolved.
 *   top       Bits 44 and up of c[N-1] go up: those above bit 52 are added to
 *             c[N], and bits 44..51 become byte 7 of the last column.
 *   fold      The bytes h[k] of the upper columns, 8 a column, as they lie in
 *             memory, are multiplied by the matrix. Row k of it is
 *             2^(52 (N + k/8) + 8 (k mod 8)) mod P, with two exceptions. The
 *             last row is 2^(52 (N-1) + 44) mod P. The row of the byte that
 *             stands for the bias of the columns (multiply.h) is minus that
 *             bias mod P. Each row is cut into digits, 7 to a sample of the
 *             result, so that the tensor cores multiply bytes by bytes.
 *   join      The 7 digit sums of a sample are joined to one integer x. What
 *             is above bit 52 of the seventh sum goes into the next sample.
 *   carry     sample = x + c + carry, in [0, 2^52].
 *
 * Bounds, for P < 2^B with B = 51.2 N and operands with samples in [0, 2^52].
 *
 * Columns. A column is at most (3 N + 3) 2^52 and gets a carry below 2^12 once,
 * so its byte 7 is at most (3 N + 3) / 16, which is 3, 5, 7 for N = 20, 30, 40.
 * The last column is one high half, at most 2^52, so its byte 7 is free for the
 * bits that `top` puts there. Byte 7 of the column below is free, too, and is 1
 * for the bias. So the sum of all bytes is
 *     H = sum of all h[k] <= N (7 * 255 + byte 7) + 255 + 1
 *                         <= 36,016    53,956    71,936    for N = 20, 30, 40.
 *
 * Digit sums. Each is at most H times the largest digit. Two digits are joined
 * in 32 bits: D0 + 256 D1 + f must be below 2^32, where f < 2^21 comes from the
 * sample below. With digits of 8 bits, 255 * 257 * H is 2.36e9 for N = 20 and
 * 3.54e9 for N = 30, but 4.71e9 for N = 40, which is too large. There every
 * second digit has 7 bits instead: (255 + 127 * 256) H = 2.36e9.
 *
 * Joined sums. With digits of 8 bits, x is below 2^32 + 2^48 + 2^64 - 2^61, as
 * the third pair is at most 3.54e9 + 15 * 2^16 < 0.83 * 2^32. With digits of 8
 * and 7 bits, x is below 2^63. In both cases x + c + carry < 2^64.
 *
 * Result. It is below 2^(52 (N-1) + 44) + 2^(52 (N-1) + 7) + H P, that is below
 * 2^1039.2, 2^1552.9, 2^2072.1. So it is below 2^(52 N), and its last sample is
 * below 2^51.2. Sample N / 2 - 1 is below 2^52 (see warprsa_fold_carry()). The
 * result therefore is an operand again, as multiply.h needs it, and nothing is
 * carried out of the last sample.
 *
 * The fold itself allows P to be even and as small as it likes.
 * warprsa_fold_reduce() needs a lower bound and states it.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_FOLD_H
#define WARPRSA_GPU_KERNELS_FOLD_FOLD_H

#include "gpu/kernels/fold/multiply.h"
#include "gpu/kernels/fold_common/plan.h"

#define WARPRSA_FOLD_DIGITS    7 /* of an output sample */
#define WARPRSA_FOLD_CARRY_MAX 5 /* samples carried at once, at most */

/*
 * How the matrix lies in memory, for wgmma: 16 rows of a column side by side.
 * In wgmma's result, lane i of four holds columns 2 i and 2 i + 1 of every
 * eight. The digits of LIMBS_PER_LANE consecutive samples are put into the
 * columns that one lane will hold, so that it can join them without asking
 * others. A chunk is what one instruction makes: 4 LIMBS_PER_LANE samples.
 */
#define WARPRSA_FOLD_DEPTH(limbs)          (8 * (limbs))
#define WARPRSA_FOLD_LIMBS_PER_LANE(limbs) ((limbs) == 30 ? 4 : 5)
#define WARPRSA_FOLD_CHUNKS(limbs)         ((limbs) == 20 ? 1 : 2)
/* Columns of a chunk. */
#define WARPRSA_FOLD_COLUMNS(limbs) ((limbs) == 30 ? 112 : 144)
#define WARPRSA_FOLD_CHUNK_BYTES(limbs)                                        \
    (WARPRSA_FOLD_DEPTH(limbs) * WARPRSA_FOLD_COLUMNS(limbs))
#define WARPRSA_FOLD_MATRIX_BYTES(limbs)                                       \
    (WARPRSA_FOLD_CHUNKS(limbs) * WARPRSA_FOLD_CHUNK_BYTES(limbs))

#ifdef WARPRSA_VERIFIES
/* The most that the bytes of the upper columns may sum up to, H above. */
static inline uint32_t warprsa_fold_most_bytes(const int limbs)
{
    return (uint32_t)(limbs * (7 * 255 + (3 * limbs + 3) / 16) + 255 + 1);
}

/* Whether a column is within its bounds: of a product, biased, or of a number
 * that is to be folded. */
static inline int warprsa_fold_column_holds(uint64_t column, int index,
                                            const int limbs)
{
    return index == 2 * limbs - 1 ? column <= 1ull << 52
           : index == 2 * limbs - 2
               ? (column <= 1ull << 52 || column >> 54 == 4)
               : column <= (3ull * (uint64_t)limbs + 3) << 52;
}

/* Whether the upper columns that are folded are within their bounds. */
static inline int warprsa_fold_bytes_hold(const uint64_t *upper,
                                          const int limbs)
{
    uint32_t sum = 0;

    for (int k = 0; k < 8 * limbs; k++)
        sum += upper[k / 8] >> (k % 8 * 8) & 0xFF;
    for (int c = 0; c < limbs - 2; c++)
        if (upper[c] >> 56 > (uint64_t)(3 * limbs + 3) / 16)
            return 0;
    return upper[limbs - 2] >> 56 <= 1 && sum <= warprsa_fold_most_bytes(limbs);
}

/* Whether sample `index` of a result is within the bounds of an operand. */
static inline int warprsa_fold_sample_holds(double sample, int index,
                                            const int limbs)
{
    const double most = limbs == 20   ? 2586638741762875.0 /* 2^51.2 */
                        : limbs == 30 ? 32828179945388.0   /* 2^44.9 */
                                      : 18854838150407.0;  /* 2^44.1 */

    return sample >= 0 && (index == limbs - 1       ? sample < most
                           : index == limbs / 2 - 1 ? sample < 0x1p52
                                                    : sample <= 0x1p52);
}

static inline int warprsa_fold_number_holds(const double *a, const int limbs)
{
    for (int i = 0; i < limbs; i++)
        if (!warprsa_fold_sample_holds(a[i], i, limbs))
            return 0;
    return 1;
}

/* Whether a < p, exactly, of samples below 2^52. */
static inline int warprsa_fold_is_below(const double *a, const double *p,
                                        const int limbs)
{
    int i = limbs - 1;

    while (i > 0 && a[i] == p[i])
        i--;
    return a[i] < p[i];
}
#endif

/* The step `top` above: moves bits 44 and up of column N - 1 into the upper
 * columns. */
WARPRSA_FN void warprsa_fold_top(uint64_t *s, const int limbs)
{
    WARPRSA_VERIFY_ONLY(for (int c = 0; c < 2 * limbs; c++))
    WARPRSA_BOUND("Karatsuba's step: The largest column",
                  warprsa_fold_column_holds(s[c], c, limbs));
    WARPRSA_BOUND("The fold: no Montgomery form: The sum of the bytes",
                  s[limbs - 1] >> 52 < 1 << 12);
    s[limbs] += s[limbs - 1] >> 52;
    s[2 * limbs - 1] |= (s[limbs - 1] >> 44 & 0xFF) << 56;
    s[limbs - 1] &= (1ull << 44) - 1;
}

/* The bit of a sample at which digit `digit` starts; 52 for the digit after the
 * last. */
WARPRSA_FN int warprsa_fold_digit_shift(int digit, const int limbs)
{
    if (limbs <= 30)
        return digit == WARPRSA_FOLD_DIGITS ? 52 : 8 * digit;
    return digit == WARPRSA_FOLD_DIGITS ? 52 : (15 * digit + 1) / 2;
}

/* The row of the matrix for the byte that stands for the bias of the columns;
 * the row holds minus that bias. */
WARPRSA_FN int warprsa_fold_bias_row(const int limbs)
{
    return 8 * (limbs - 2) + 7;
}

/* Offset in the matrix, in bytes, of row k and digit `digit` of sample
 * `sample`. */
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

/* a * b + c as one instruction. If the factor is a power of two and only a few
 * bits of a word are used, the compiler would make a shift, a mask and an
 * addition of it. */
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

/* The step `join` above: x of one sample from its digit sums. *over is what
 * comes from the sample below, and on return what goes to the sample above. The
 * last one or two shifts become one 64-bit multiply-add each. */
WARPRSA_FN uint64_t warprsa_fold_join(const uint32_t *d, uint32_t *over,
                                      const int limbs)
{
    const int last = limbs <= 30 ? 4 : 7; /* bits of the seventh digit */
    const uint32_t low = d[1] * 256 + (d[0] + *over);
    const uint32_t middle = d[3] * 256 + d[2];
    const uint32_t high = warprsa_multiply_add(d[6] & ((1u << last) - 1),
                                               limbs <= 30 ? 1 << 16 : 1 << 15,
                                               d[5] * 256 + d[4]);

    WARPRSA_BOUND("The fold: no Montgomery form: Digit sums fit 32 bits",
                  *over < 1 << 21 &&
                      (uint64_t)d[1] * 256 + d[0] + *over <= UINT32_MAX &&
                      (uint64_t)d[3] * 256 + d[2] <= UINT32_MAX &&
                      (uint64_t)d[5] * 256 + d[4] + (15 << 16) <= UINT32_MAX);
    WARPRSA_BOUND(
        "The fold: no Montgomery form: The joined number fits 64 bits",
        (unsigned __int128)low +
                ((unsigned __int128)middle << (limbs <= 30 ? 16 : 15)) +
                ((unsigned __int128)high << (limbs <= 30 ? 32 : 30)) <
            (limbs <= 30
                 ? (1ull << 32) + (1ull << 48) + (UINT64_MAX - (1ull << 61) + 1)
                 : 1ull << 63));
    *over = d[6] >> last;
    if (limbs <= 30)
        return (low | (uint64_t)high << 32) + ((uint64_t)middle << 16);
    return low + ((uint64_t)middle << 15) + ((uint64_t)high << 30);
}

/* A sample from an integer in [0, 2^52]. The bits of 2^52 + x are those of 2^52
 * plus x, and subtracting 2^52 is exact. */
WARPRSA_FN double warprsa_fold_sample(uint64_t x)
{
    return warprsa_from_bits(x + ((uint64_t)0x433 << 52)) - 0x1p52;
}

/* A sample from the lower 52 bits of an integer. */
WARPRSA_FN double warprsa_fold_low_sample(uint64_t x)
{
#ifdef __CUDACC__
    uint32_t high;

    /* Mask and exponent bits in one instruction, which the compiler does not
     * find. */
    asm("lop3.b32 %0, %1, 0xfffff, %2, 0xEA;"
        : "=r"(high)
        : "r"((uint32_t)(x >> 32)), "r"(0x43300000));
    return warprsa_from_bits((uint64_t)high << 32 | (uint32_t)x) - 0x1p52;
#else
    return warprsa_fold_sample(x & WARPRSA_SAMPLE_MASK);
#endif
}

/*
 * The step `carry` above: `count` >= 2 samples from x, their columns s and
 * *carry, which comes from below; on return it is what is carried out.
 *
 * What is carried out does not wait for what comes in, so that the carries of a
 * number are not one long chain. It is right all the same: what comes in is
 * below 2^13, so it makes the first sample overflow by one at most, and the
 * second sample becomes 2^52 at most. All other samples are below 2^52. Sample
 * N / 2 - 1 is among these, as it is the last of five or the third of four.
 */
WARPRSA_FN void warprsa_fold_carry(double *a, const uint64_t *x,
                                   const uint64_t *s, const int count,
                                   uint32_t *carry)
{
    uint64_t y[WARPRSA_FOLD_CARRY_MAX], over = 0;

    WARPRSA_UNROLL
    for (int i = 0; i < count; i++) {
        WARPRSA_BOUND(
            "The fold: no Montgomery form: The joined number fits 64 bits",
            (unsigned __int128)x[i] + s[i] + over <= UINT64_MAX);
        y[i] = x[i] + s[i] + over;
        over = y[i] >> 52;
    }
    y[0] = (y[0] & WARPRSA_SAMPLE_MASK) + *carry;
    y[1] = (y[1] & WARPRSA_SAMPLE_MASK) + (y[0] >> 52);
    WARPRSA_BOUND(
        "The fold: no Montgomery form: The result is an operand again",
        *carry < 1 << 13 && y[0] >> 52 <= 1 && y[1] <= 1ull << 52);
    *carry = (uint32_t)over;
    WARPRSA_UNROLL
    for (int i = 0; i < count; i++)
        a[i] =
            i == 1 ? warprsa_fold_sample(y[i]) : warprsa_fold_low_sample(y[i]);
}

/* The integer in [0, 2^52] that a sample is. */
WARPRSA_FN uint64_t warprsa_fold_integer(double sample)
{
    return warprsa_bits(sample + 0x1p52) - ((uint64_t)0x433 << 52);
}

/* r = signed columns with their carries resolved. Returns what is carried out
 * of the last, which is negative if the number is. */
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

/* a += p where `mask` is all ones, a += 0 where it is zero. */
WARPRSA_FN void warprsa_fold_add_masked(double *a, const double *p,
                                        uint64_t mask, const int limbs)
{
    uint64_t s[WARPRSA_FOLD_LIMBS_MAX];

    WARPRSA_UNROLL
    for (int i = 0; i < limbs; i++)
        s[i] = warprsa_fold_integer(a[i]) + ((uint64_t)p[i] & mask);
    (void)warprsa_fold_resolve(a, s, limbs);
}

/* a = a - b, plus p if that is negative. All samples are below 2^52. */
WARPRSA_FN void warprsa_fold_subtract(double *a, const double *b,
                                      const double *p, const int limbs)
{
    uint64_t s[WARPRSA_FOLD_LIMBS_MAX];
    int64_t over;

    WARPRSA_UNROLL
    for (int i = 0; i < limbs; i++)
        s[i] = warprsa_fold_integer(a[i]) - (uint64_t)b[i];
    over = warprsa_fold_resolve(a, s, limbs);
    WARPRSA_BOUND("The fold: no Montgomery form: The end",
                  over == 0 || over == -1);
    warprsa_fold_add_masked(a, p, (uint64_t)over, limbs);
}

/* 1 / x for x in [2^11, 2^104], off by less than 2^-50 of itself. The division
 * that the compiler would use on the device branches for numbers outside that
 * range. Here two Newton steps follow an approximation of 20 bits. */
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
 * a = a mod p, exactly. a must be the result of a fold, and p must have at
 * least FOLD_BITS_MIN bits; then a < 2^39.5 p.
 *
 * The quotient is estimated from the two top samples of a and of p, and is off
 * by less than 2^-48 of itself, whichever way the operations round. It is made
 * smaller by 2^-40 of itself, which is 0.71 at most, and then cut off to an
 * integer. That is the right quotient or one less, so one conditional
 * subtraction ends the reduction. The top sample of p is at least 2^11, so the
 * reciprocal is taken within its range.
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

    WARPRSA_BOUND("The fold: no Montgomery form: The end",
                  p[limbs - 1] >= 0x1p11 && q < 0x1.6a09e667f3bcdp39);
    WARPRSA_UNROLL
    for (int i = 0; i < limbs; i++) {
        double high = warprsa_fma_rz(q, p[i], 0x1p104);
        double low = warprsa_fma_rz(q, p[i], 0x1p104 - high);

        s[i] = warprsa_fold_integer(a[i]) - (uint64_t)low - down;
        down = warprsa_bits(high) - warprsa_bits(0x1p104);
    }
    over = warprsa_fold_resolve(a, s, limbs);
    WARPRSA_BOUND("The fold: no Montgomery form: The end", over == 0);
    WARPRSA_UNROLL
    for (int i = 0; i < limbs; i++)
        s[i] = warprsa_fold_integer(a[i]) - (uint64_t)p[i];
    over = warprsa_fold_resolve(a, s, limbs);
    warprsa_fold_add_masked(a, p, (uint64_t)over, limbs);
    WARPRSA_BOUND("The fold: no Montgomery form: The end",
                  warprsa_fold_is_below(a, p, limbs));
}

#endif
