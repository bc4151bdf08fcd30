/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Columns of products for fold.h, by one step of Karatsuba's: with A = Al + X
 * Ah, X = 2^(52 h), h = N / 2,
 *
 *     A B = L + X (L + H - M) + X^2 H,
 *     L = Al Bl, H = Ah Bh, M = (Al - Ah) (Bl - Bh)
 *
 * which is 3 h^2 products of samples for 4 h^2, and 3 h (h + 1) / 2 for
 * h (2 h + 1) in a square. An operand's samples are in [0, 2^52], sample h - 1
 * below 2^52, the last one at most 2^51.5: fold.h says why.
 *
 * Differences. Sample i < h - 1 of Al - Ah is in [-2^52, 2^52]; with c 2^52
 * taken off, c = floor((d + 2^51 - 1) / 2^52) in {-1, 0, 1}, and the c from
 * below it is in [-2^51, 2^51 + 1], all at once. The top one only gets its c:
 * it is in [-2^51.5 - 1, 2^52]. So all products of two differences but that of
 * the tops are in [-2^103, 2^103 + 2^52], for which warprsa_row()'s halves are
 * exact with 1.5 * 2^104 instead of 2^104: the sums are in [2^104, 2^105 +
 * 2^52], and from 2^105 on, where a double counts by 2^53, 2^105 stands for
 * them and low is what is left, up to 2^53. The product of the tops is in
 * [-0.71, 1] * 2^104; its high half counts by 2^53 (1.375 * 2^105 plus it stays
 * in one binade) and its low half, below 2^53, is made an integer.
 *
 * Biases. Column c of M has n(c) low halves of at most 2^52 and n(c-1) high
 * ones of at most 2^51 + 1 in size; taken off L + H it may leave less than
 * nothing. It gets b(c) 2^52 then, column c + 1 gets -b(c), with
 * b(c) >= n(c) + n(c-1) / 2 + 2: more than all that is taken off. The last
 * column of M is the tops' high half, at most 2^52 with b = 4, and the 4 are
 * not taken off again, as nothing is known of the column above. So a product of
 * the columns is 2^(52 * 3 h + 2) too large; the fold takes that off: byte 7 of
 * column 2 N - 2, which is one low and two high halves and so below 2^54, is 1,
 * and stands for minus that (warprsa_fold_bias_row()). No column is above
 *     (4 h - 1) + h / 2 + max b(c) <= 6 h + 3 = 3 N + 3 times 2^52.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_MULTIPLY_H
#define WARPRSA_GPU_KERNELS_FOLD_MULTIPLY_H

#include "gpu/arith/private_operation.h"

#define WARPRSA_FOLD_LIMBS_MAX 40

/* Whether columns are laid aside meanwhile: with 30 samples all there are, and
 * the operands, are more than a thread has registers for. */
#define WARPRSA_FOLD_STASHES(limbs) ((limbs) == 30)

/* Where a thread lays columns: on the device, at an address in shared memory
 * two of them, and the next two `apart` bytes further. SECRET. */
typedef struct warprsa_fold_smem_stash {
#ifdef __CUDACC__
    uint32_t address, stride;
#else
    uint64_t columns[WARPRSA_FOLD_LIMBS_MAX];
#endif
} warprsa_fold_smem_stash;

/* What high halves are counted from, see above. */
#define WARPRSA_FOLD_UNSIGNED_BASE 0x1p104
#define WARPRSA_FOLD_SIGNED_BASE   0x1.8p104
#define WARPRSA_FOLD_TOPS_BASE     0x1.6p105

/* The bias that is not taken off, times 2^(52 * 3 h). */
#define WARPRSA_FOLD_BIAS 4

/* Half products whose low half falls into this column of a full product. */
WARPRSA_FN int warprsa_fold_low_halves(int column, const int limbs)
{
    return column < 0 || column > 2 * limbs - 2 ? 0
           : column < limbs                     ? column + 1
                                                : 2 * limbs - 1 - column;
}

