/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Multiplication and squaring for the fold (fold.h): the columns of a product
 * of two numbers, by one level of Karatsuba's method. With N samples to a
 * number, h = N / 2, X = 2^(52 h) and A = Al + X Ah,
 *
 *     A B = L + X (L + H - M) + X^2 H,
 *     L = Al Bl, H = Ah Bh, M = (Al - Ah) (Bl - Bh).
 *
 * That is 3 h^2 products of samples instead of 4 h^2, and 3 h (h + 1) / 2
 * instead of h (2 h + 1) in a square. An operand's samples are in [0, 2^52],
 * sample h - 1 is below 2^52 and the last one is at most 2^51.5: fold.h says
 * why. A product of two samples is added to the columns as a low and a high
 * half, see warprsa_row().
 *
 * Differences. Sample i < h - 1 of Al - Ah is a d in [-2^52, 2^52]. Balancing
 * takes c 2^52 off it, with c = floor((d + 2^51 - 1) / 2^52) in {-1, 0, 1}, and
 * adds the c of the sample below. The result is in [-2^51, 2^51 + 1], and all
 * samples are balanced at once, as no c waits for another. Nothing is taken off
 * the top sample: with the c from below it is in [-2^51.5 - 1, 2^52].
 *
 * Products of differences, but for the product of the two tops, are in
 * [-2^103, 2^103 + 2^52]. For these the halves of warprsa_row() are exact if
 * they are counted from 1.5 * 2^104 instead of 2^104. The sums then are in
 * [2^104, 2^105 + 2^52]. From 2^105 on, where a double counts by 2^53, 2^105
 * stands for the sum, and the low half is what is left, up to 2^53.
 *
 * The product of the tops is in [-0.71, 1] * 2^104. Its high half counts by
 * 2^53, as 1.375 * 2^105 plus the product stays in one binade. Its low half is
 * below 2^53 and is made an integer.
 *
 * Biases. Column c of M has n(c) low halves of at most 2^52 and n(c-1) high
 * halves of at most 2^51 + 1 in size. L + H - M might be negative in a column.
 * So column c gets b(c) 2^52 and column c + 1 gets -b(c), which together are
 * nothing, with b(c) >= n(c) + n(c-1) / 2 + 2: more than all that is taken off.
 * The last column of M is the high half of the tops, at most 2^52, with b = 4.
 * That 4 is not taken off again, as nothing is known of the column above. So
 * the columns stand for a product that is 2^(52 * 3 h + 2) too large, and the
 * fold takes that off: byte 7 of column 2 N - 2 is free, as the column is one
 * low and two high halves and so below 2^54. It is set to 1 and stands for
 * minus the bias (warprsa_fold_bias_row()). No column is above
 *     (4 h - 1) + h / 2 + max b(c) <= 6 h + 3 = 3 N + 3    times 2^52.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_MULTIPLY_H
#define WARPRSA_GPU_KERNELS_FOLD_MULTIPLY_H

#include "gpu/arith/private_operation.h"

#define WARPRSA_FOLD_LIMBS_MAX 40

/* Whether a multiplication keeps columns in shared memory for a while. With 30
 * samples, all columns and the operands are more than the registers of a
 * thread. */
#define WARPRSA_FOLD_STASHES(limbs) ((limbs) == 30)

/* Where a thread keeps such columns. On the device: the shared-memory address
 * of the first two, and the distance in bytes from two columns to the next two.
 * SECRET. */
typedef struct warprsa_fold_smem_stash {
#ifdef __CUDACC__
    uint32_t address, stride;
#else
    uint64_t columns[WARPRSA_FOLD_LIMBS_MAX];
#endif
} warprsa_fold_smem_stash;

/* The number that high halves are counted from: for samples, for balanced
 * differences, for the tops of differences. See above. */
#define WARPRSA_FOLD_UNSIGNED_BASE 0x1p104
#define WARPRSA_FOLD_SIGNED_BASE   0x1.8p104
#define WARPRSA_FOLD_TOPS_BASE     0x1.6p105

/* The bias that is not taken off, in units of 2^(52 * 3 h). */
#define WARPRSA_FOLD_BIAS 4

/* n(column): how many products of samples have their low half in this column of
 * a full product. */
