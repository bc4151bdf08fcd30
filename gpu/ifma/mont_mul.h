/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The Montgomery product of eight pairs of numbers at once, each in a lane of
 * its own: gpu/arith/wide_sample.h's, with samples in integers (Emmart, Zheng,
 * Weems 2018; S. Gueron, V. Krasnov, "Software implementation of modular
 * exponentiation, using advanced vector instructions architectures", 2012, for
 * products of 52 bits in vectors).
 *
 * A number is an array of `limbs` vectors, least significant sample first; R =
 * 2^(52 limbs). A modulus P has at most 52 limbs - 5 bits, so 32P < R.
 *
 *   T = a b                              2 limbs columns
 *   x_i = T_i mod 2^52                   for all i but the last one:
 *   T = T + x_i (2^-52 mod P) 2^(52 (i+1)), without column i
 *   q = -x / P mod 2^52                  for the last i:
 *   result = (T + q P) / 2^52
 *
 * Bounds. As in wide_sample.h the result is below ab/R + 2P: what the rows but
 * the last add at the end is below P (1 + 2^-52 + ...), the last one adds less
 * than P. Hence
 *
 *   a < R,  b < P         gives a result below 3P    (unreduced input)
 *   a b < R^2 / 8         gives less than R / 4      (its reduction alone)
 *   a < 3P, b < 3P        gives less than 2.3P       (inside a modexp)
 *   a < 4.5P, b < 4.5P    gives less than 2.7P
 *   a < 2.7P, b < 2.7P    gives less than 2.3P
 *
 * Products with an entry of the table. Let H = 2^(26 limbs), hence H^2 = R, and
 * x = x0 + H x1 with x0 < H. For a factor y < 4.5P the table has b1 = y and
 * b0 = y / H mod P, which half of a reduction leaves below 2.01P. Then x0 b0 +
 * x1 b1 is x y / H modulo P and has limbs / 2 columns less than a product, so
 * half of a reduction ends it. The result is below 2.01P + x y / R + 2P: for x
 * < 2.7P less than 4.5P, since R > 32P. The entries themselves are such
 * products, of squares below 2.7P, or squares of entries. Squares follow each
 * product: 4.5P gives 2.7P, and that 2.3P. The product at the end has 4.5P and
 * 2.3P, and gives 2.4P.
 *
 * Columns. Each is the sum of at most `limbs` low and `limbs` high halves of a
 * b, as many of the reduction, and a carry: below 4 * 80 * 2^52 + 2^12 < 2^61.
 * In a square half of the products of a b count twice, which is the same bound.
 * So nothing leaves 64 bits.
 *
 * Samples. The bits of a sample from 52 on do not count: a product ignores
 * them. A result has its carries resolved, so that sample i is right in its low
 * 52 bits; above them is the carry that sample i + 1 has taken already. Only
 * exact sums and comparisons must cut it off (warprsa_cut()).
 *
 * Registers. There are 32. A product is made of tiles of `block` by `block`
 * samples: 10, 15 or 20 columns at a time are accumulators, a row runs over
 * them, and the columns move by one. A row of 15 samples is 30 products, 15
 * cycles or more, and each column takes two of them one after the other, 8
 * cycles: rows do not wait for each other.
 */
#ifndef WARPRSA_GPU_IFMA_MONT_MUL_H
#define WARPRSA_GPU_IFMA_MONT_MUL_H

#include <string.h>

#include "gpu/arith/prepared_key.h"
#include "gpu/ifma/vector.h"

enum {
    WARPRSA_VECTOR_LIMBS_MAX = WARPRSA_HALF_SAMPLES,
    WARPRSA_PAIRS = 1 << (WARPRSA_WINDOW - 1), /* of entries of a table */
    /* Pairs whose lanes stay in registers for masks. There are seven of them;
     * one is left for the other pairs. In a loop clang would move such masks
     * from and to general registers, which takes the multipliers' ports. */
    WARPRSA_PAIRS_HELD = 6,
#ifdef __clang__
    WARPRSA_PAIRS_HELD_IN_LOOP = 0,
#else
    WARPRSA_PAIRS_HELD_IN_LOOP = WARPRSA_PAIRS_HELD,
#endif
    WARPRSA_GROUP = 3, /* samples of a row */
};

/* Samples in a tile. */
#define WARPRSA_TILE_OF(limbs)                                                 \
    ((limbs) > 40 ? (limbs) / 4 : (limbs) > 20 ? (limbs) / 2 : (limbs))