/* Of these a[i] a[j], i < j, whose low half falls into this column. */
WARPRSA_FN int warprsa_fold_unequal_low_halves(int column, const int limbs)
{
    return warprsa_fold_low_halves(column, limbs) / 2;
}

/* What a column starts with, so that the bits of halves that are counted from
 * `base` and 2^52 cancel. */
WARPRSA_FN uint64_t warprsa_fold_start_value(int high, int low,
                                             const double base)
{
    return 0 - (uint64_t)high * warprsa_bits(base) -
           (uint64_t)low * warprsa_bits(0x1p52);
}

/* s + x + y, summed in this order: the compiler would put three halves of
 * products into one addition, of which all words are in one bank of registers.
 */
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

/* Whether halves of products of so many samples are summed two by two onto
 * their columns; with 30, and where two threads have 40, that does not help or
 * not fit. */
#define WARPRSA_FOLD_SUMS_BY_TWO(limbs) ((limbs) == 20)

/* Of halves of products that are to be added to columns, those that wait for
 * another one of their column. */
typedef struct warprsa_fold_waiting {
    uint64_t half[WARPRSA_FOLD_LIMBS_MAX];
    int there[WARPRSA_FOLD_LIMBS_MAX];
} warprsa_fold_waiting;

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

/* Adds t * v[i] for i in first..last-1 to the columns from `at` on; see
 * warprsa_row() for why the halves are exact. */
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

            warprsa_fold_add_half(s, w, at + i, low, by_two);
            warprsa_fold_add_half(s, w, at + i + 1, high, by_two);
        }
    }
}

/* s[0..2 rows) += columns of a * b, of their last samples only if `tops`
 * is 1, not 0. */
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
 * Likewise s = 2 s + a * a: the products of different samples are summed once
 * and doubled, then the squares added. A start value is doubled, too, so it has
 * half the bits of the one square's half that follows: the low half in even
 * columns, the high one in odd ones.
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

        s[2 * i] += s[2 * i] + (i < squares ? warprsa_bits(low) : 0);
        s[2 * i + 1] += s[2 * i + 1] + (i < squares ? warprsa_bits(high) : 0);
    }
}

/* Adds the product of two tops of differences. */
WARPRSA_FN void warprsa_fold_add_tops(uint64_t *s, double t, double v)
{
    double high = warprsa_fma_rz(t, v, WARPRSA_FOLD_TOPS_BASE);
    double low = warprsa_fma_rz(t, v, WARPRSA_FOLD_TOPS_BASE - high);

    s[0] += (uint64_t)low;
    s[1] += 2 * (warprsa_bits(high) - warprsa_bits(WARPRSA_FOLD_TOPS_BASE));
}

/* d = lower half of a less the upper one. */
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
        carry = over;
    }
}

/* b(column) of M above, an even number. */
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

/* Byte 7 of column 2 N - 2, in H's column. */
WARPRSA_FN uint64_t warprsa_fold_bias_byte(int column, const int half)
{
    return column == 2 * half - 2 ? (uint64_t)1 << 56 : 0;
}

/* What M's column has besides: less the bias, and less what the byte has in
 * H, which is added there, too. Even. */
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
 * Between two parts of a product. The assembler moves instructions about within
 * what no branch ends, and begins as much as the registers hold: then the later
 * parts, begun too early, go on one instruction after the other, each waiting
 * for the one before, up to 11 clocks for an instruction in doubles instead of
 * 2. So here is a branch, which is never taken: the address is below 2^18.
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

/* `count` columns, an even number, are laid stash, */
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

/* and taken up again. */
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

/* The same in two steps: s = L + X (L - M), three quarters of it, */
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

/* and s += X H + X^2 H. */
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

/* These columns are made before this. What no volatile statement needs, the
 * compiler would move past a branch, to where it is needed. */
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

/* M = (Al - Ah) (Bl - Bh), less the biases. */
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