WARPRSA_FN int warprsa_fold_low_halves(int column, const int limbs)
{
    return column < 0 || column > 2 * limbs - 2 ? 0
           : column < limbs                     ? column + 1
                                                : 2 * limbs - 1 - column;
}

/* How many of these are a[i] a[j] with i < j. */
WARPRSA_FN int warprsa_fold_unequal_low_halves(int column, const int limbs)
{
    return warprsa_fold_low_halves(column, limbs) / 2;
}

/* What a column starts with, so that the bits of `base` and of 2^52, from which
 * its halves are counted, cancel. */
WARPRSA_FN uint64_t warprsa_fold_start_value(int high, int low,
                                             const double base)
{
    return 0 - (uint64_t)high * warprsa_bits(base) -
           (uint64_t)low * warprsa_bits(0x1p52);
}

/* s + x + y, summed in this order. The compiler would add three halves of
 * products in one instruction whose operands then all lie in one bank of
 * registers. */
WARPRSA_FN uint64_t warprsa_fold_add_two(uint64_t s, uint64_t x, uint64_t y)
{
#ifdef __CUDACC__
    asm("{ .reg .u64 t; add.u64 t, %0, %1; add.u64 %0, t, %2; }"
        : "+l"(s)
        : "l"(x), "l"(y));
    return s;
#else
    return s + x + y;
#endif
}

/* Whether halves of products are added to their columns two at a time. In L and
 * H of 30 samples that does not help; with 40, which two threads share, it does
 * not fit the registers. */
#define WARPRSA_FOLD_SUMS_BY_TWO(limbs) ((limbs) == 20)
/* The same for M. */
#define WARPRSA_FOLD_M_SUMS_BY_TWO(limbs) ((limbs) <= 30)

/* Halves that wait for a second one of their column, to be added together. */
typedef struct warprsa_fold_waiting {
    uint64_t half[WARPRSA_FOLD_LIMBS_MAX];
    int there[WARPRSA_FOLD_LIMBS_MAX];
} warprsa_fold_waiting;

#ifdef WARPRSA_VERIFIES
/* Whether the halves of t v, counted from `base`, are within their bounds, and
 * exact. */
static inline int warprsa_fold_halves_hold(double t, double v, double high,
                                           double low, double base)
{
    const double least =
        base == WARPRSA_FOLD_SIGNED_BASE ? -0x1.6a09e667f3bcdp51 - 1 : 0;

    return t >= least && v >= least && t <= 0x1p52 && v <= 0x1p52 &&
           high >= 0x1p104 && high <= 0x1p105 && low >= 0x1p52 &&
           low <= 0x1p53 && warprsa_halves_are_exact(t, v, high, low, base);
}
#endif

WARPRSA_FN void warprsa_fold_add_half(uint64_t *s, warprsa_fold_waiting *w,
                                      int column, double half, const int by_two)
{
    if (!by_two) {
        s[column] += warprsa_bits(half);
    } else if (w->there[column]) {
        s[column] = warprsa_fold_add_two(s[column], w->half[column],
                                         warprsa_bits(half));
        w->there[column] = 0;
    } else {
        w->half[column] = warprsa_bits(half);
        w->there[column] = 1;
    }
}

WARPRSA_FN void warprsa_fold_add_waiting(uint64_t *s,
                                         const warprsa_fold_waiting *w,
                                         const int limbs)
{
    WARPRSA_UNROLL
    for (int c = 0; c < 2 * limbs; c++)
        if (w->there[c])
            s[c] += w->half[c];
}

/* Adds t * v[i] for i in first..last-1 to the columns from `at` on.
 * warprsa_row() says why the halves are exact. */
WARPRSA_FN void warprsa_fold_add_row(uint64_t *s, warprsa_fold_waiting *w,
                                     int at, double t, const double *v,
                                     int first, int last, const double base,
                                     const int by_two, const int limbs)
{
    WARPRSA_UNROLL
    for (int i = 0; i < limbs; i++) {
        if (i >= first && i < last) {
            double high = warprsa_fma_rz(t, v[i], base);
            double low = warprsa_fma_rz(t, v[i], (base + 0x1p52) - high);

            WARPRSA_BOUND("Karatsuba's step: Differences",
                          warprsa_fold_halves_hold(t, v[i], high, low, base));
            warprsa_fold_add_half(s, w, at + i, low, by_two);
            warprsa_fold_add_half(s, w, at + i + 1, high, by_two);
        }
    }
}