typedef struct warprsa_vector_modulus {
    warprsa_vector p[WARPRSA_VECTOR_LIMBS_MAX];
    warprsa_vector inv_2_52[WARPRSA_VECTOR_LIMBS_MAX]; /* 2^-52 mod P */
    warprsa_vector n0inv;                              /* -1/P mod 2^52 */
} warprsa_vector_modulus;

/* One row: c[0..count] += x v[0..count-1]. A column takes two of its products,
 * the high half of one and the low half of the next: in groups of samples they
 * are some instructions apart. */
WARPRSA_VECTOR_FN void warprsa_tile_row(warprsa_vector *c, warprsa_vector x,
                                        const warprsa_vector *v,
                                        const int count)
{
    if (count > 15) /* fewer fit into registers beside their columns */
        WARPRSA_RELOAD(v);
    WARPRSA_UNROLLED
    for (int j = 0; j < count; j += WARPRSA_GROUP) {
        const int end = j + WARPRSA_GROUP < count ? j + WARPRSA_GROUP : count;
        warprsa_vector sample[WARPRSA_GROUP];

        WARPRSA_UNROLLED
        for (int k = j; k < end; k++) {
            sample[k - j] = v[k];
            WARPRSA_LOADED(sample[k - j]);
        }
        WARPRSA_UNROLLED
        for (int k = j; k < end; k++)
            c[k] = warprsa_add_low(c[k], x, sample[k - j]);
        WARPRSA_UNROLLED
        for (int k = j; k < end; k++)
            c[k + 1] = warprsa_add_high(c[k + 1], x, sample[k - j]);
    }
}

/* t[0 .. rows+count-1] += x[0..rows-1] v[0..count-1]; with `set`, = instead of
 * +=. With `less` the last row is left out. */
WARPRSA_VECTOR_FN void warprsa_tile(warprsa_vector *t, const warprsa_vector *x,
                                    const warprsa_vector *v, const int rows,
                                    const int count, const int set, int less)
{
    warprsa_vector c[WARPRSA_VECTOR_LIMBS_MAX + 1];

    WARPRSA_UNROLLED
    for (int j = 0; j < count; j++)
        c[j] = set ? (warprsa_vector){0} : t[j];
    WARPRSA_UNROLLED
    for (int i = 0; i < rows - 1; i++) {
        c[count] = set ? (warprsa_vector){0} : t[count + i];
        warprsa_tile_row(c, x[i], v, count);
        t[i] = c[0];
        WARPRSA_UNROLLED
        for (int j = 0; j < count; j++)
            c[j] = c[j + 1];
    }
    t += rows - 1;
    if (!less) {
        c[count] = set ? (warprsa_vector){0} : t[count];
        warprsa_tile_row(c, x[rows - 1], v, count);
        t[count] = c[count];
    }
    WARPRSA_UNROLLED
    for (int j = 0; j < count; j++)
        t[j] = c[j];
}

/* How a digit of each lane is looked up: its lowest bit, as a mask, and the
 * lanes of each pair of entries, as many as stay in registers for masks. */
typedef struct warprsa_lookup {
    warprsa_vector odd, pair;
    warprsa_lanes of_pair[WARPRSA_PAIRS];
} warprsa_lookup;

WARPRSA_VECTOR_FN void warprsa_look_up(warprsa_lookup *lookup,
                                       warprsa_vector digit)
{
    lookup->odd = 0 - (digit & 1);
    lookup->pair = digit >> 1;
    WARPRSA_UNROLLED
    for (int i = 0; i < WARPRSA_PAIRS_HELD; i++)
        lookup->of_pair[i] = warprsa_lanes_where(
            lookup->pair, warprsa_broadcast_lane((uint64_t)i));
}

/* Two samples of an entry of a table whose entries are `stride` vectors long.
 * All entries are read, in pairs, the first `held` by masks that stay in
 * registers. Until its pair comes, what is kept for a lane tells which entry of
 * the pair it wants: one instruction is enough for both. */
WARPRSA_VECTOR_FN void warprsa_scan(warprsa_vector *kept,
                                    const warprsa_vector *sample,
                                    const warprsa_lookup *lookup,
                                    const int held, const int stride)
{
    warprsa_vector two[2] = {lookup->odd, lookup->odd};

    WARPRSA_UNROLLED
    for (int i = 0; i < WARPRSA_PAIRS; i++) {
        const warprsa_vector *even = sample + 2 * i * stride;

        if (i < held)
            warprsa_keep_two_in(two, lookup->of_pair[i], even, even + stride);
        else
            warprsa_keep_two(two, lookup->pair,
                             warprsa_broadcast_lane((uint64_t)i), even,
                             even + stride);
    }
    kept[0] = two[0];
    kept[1] = two[1];
}