/* M = (Al - Ah)^2, likewise. */
WARPRSA_FN void warprsa_fold_sqr_middle(uint64_t *s, const double *a,
                                        const int half)
{
    double d[WARPRSA_FOLD_LIMBS_MAX / 2];

    warprsa_fold_difference(d, a, half);
    WARPRSA_UNROLL
    for (int c = 0; c < 2 * half; c++)
        s[c] = (uint64_t)(warprsa_fold_middle_start(c, half) / 2);
    warprsa_fold_add_sqr(s, d, WARPRSA_FOLD_SIGNED_BASE, 0,
                         WARPRSA_FOLD_SUMS_BY_TWO(2 * half), half);
    warprsa_fold_add_tops(s + 2 * half - 2, d[half - 1], d[half - 1]);
}

/*
 * The columns of a * b once L has been laid aside. M is summed on top of -H -
 * X^-1 H, which is what L + X^-1 L is to be less of in the two middle quarters,
 * so that beside H's upper half there are never three of the parts at once. As
 * columns are modulo 2^64, they come out as warprsa_fold_join_parts() has them,
 * bit by bit.
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
                         WARPRSA_FOLD_SUMS_BY_TWO(2 * half), half);
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

/* What is there of a product between its first part and the second. SECRET. */
typedef struct warprsa_fold_halves {
    uint64_t lower[WARPRSA_FOLD_LIMBS_MAX], upper[WARPRSA_FOLD_LIMBS_MAX];
} warprsa_fold_halves;

/* The first part of s = columns of a * b. */
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

/* And the second: 2^(52 * 3 h + 2) too large and with the byte that says so.
 */
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

/* Three quarters of the columns of a * a, without H: M, which is doubled in the
 * end and so cannot be summed on top of anything, and L. As that comes before
 * H, there are never all three parts at once, and nothing is laid aside. */
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

/* H, with half of what the byte has, as a square is doubled. */
WARPRSA_FN void warprsa_fold_sqr_upper(uint64_t *upper, const double *a,
                                       const int half)
{
    WARPRSA_UNROLL
    for (int c = 0; c < 2 * half; c++)
        upper[c] = warprsa_fold_bias_byte(c, half) / 2;
    warprsa_fold_add_sqr(upper, a + half, WARPRSA_FOLD_UNSIGNED_BASE, 1,
                         WARPRSA_FOLD_SUMS_BY_TWO(2 * half), half);
}

/* And with H. */
WARPRSA_FN void warprsa_fold_sqr_add_upper(uint64_t *s, const double *a,
                                           const warprsa_fold_smem_stash *stash,
                                           const int half)
{
    uint64_t upper[WARPRSA_FOLD_LIMBS_MAX];

    warprsa_fold_sqr_upper(upper, a, half);
    warprsa_fold_schedule_barrier(stash);
    warprsa_fold_join_upper(s, upper, half);
}

/* The first part of s = columns of a * a, if nothing needs to be laid stash, */
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

/* and the second. */
WARPRSA_FN void warprsa_fold_sqr_end(uint64_t *s,
                                     const warprsa_fold_halves *parts,
                                     const double *a, const int limbs)
{
    uint64_t middle[WARPRSA_FOLD_LIMBS_MAX];

    warprsa_fold_sqr_middle(middle, a, limbs / 2);
    warprsa_fold_join_parts(s, parts->lower, parts->upper, middle, limbs / 2);
}

/* Both parts of a product. */
WARPRSA_FN void warprsa_fold_mul(uint64_t *s, const double *a, const double *b,
                                 warprsa_fold_smem_stash *stash,
                                 const int limbs)
{
    warprsa_fold_halves parts;

    warprsa_fold_mul_begin(&parts, a, b, stash, limbs);
    warprsa_fold_mul_end(s, &parts, a, b, stash, limbs);
}

/* And of a square. */
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

/* Columns of a product without the bias and its byte, for
 * warprsa_fold_resolve(): one may be negative then. */
WARPRSA_FN void warprsa_fold_unbias(uint64_t *s, const int limbs)
{
    s[limbs / 2 * 3] -= WARPRSA_FOLD_BIAS;
    s[2 * limbs - 2] -= (uint64_t)1 << 56;
}

#endif