/* s[0..2 limbs) += columns of a * b. With `tops` 0 the product of the two last
 * samples is left out. */
WARPRSA_FN void warprsa_fold_add_mul(uint64_t *s, const double *a,
                                     const double *b, const double base,
                                     const int tops, const int by_two,
                                     const int limbs)
{
    warprsa_fold_waiting w = {{0}, {0}};

    WARPRSA_UNROLL
    for (int c = 0; c < 2 * limbs; c++)
        s[c] += warprsa_fold_start_value(warprsa_fold_low_halves(c - 1, limbs) -
                                             (c == 2 * limbs - 1 && !tops),
                                         warprsa_fold_low_halves(c, limbs) -
                                             (c == 2 * limbs - 2 && !tops),
                                         base);
    WARPRSA_UNROLL
    for (int i = 0; i < limbs; i++)
        warprsa_fold_add_row(s, &w, i, b[i], a, 0,
                             i == limbs - 1 && !tops ? limbs - 1 : limbs, base,
                             by_two, limbs);
    warprsa_fold_add_waiting(s, &w, limbs);
}

/*
 * s = 2 s + columns of a * a; `tops` as in warprsa_fold_add_mul().
 *
 * Products of different samples are summed once and doubled, then the squares
 * are added. What a column starts with is doubled, too. So it has half the bits
 * of the one half of a square that follows: the low half in even columns, the
 * high half in odd ones.
 */
WARPRSA_FN void warprsa_fold_add_sqr(uint64_t *s, const double *a,
                                     const double base, const int tops,
                                     const int by_two, const int limbs)
{
    const int squares = tops ? limbs : limbs - 1;
    warprsa_fold_waiting w = {{0}, {0}};

    WARPRSA_UNROLL
    for (int c = 0; c < 2 * limbs; c++)
        s[c] +=
            warprsa_fold_start_value(
                warprsa_fold_unequal_low_halves(c - 1, limbs),
                warprsa_fold_unequal_low_halves(c, limbs), base) -
            (c >= 2 * squares ? 0
                              : warprsa_bits(c % 2 != 0 ? base : 0x1p52) / 2);
    WARPRSA_UNROLL
    for (int i = 0; i < limbs - 1; i++)
        warprsa_fold_add_row(s, &w, i, a[i], a, i + 1, limbs, base, by_two,
                             limbs);
    warprsa_fold_add_waiting(s, &w, limbs);
    WARPRSA_UNROLL
    for (int i = 0; i < limbs; i++) {
        double high = warprsa_fma_rz(a[i], a[i], base);
        double low = warprsa_fma_rz(a[i], a[i], (base + 0x1p52) - high);

        WARPRSA_BOUND("Karatsuba's step: Differences",
                      i >= squares || warprsa_fold_halves_hold(a[i], a[i], high,
                                                               low, base));
        s[2 * i] += s[2 * i] + (i < squares ? warprsa_bits(low) : 0);
        s[2 * i + 1] += s[2 * i + 1] + (i < squares ? warprsa_bits(high) : 0);
    }
}

/* Adds the product of the tops of two differences to s[0] and s[1]. */
WARPRSA_FN void warprsa_fold_add_tops(uint64_t *s, double t, double v)
{
    double high = warprsa_fma_rz(t, v, WARPRSA_FOLD_TOPS_BASE);
    double low = warprsa_fma_rz(t, v, WARPRSA_FOLD_TOPS_BASE - high);

    WARPRSA_BOUND(
        "Karatsuba's step: The product of the tops",
        high >= 0x1p105 && high < 0x1p106 && low >= 0 && low < 0x1p53 &&
            (__int128)(int64_t)t * (int64_t)v ==
                ((__int128)1 << 53) *
                        warprsa_counted_from(high, WARPRSA_FOLD_TOPS_BASE) +
                    (int64_t)low);
    s[0] += (uint64_t)low;
    s[1] += 2 * (warprsa_bits(high) - warprsa_bits(WARPRSA_FOLD_TOPS_BASE));
}