/* What is read of an entry beside a reduction: some samples of it, from those
 * of the table's first entry. */
typedef struct warprsa_reading {
    warprsa_vector *to;
    const warprsa_vector *from;
    int samples, stride; /* at least two; from one entry to the next */
    warprsa_lookup lookup;
} warprsa_reading;

/* Reads the samples whose turn comes in this row, in all rows as many. Loads,
 * and what keeps one of them, go on beside the row's products. */
WARPRSA_VECTOR_FN void warprsa_read_in_row(const warprsa_reading *reading,
                                           const int row, const int rows)
{
    const int turns = (reading->samples + 1) / 2;
    const int turn = row * turns / rows;
    const int at =
        2 * turn + 2 > reading->samples ? reading->samples - 2 : 2 * turn;

    if (row == 0 || turn != (row - 1) * turns / rows)
        warprsa_scan(reading->to + at, reading->from + at, &reading->lookup,
                     WARPRSA_PAIRS_HELD, reading->stride);
}

/* t[0 .. 3 half - 1] = x0 b0 + x1 b1 for x = x0 + 2^(52 half) x1 and an entry
 * of a table, b0 and then b1, of 2 half samples each. */
WARPRSA_VECTOR_FN void warprsa_product_by_entry(warprsa_vector *t,
                                                const warprsa_vector *x,
                                                const warprsa_vector *entry,
                                                const int half)
{
    const int rows = 2 * half;
    warprsa_vector c[WARPRSA_VECTOR_LIMBS_MAX / 2 + 2];

    WARPRSA_UNROLLED
    for (int j = 0; j < half; j++)
        c[j] = (warprsa_vector){0};
    for (int i = 0; i < rows; i += 2) {
        c[half] = c[half + 1] = (warprsa_vector){0};
        WARPRSA_UNROLLED
        for (int j = 0; j < 2; j++) {
            warprsa_tile_row(c + j, entry[i + j], x, half);
            warprsa_tile_row(c + j, entry[rows + i + j], x + half, half);
            t[i + j] = c[j];
        }
        WARPRSA_UNROLLED
        for (int j = 0; j < half; j++)
            c[j] = c[j + 2];
    }
    WARPRSA_UNROLLED
    for (int j = 0; j < half; j++)
        t[rows + j] = c[j];
}

/* The products of two different samples of a, each once: t[1 .. 2 count - 2] +=
 * sum of a_i a_j for i < j. Row i touches columns 2 i + 1 to i + count; two of
 * them are complete after it. */
WARPRSA_VECTOR_FN void
warprsa_triangle(warprsa_vector *t, const warprsa_vector *a, const int count)
{
    warprsa_vector c[2 * WARPRSA_VECTOR_LIMBS_MAX];

    WARPRSA_UNROLLED
    for (int j = 1; j < count; j++)
        c[j] = t[j];
    WARPRSA_UNROLLED
    for (int i = 0; i < count - 1; i++) {
        c[count + i] = t[count + i];
        warprsa_tile_row(c + 2 * i + 1, a[i], a + i + 1, count - 1 - i);
        t[2 * i + 1] = c[2 * i + 1];
        t[2 * i + 2] = c[2 * i + 2];
    }
}

/* t[0 .. 2 count - 1] = a^2, in one go: a column that is complete is doubled
 * and gets its square before it is stored. */
WARPRSA_VECTOR_FN void warprsa_square_in_registers(warprsa_vector *t,
                                                   const warprsa_vector *a,
                                                   const int count)
{
    const warprsa_vector zero = {0};
    warprsa_vector c[2 * WARPRSA_VECTOR_LIMBS_MAX];

    WARPRSA_UNROLLED
    for (int j = 1; j < count; j++)
        c[j] = zero;
    t[0] = warprsa_add_low(zero, a[0], a[0]);
    WARPRSA_UNROLLED
    for (int i = 0; i < count - 1; i++) {
        const warprsa_vector *low = &c[2 * i + 1], *high = &c[2 * i + 2];

        c[count + i] = zero;
        warprsa_tile_row(c + 2 * i + 1, a[i], a + i + 1, count - 1 - i);
        t[2 * i + 1] = warprsa_add_high(*low + *low, a[i], a[i]);
        t[2 * i + 2] = warprsa_add_low(*high + *high, a[i + 1], a[i + 1]);
    }
    t[2 * count - 1] = warprsa_add_high(zero, a[count - 1], a[count - 1]);
}