/* d = Al - Ah, balanced as described above. */
WARPRSA_FN void warprsa_fold_difference(double *d, const double *a,
                                        const int half)
{
    double carry = 0;

    WARPRSA_UNROLL
    for (int i = 0; i < half; i++) {
        const double x = a[i] - a[half + i];
        double over = 0;

        if (i < half - 1)
            over =
                warprsa_fma_rz(x + (0x1p51 - 1), 1, WARPRSA_FOLD_SIGNED_BASE) -
                WARPRSA_FOLD_SIGNED_BASE;
        d[i] = warprsa_fma_rz(carry, 0x1p-52, x - over);
        WARPRSA_BOUND("Karatsuba's step: Differences",
                      i < half - 1 ? d[i] >= -0x1p51 && d[i] <= 0x1p51 + 1
                                   : d[i] >= -0x1.6a09e667f3bcdp51 - 1 &&
                                         d[i] <= 0x1p52);
        carry = over;
    }
}

/* b(column) of M above. It is even, as a square needs half of it. */
WARPRSA_FN int warprsa_fold_bias(int column, const int half)
{
    if (column < 0)
        return 0;
    if (column == 2 * half - 1)
        return WARPRSA_FOLD_BIAS;
    return (warprsa_fold_low_halves(column, half) +
            (warprsa_fold_low_halves(column - 1, half) + 1) / 2 + 3) /
           2 * 2;
}

/* The byte that stands for the bias, 1 in byte 7 of column 2 N - 2: what this
 * column of H starts with. */
WARPRSA_FN uint64_t warprsa_fold_bias_byte(int column, const int half)
{
    return column == 2 * half - 2 ? (uint64_t)1 << 56 : 0;
}

/* What a column of M, which is subtracted, starts with: minus the bias, and
 * what the byte for the bias adds to the same column through H, so that it
 * cancels there. Even, as a square needs half of it. */
WARPRSA_FN int64_t warprsa_fold_middle_start(int column, const int half)
{
    return (int64_t)warprsa_fold_bias_byte(column, half) -
           (int64_t)warprsa_fold_bias(column, half) * ((int64_t)1 << 52) +
           warprsa_fold_bias(column - 1, half);
}

/* s = L + X (L + H - M) + X^2 H. */
WARPRSA_FN void warprsa_fold_join_parts(uint64_t *s, const uint64_t *lower,
                                        const uint64_t *upper,
                                        const uint64_t *middle, const int half)
{
    WARPRSA_UNROLL
    for (int i = 0; i < half; i++) {
        const uint64_t both = lower[half + i] + upper[i];

        s[i] = lower[i];
        s[half + i] = both + lower[i] - middle[i];
        s[2 * half + i] = both + upper[half + i] - middle[half + i];
        s[3 * half + i] = upper[half + i];
    }
}

/*
 * Ends a part of a multiplication for the assembler. It moves instructions
 * freely between two branches and begins as much as the registers hold. Then
 * the later parts, begun too early, go on one instruction after the other, each
 * waiting for the one before: up to 11 clocks for an instruction on doubles
 * instead of 2. So here is a branch. It is never taken, as the address is below
 * 2^18.
 */
WARPRSA_FN void
warprsa_fold_schedule_barrier(const warprsa_fold_smem_stash *stash)
{
#ifdef __CUDACC__
    asm volatile(
        "{ .reg .pred p; setp.eq.u32 p, %0, 0xffffffff; @p brkpt; }" ::"r"(
            stash->address)
        : "memory");
#else
    (void)stash;
#endif
}

/* Puts `count` columns, an even number, into the stash. */
WARPRSA_FN void warprsa_fold_stash_columns(warprsa_fold_smem_stash *stash,
                                           const uint64_t *s, const int count)
{
    WARPRSA_UNROLL
    for (int i = 0; i < count; i += 2) {
#ifdef __CUDACC__
        asm volatile("st.shared.v2.u64 [%0], {%1, %2};" ::"r"(
                         stash->address + i / 2 * stash->stride),
                     "l"(s[i]), "l"(s[i + 1])
                     : "memory");
#else
        stash->columns[i] = s[i];
        stash->columns[i + 1] = s[i + 1];
#endif
    }
}

/* Takes `count` columns out of the stash. */
WARPRSA_FN void
warprsa_fold_unstash_columns(uint64_t *s, const warprsa_fold_smem_stash *stash,
                             const int count)
{
    WARPRSA_UNROLL
    for (int i = 0; i < count; i += 2) {
#ifdef __CUDACC__
        asm volatile("ld.shared.v2.u64 {%0, %1}, [%2];"
                     : "=l"(s[i]), "=l"(s[i + 1])
                     : "r"(stash->address + i / 2 * stash->stride)
                     : "memory");
#else
        s[i] = stash->columns[i];
        s[i + 1] = stash->columns[i + 1];
#endif
    }
}

/* First part of the join where M and L come before H: s = L + X (L - M), three
 * quarters of the columns. */
WARPRSA_FN void warprsa_fold_join_lower(uint64_t *s, const uint64_t *lower,
                                        const uint64_t *middle, const int half)
{
    WARPRSA_UNROLL
    for (int i = 0; i < half; i++) {
        s[i] = lower[i];
        s[half + i] = lower[i] + lower[half + i] - middle[i];
        s[2 * half + i] = lower[half + i] - middle[half + i];
    }
}

/* Second part of that join: s += X H + X^2 H. */
WARPRSA_FN void warprsa_fold_join_upper(uint64_t *s, const uint64_t *upper,
                                        const int half)
{
    WARPRSA_UNROLL
    for (int i = 0; i < half; i++) {
        s[half + i] += upper[i];
        s[2 * half + i] += upper[i] + upper[half + i];
        s[3 * half + i] = upper[half + i];
    }
}

/* Has these columns computed here. The compiler would move what no volatile
 * statement needs past a branch, to where it is used. */
WARPRSA_FN void warprsa_fold_pin_columns(uint64_t *s, const int count)
{
#ifdef __CUDACC__
    WARPRSA_UNROLL
    for (int i = 0; i < count; i++)
        asm volatile("" : "+l"(s[i]));
#else
    (void)s;
    (void)count;
#endif
}

/* M = (Al - Ah) (Bl - Bh), with its start values. */
WARPRSA_FN void warprsa_fold_mul_middle(uint64_t *s, const double *a,
                                        const double *b, const int half)
{
    double d[WARPRSA_FOLD_LIMBS_MAX / 2], e[WARPRSA_FOLD_LIMBS_MAX / 2];

    warprsa_fold_difference(d, a, half);
    warprsa_fold_difference(e, b, half);
    WARPRSA_UNROLL
    for (int c = 0; c < 2 * half; c++)
        s[c] = (uint64_t)warprsa_fold_middle_start(c, half);
    warprsa_fold_add_mul(s, d, e, WARPRSA_FOLD_SIGNED_BASE, 0,
                         WARPRSA_FOLD_SUMS_BY_TWO(2 * half), half);
    warprsa_fold_add_tops(s + 2 * half - 2, d[half - 1], e[half - 1]);
}

/* M = (Al - Ah)^2, with its start values. */
WARPRSA_FN void warprsa_fold_sqr_middle(uint64_t *s, const double *a,
                                        const int half)
{
    double d[WARPRSA_FOLD_LIMBS_MAX / 2];

    warprsa_fold_difference(d, a, half);
    WARPRSA_UNROLL
    for (int c = 0; c < 2 * half; c++)
        s[c] = (uint64_t)(warprsa_fold_middle_start(c, half) / 2);
    warprsa_fold_add_sqr(s, d, WARPRSA_FOLD_SIGNED_BASE, 0,
                         WARPRSA_FOLD_M_SUMS_BY_TWO(2 * half), half);
    warprsa_fold_add_tops(s + 2 * half - 2, d[half - 1], d[half - 1]);
}

/*
 * The rest of s = columns of a * b when L is in the stash. M is summed on top
 * of -H - X^-1 H. That sum is what is subtracted from L + X^-1 L in the two
 * middle quarters. So, beside the upper half of H, there are never three of L,
 * H and M in registers.
 * Columns are modulo 2^64, so they come out as warprsa_fold_join_parts() has
 * them, bit by bit.
 */