/* `rows` rows of the reduction, over the lowest `count` samples of 2^-52 mod P;
 * with `less` one row less. t[i] is x_i from then on: bits 52 and above of it
 * have been carried on. */
WARPRSA_VECTOR_FN void warprsa_reducing_tile(warprsa_vector *t,
                                             const warprsa_vector *inv_2_52,
                                             const int rows, const int count,
                                             int less)
{
    warprsa_vector c[WARPRSA_VECTOR_LIMBS_MAX + 2];

    WARPRSA_UNROLLED
    for (int j = 0; j <= count; j++)
        c[j] = t[j];
    WARPRSA_UNROLLED
    for (int i = 0; i < rows - 1; i++) {
        const warprsa_vector x = c[0];

        t[i] = x;
        c[1] += x >> WARPRSA_SAMPLE_BITS;
        c[count + 1] = t[i + count + 1];
        warprsa_tile_row(c + 1, x, inv_2_52, count);
        WARPRSA_UNROLLED
        for (int j = 0; j <= count; j++)
            c[j] = c[j + 1];
    }
    t += rows - 1;
    if (!less) {
        c[1] += c[0] >> WARPRSA_SAMPLE_BITS;
        c[count + 1] = t[count + 1];
        warprsa_tile_row(c + 1, c[0], inv_2_52, count);
        t[count + 1] = c[count + 1];
    }
    WARPRSA_UNROLLED
    for (int j = 0; j <= count; j++)
        t[j] = c[j];
}

/* The last row of the reduction, and the carries: r = (t + q P) / 2^52. */
WARPRSA_VECTOR_FN void warprsa_last_row(warprsa_vector *r,
                                        const warprsa_vector *t,
                                        const warprsa_vector_modulus *m,
                                        const int limbs)
{
    const warprsa_vector q =
        warprsa_add_low((warprsa_vector){0}, t[0], m->n0inv);
    warprsa_vector carry =
        warprsa_add_low(t[0], q, m->p[0]) >> WARPRSA_SAMPLE_BITS;

    WARPRSA_UNROLLED
    for (int j = 0; j < limbs; j++) {
        warprsa_vector sum = warprsa_add_high(t[j + 1], q, m->p[j]);

        if (j + 1 < limbs)
            sum = warprsa_add_low(sum, q, m->p[j + 1]);
        r[j] = sum + carry;
        carry = r[j] >> WARPRSA_SAMPLE_BITS;
    }
}

/* r = t / 2^(52 rows) mod P, with all of its columns in registers. `reading`,
 * if it is not NULL, goes on beside the later half of the rows: what is left of
 * it at their end fills the time in which each carry waits for the one before,
 * and the loads have had time until then. */
WARPRSA_VECTOR_FN void
warprsa_reduce_in_registers(warprsa_vector *r, const warprsa_vector *t,
                            const warprsa_vector_modulus *m, const int rows,
                            const int limbs, const warprsa_reading *reading)
{
    const int before = (rows - 1) / 2;
    warprsa_vector c[WARPRSA_VECTOR_LIMBS_MAX + 2];

    WARPRSA_UNROLLED
    for (int j = 0; j <= limbs; j++)
        c[j] = t[j];
    WARPRSA_UNROLLED
    for (int i = 0; i < rows - 1; i++) {
        const warprsa_vector x = c[0];

        c[1] += x >> WARPRSA_SAMPLE_BITS;
        WARPRSA_RELOAD(t);
        c[limbs + 1] = t[i + limbs + 1];
        warprsa_tile_row(c + 1, x, m->inv_2_52, limbs);
        WARPRSA_UNROLLED
        for (int j = 0; j <= limbs; j++)
            c[j] = c[j + 1];
        if (reading != NULL && i >= before)
            warprsa_read_in_row(reading, i - before, rows - 1 - before);
    }
    warprsa_last_row(r, c, m, limbs);
}

/* Twice the columns of t, and the squares of the samples of a. */
WARPRSA_VECTOR_FN void
warprsa_add_squares(warprsa_vector *t, const warprsa_vector *a, const int limbs)
{
    t[0] = t[2 * limbs - 1] = (warprsa_vector){0};
    WARPRSA_UNROLLED
    for (int i = 0; i < limbs; i++) {
        t[2 * i] = warprsa_add_low(t[2 * i] + t[2 * i], a[i], a[i]);
        t[2 * i + 1] =
            warprsa_add_high(t[2 * i + 1] + t[2 * i + 1], a[i], a[i]);
    }
}

#endif