WARPRSA_FN void warprsa_fold_mul_rest(uint64_t *s, const double *a,
                                      const double *b,
                                      const warprsa_fold_smem_stash *stash,
                                      const int half)
{
    uint64_t part[WARPRSA_FOLD_LIMBS_MAX], less[WARPRSA_FOLD_LIMBS_MAX];
    double d[WARPRSA_FOLD_LIMBS_MAX / 2], e[WARPRSA_FOLD_LIMBS_MAX / 2];

    warprsa_fold_difference(d, a, half);
    warprsa_fold_difference(e, b, half);
    WARPRSA_UNROLL
    for (int c = 0; c < 2 * half; c++)
        part[c] = warprsa_fold_bias_byte(c, half);
    warprsa_fold_add_mul(part, a + half, b + half, WARPRSA_FOLD_UNSIGNED_BASE,
                         1, WARPRSA_FOLD_SUMS_BY_TWO(2 * half), half);
    warprsa_fold_schedule_barrier(stash);
    WARPRSA_UNROLL
    for (int i = 0; i < half; i++) {
        less[i] = (uint64_t)warprsa_fold_middle_start(i, half) - part[i];
        less[half + i] = (uint64_t)warprsa_fold_middle_start(half + i, half) -
                         part[i] - part[half + i];
        s[3 * half + i] = part[half + i];
    }
    warprsa_fold_add_mul(less, d, e, WARPRSA_FOLD_SIGNED_BASE, 0,
                         WARPRSA_FOLD_M_SUMS_BY_TWO(2 * half), half);
    warprsa_fold_add_tops(less + 2 * half - 2, d[half - 1], e[half - 1]);
    warprsa_fold_schedule_barrier(stash);
    warprsa_fold_unstash_columns(part, stash, 2 * half);
    WARPRSA_UNROLL
    for (int i = 0; i < half; i++) {
        s[i] = part[i];
        s[half + i] = part[i] + part[half + i] - less[i];
        s[2 * half + i] = part[half + i] - less[half + i];
    }
}

/* What a multiplication has between its two parts: L, and for a square H.
 * SECRET. */
typedef struct warprsa_fold_halves {
    uint64_t lower[WARPRSA_FOLD_LIMBS_MAX], upper[WARPRSA_FOLD_LIMBS_MAX];
} warprsa_fold_halves;

/* First part of s = columns of a * b: L. */
WARPRSA_FN void warprsa_fold_mul_begin(warprsa_fold_halves *parts,
                                       const double *a, const double *b,
                                       warprsa_fold_smem_stash *stash,
                                       const int limbs)
{
    WARPRSA_UNROLL
    for (int c = 0; c < limbs; c++)
        parts->lower[c] = 0;
    warprsa_fold_add_mul(parts->lower, a, b, WARPRSA_FOLD_UNSIGNED_BASE, 1,
                         WARPRSA_FOLD_SUMS_BY_TWO(limbs), limbs / 2);
    warprsa_fold_schedule_barrier(stash);
    if (WARPRSA_FOLD_STASHES(limbs))
        warprsa_fold_stash_columns(stash, parts->lower, limbs);
}

/* Second part of s = columns of a * b. The columns are 2^(52 * 3 h + 2) too
 * large and have the byte that says so. */
WARPRSA_FN void warprsa_fold_mul_end(uint64_t *s, warprsa_fold_halves *parts,
                                     const double *a, const double *b,
                                     warprsa_fold_smem_stash *stash,
                                     const int limbs)
{
    const int half = limbs / 2;
    uint64_t middle[WARPRSA_FOLD_LIMBS_MAX];

    if (WARPRSA_FOLD_STASHES(limbs)) {
        warprsa_fold_mul_rest(s, a, b, stash, half);
        return;
    }
    WARPRSA_UNROLL
    for (int c = 0; c < limbs; c++)
        parts->upper[c] = warprsa_fold_bias_byte(c, half);
    warprsa_fold_add_mul(parts->upper, a + half, b + half,
                         WARPRSA_FOLD_UNSIGNED_BASE, 1,
                         WARPRSA_FOLD_SUMS_BY_TWO(2 * half), half);
    warprsa_fold_schedule_barrier(stash);
    warprsa_fold_mul_middle(middle, a, b, half);
    warprsa_fold_schedule_barrier(stash);
    warprsa_fold_join_parts(s, parts->lower, parts->upper, middle, half);
}

/* First part of s = columns of a * a where registers are few: three quarters of
 * the columns, from M and L. M is doubled at its end, so it cannot be summed on
 * top of anything. As M and L are joined before H begins, there are never all
 * three in registers, and no stash is needed. */
WARPRSA_FN void
warprsa_fold_sqr_lower_middle(uint64_t *s, const double *a,
                              const warprsa_fold_smem_stash *stash,
                              const int half)
{
    uint64_t lower[WARPRSA_FOLD_LIMBS_MAX] = {0},
             middle[WARPRSA_FOLD_LIMBS_MAX];

    warprsa_fold_sqr_middle(middle, a, half);
    warprsa_fold_schedule_barrier(stash);
    warprsa_fold_add_sqr(lower, a, WARPRSA_FOLD_UNSIGNED_BASE, 1, 0, half);
    warprsa_fold_schedule_barrier(stash);
    warprsa_fold_join_lower(s, lower, middle, half);
    warprsa_fold_pin_columns(s, 3 * half);
    warprsa_fold_schedule_barrier(stash);
}

/* H of a * a. It starts with half of the byte for the bias, as a square doubles
 * it. */
WARPRSA_FN void warprsa_fold_sqr_upper(uint64_t *upper, const double *a,
                                       const int half)
{
    WARPRSA_UNROLL
    for (int c = 0; c < 2 * half; c++)
        upper[c] = warprsa_fold_bias_byte(c, half) / 2;
    warprsa_fold_add_sqr(upper, a + half, WARPRSA_FOLD_UNSIGNED_BASE, 1,
                         WARPRSA_FOLD_SUMS_BY_TWO(2 * half), half);
}

/* Second part of s = columns of a * a where registers are few: adds H. */
WARPRSA_FN void warprsa_fold_sqr_add_upper(uint64_t *s, const double *a,
                                           const warprsa_fold_smem_stash *stash,
                                           const int half)
{
    uint64_t upper[WARPRSA_FOLD_LIMBS_MAX];

    warprsa_fold_sqr_upper(upper, a, half);
    warprsa_fold_schedule_barrier(stash);
    warprsa_fold_join_upper(s, upper, half);
}

/* First part of s = columns of a * a where registers suffice: L and H. */
WARPRSA_FN void warprsa_fold_sqr_begin(warprsa_fold_halves *parts,
                                       const double *a, const int limbs)
{
    WARPRSA_UNROLL
    for (int c = 0; c < limbs; c++)
        parts->lower[c] = 0;
    warprsa_fold_add_sqr(parts->lower, a, WARPRSA_FOLD_UNSIGNED_BASE, 1,
                         WARPRSA_FOLD_SUMS_BY_TWO(limbs), limbs / 2);
    warprsa_fold_sqr_upper(parts->upper, a, limbs / 2);
}

/* Second part of the same: M and the join. */
WARPRSA_FN void warprsa_fold_sqr_end(uint64_t *s,
                                     const warprsa_fold_halves *parts,
                                     const double *a, const int limbs)
{
    uint64_t middle[WARPRSA_FOLD_LIMBS_MAX];

    warprsa_fold_sqr_middle(middle, a, limbs / 2);
    warprsa_fold_join_parts(s, parts->lower, parts->upper, middle, limbs / 2);
}

/* s = columns of a * b, both parts at once. */
WARPRSA_FN void warprsa_fold_mul(uint64_t *s, const double *a, const double *b,
                                 warprsa_fold_smem_stash *stash,
                                 const int limbs)
{
    warprsa_fold_halves parts;

    warprsa_fold_mul_begin(&parts, a, b, stash, limbs);
    warprsa_fold_mul_end(s, &parts, a, b, stash, limbs);
}

/* s = columns of a * a, both parts at once. */
WARPRSA_FN void warprsa_fold_sqr(uint64_t *s, const double *a,
                                 const warprsa_fold_smem_stash *stash,
                                 const int limbs)
{
    if (WARPRSA_FOLD_STASHES(limbs)) {
        warprsa_fold_sqr_lower_middle(s, a, stash, limbs / 2);
        warprsa_fold_sqr_add_upper(s, a, stash, limbs / 2);
    } else {
        warprsa_fold_halves parts;

        warprsa_fold_sqr_begin(&parts, a, limbs);
        warprsa_fold_sqr_end(s, &parts, a, limbs);
    }
}

/*
 * Takes the bias and its byte off columns that are resolved instead of folded.
 * A column may be negative then, so warprsa_fold_resolve() is for signed ones.
 */
WARPRSA_FN void warprsa_fold_unbias(uint64_t *s, const int limbs)
{
    s[limbs / 2 * 3] -= WARPRSA_FOLD_BIAS;
    s[2 * limbs - 2] -= (uint64_t)1 << 56;
}

#endif
