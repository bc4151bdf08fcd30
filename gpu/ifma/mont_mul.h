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
 * samples: 10, 15 or 20 columns at a time are accumulators, rows run over them,
 * and the columns move on.
 *
 * Loads. Three rows at a time share the loads of the samples that they run
 * over. Where half as many loads as products are in flight, an Intel core does
 * not get two products a cycle, and its clock falls; with a quarter it does.
 * Each row of a group of samples takes all its low halves and then all its high
 * halves, so that the two products of a column are some instructions apart.
 */
#ifndef WARPRSA_GPU_IFMA_MONT_MUL_H
#define WARPRSA_GPU_IFMA_MONT_MUL_H

#include <string.h>

#include "gpu/arith/prepared_key.h"
#include "gpu/ifma/vector.h"

enum {
    WARPRSA_VECTOR_LIMBS_MAX = WARPRSA_HALF_SAMPLES,
    WARPRSA_ENTRIES = 1 << WARPRSA_WINDOW, /* of a table */
    WARPRSA_PAIRS = WARPRSA_ENTRIES / 2,
    /* Pairs whose lanes stay in registers for masks. Of the seven such
     * registers one is left for the other pairs. In a loop clang would move
     * such masks from and to general registers, which takes the multipliers'
     * ports. */
    WARPRSA_PAIRS_HELD = 6,
#ifdef __clang__
    WARPRSA_PAIRS_HELD_IN_LOOP = 0,
    WARPRSA_READS_IN_LOOP = 0, /* beside a reduction, whose turns are a loop */
#else
    WARPRSA_PAIRS_HELD_IN_LOOP = WARPRSA_PAIRS_HELD,
    WARPRSA_READS_IN_LOOP = 1,
#endif
    WARPRSA_ROWS = 3,      /* that share their loads */
    WARPRSA_GROUP = 5,     /* samples that are loaded at a time */
    WARPRSA_TILE_MAX = 20, /* samples in a tile */
};

/* For k = 0 .. count - 1, where count <= max. clang makes registers of an array
 * only if the bounds of all loops over it are constants from the start. */
#define WARPRSA_FOR(k, count, max)                                             \
    WARPRSA_UNROLLED                                                           \
    for (int k = 0; k < (max); k++)                                            \
        if (k < (count))

/* Samples in a tile: a multiple of those in a group, so that the last group of
 * a row has no fewer than there are rows. */
#define WARPRSA_TILE_OF(limbs)                                                 \
    ((limbs) > 40 ? (limbs) / 4 : (limbs) > 20 ? (limbs) / 2 : (limbs))

typedef struct warprsa_vector_modulus {
    warprsa_vector p[WARPRSA_VECTOR_LIMBS_MAX];
    warprsa_vector inv_2_52[WARPRSA_VECTOR_LIMBS_MAX]; /* 2^-52 mod P */
    warprsa_vector n0inv;                              /* -1/P mod 2^52 */
} warprsa_vector_modulus;

/* c[r apart + k] and the column after it += x[r] v[k], for `rows` rows r and
 * the `count` samples k of a group, which are loaded once. In the first group
 * of a reduction (`carries`) x is the columns before c: row r needs the carry
 * of column r, which is complete by then, since there are no more rows than
 * samples in a group. */
WARPRSA_VECTOR_FN void warprsa_group(warprsa_vector *c, const warprsa_vector *x,
                                     const warprsa_vector *v, const int rows,
                                     const int apart, const int count,
                                     const int carries)
{
    warprsa_vector sample[WARPRSA_GROUP];

    WARPRSA_FOR(k, count, WARPRSA_GROUP)
    {
        sample[k] = v[k];
        WARPRSA_LOADED(sample[k]);
    }
    WARPRSA_FOR(r, rows, WARPRSA_ROWS)
    {
        warprsa_vector *row = c + r * apart;

        if (carries)
            row[0] += x[r] >> WARPRSA_SAMPLE_BITS;
        WARPRSA_FOR(k, count, WARPRSA_GROUP)
        row[k] = warprsa_add_low(row[k], x[r], sample[k]);
        WARPRSA_FOR(k, count, WARPRSA_GROUP)
        row[k + 1] = warprsa_add_high(row[k + 1], x[r], sample[k]);
    }
}

/* Samples in the group of `count` samples that begins at j. */
#define WARPRSA_GROUP_AT(j, count)                                             \
    ((count) - (j) < WARPRSA_GROUP ? (count) - (j) : WARPRSA_GROUP)

/* Rows that begin at i and share their loads, of `rows`. */
#define WARPRSA_ROWS_AT(i, rows)                                               \
    ((rows) - (i) < WARPRSA_ROWS ? (rows) - (i) : WARPRSA_ROWS)

/* c[r apart .. r apart + count] += x[r] v[0..count-1], for `rows` rows r. */
WARPRSA_VECTOR_FN void warprsa_rows(warprsa_vector *c, const warprsa_vector *x,
                                    const warprsa_vector *v, const int rows,
                                    const int apart, const int count)
{
    WARPRSA_RELOAD(v); /* no more fit into registers beside their columns */
    WARPRSA_UNROLLED
    for (int j = 0; j < WARPRSA_TILE_MAX; j += WARPRSA_GROUP)
        if (j < count)
            warprsa_group(c + j, x, v + j, rows, apart,
                          WARPRSA_GROUP_AT(j, count), 0);
}

/* x[0..rows-1] of a[0..rows-1], each in a register. */
WARPRSA_VECTOR_FN void
warprsa_load_rows(warprsa_vector *x, const warprsa_vector *a, const int rows)
{
    WARPRSA_FOR(r, rows, WARPRSA_ROWS)
    {
        x[r] = a[r];
        WARPRSA_LOADED(x[r]);
    }
}

/* t[0 .. rows+count-1] += x[0..rows-1] v[0..count-1]; with `set`, = instead of
 * +=. With `less` the last row is left out. */
WARPRSA_VECTOR_FN void warprsa_tile(warprsa_vector *t, const warprsa_vector *x,
                                    const warprsa_vector *v, const int rows,
                                    const int count, const int set, int less)
{
    warprsa_vector c[WARPRSA_VECTOR_LIMBS_MAX + WARPRSA_ROWS];
    warprsa_vector row[WARPRSA_ROWS];

    WARPRSA_UNROLLED
    for (int j = 0; j < count; j++)
        c[j] = set ? (warprsa_vector){0} : t[j];
    WARPRSA_UNROLLED
    for (int i = 0; i < rows - 1; i += WARPRSA_ROWS) {
        const int n = WARPRSA_ROWS_AT(i, rows - 1);

        WARPRSA_FOR(r, n, WARPRSA_ROWS)
        c[count + r] = set ? (warprsa_vector){0} : t[count + i + r];
        warprsa_load_rows(row, x + i, n);
        warprsa_rows(c, row, v, n, 1, count);
        WARPRSA_FOR(r, n, WARPRSA_ROWS)
        t[i + r] = c[r];
        WARPRSA_UNROLLED
        for (int j = 0; j < count; j++)
            c[j] = c[j + n];
    }
    t += rows - 1;
    if (!less) {
        c[count] = set ? (warprsa_vector){0} : t[count];
        warprsa_load_rows(row, x + rows - 1, 1);
        warprsa_rows(c, row, v, 1, 1, count);
        t[count] = c[count];
    }
    WARPRSA_UNROLLED
    for (int j = 0; j < count; j++)
        t[j] = c[j];
}

/* Samples of an entry of a table, which has sample i of all entries one after
 * the other, and how they are looked up: the lowest bit of each lane's digit,
 * as a mask, its other bits, and the lanes of each pair of entries, as many as
 * stay in registers for masks (`held`). `other` is those of another pair. */
typedef struct warprsa_reading {
    warprsa_vector *to;
    const warprsa_vector (*from)[WARPRSA_ENTRIES];
    int samples, held;
    warprsa_vector odd, pair, kept;
    warprsa_lanes of_pair[WARPRSA_PAIRS_HELD], other;
} warprsa_reading;

static const uint64_t warprsa_pair_number[WARPRSA_PAIRS] = {0, 1, 2, 3,
                                                            4, 5, 6, 7};

WARPRSA_VECTOR_FN void warprsa_look_up(warprsa_reading *reading,
                                       warprsa_vector digit)
{
    reading->odd = 0 - (digit & 1);
    reading->pair = digit >> 1;
    WARPRSA_UNROLLED
    for (int i = 0; i < WARPRSA_PAIRS_HELD; i++)
        if (i < reading->held)
            reading->of_pair[i] =
                warprsa_lanes_where(reading->pair, &warprsa_pair_number[i]);
}

/* Makes the mask that the first sample of some finds. */
WARPRSA_VECTOR_FN void warprsa_begin_reading(warprsa_reading *reading)
{
    reading->other =
        warprsa_lanes_where(reading->pair, &warprsa_pair_number[reading->held]);
}

/* Step `step` of WARPRSA_PAIRS for each sample reads a pair of entries. Until
 * its pair comes, what is kept for a lane tells which entry of the pair it
 * wants: one instruction is enough for both. Every other sample takes the pairs
 * from the last to the first: so each finds one mask that the sample before it
 * has made, the first one that of warprsa_begin_reading(). */
WARPRSA_VECTOR_FN void warprsa_read(warprsa_reading *reading, const int step)
{
    const int sample = step / WARPRSA_PAIRS, turn = step % WARPRSA_PAIRS;
    const int pair = sample % 2 == 0 ? turn : WARPRSA_PAIRS - 1 - turn;
    const int had = sample % 2 == 0 ? reading->held : WARPRSA_PAIRS - 1;
    const warprsa_vector *entries = reading->from[sample];
    warprsa_lanes here;

    if (sample >= reading->samples)
        return;
    if (turn == 0)
        reading->kept = reading->odd;
    if (pair >= reading->held && pair != had)
        reading->other =
            warprsa_lanes_where(reading->pair, &warprsa_pair_number[pair]);
    here = reading->other;
    WARPRSA_FOR(i, reading->held, WARPRSA_PAIRS_HELD)
    if (i == pair)
        here = reading->of_pair[i];
    warprsa_keep(&reading->kept, here, &entries[2 * pair],
                 &entries[2 * pair + 1]);
    if (turn == WARPRSA_PAIRS - 1)
        reading->to[sample] = reading->kept;
}

/* t[0 .. 3 half - 1] = x0 b0 + x1 b1 for x = x0 + 2^(52 half) x1 and an entry
 * of a table, b0 and then b1, of 2 half samples each. Rows i and i + half of
 * both products share the loads of x. */
WARPRSA_VECTOR_FN void warprsa_product_by_entry(warprsa_vector *t,
                                                const warprsa_vector *x,
                                                const warprsa_vector *entry,
                                                const int half)
{
    const int count = 2 * half;
    warprsa_vector c[WARPRSA_VECTOR_LIMBS_MAX + 1];

    WARPRSA_UNROLLED
    for (int j = 0; j < count; j++)
        c[j] = (warprsa_vector){0};
    for (int i = 0; i < half; i++) {
        c[count] = (warprsa_vector){0};
        WARPRSA_UNROLLED
        for (int j = 0; j < 2; j++) {
            const warprsa_vector *b = entry + j * count + i;
            warprsa_vector row[2] = {b[0], b[half]};

            WARPRSA_LOADED(row[0]);
            WARPRSA_LOADED(row[1]);
            warprsa_rows(c, row, x + j * half, 2, half, half);
        }
        t[i] = c[0];
        WARPRSA_UNROLLED
        for (int j = 0; j < count; j++)
            c[j] = c[j + 1];
    }
    WARPRSA_UNROLLED
    for (int j = 0; j < count; j++)
        t[half + j] = c[j];
}

/* Rows i to i + rows - 1 of the products of two different samples of a, each
 * once: c[j + k] and the column after it += a_j a_k for these j and k > j. x is
 * the rows' samples. Columns up to 2 (i + rows) are complete then. */
WARPRSA_VECTOR_FN void warprsa_triangle_rows(warprsa_vector *c,
                                             const warprsa_vector *x,
                                             const warprsa_vector *a,
                                             const int i, const int rows,
                                             const int count)
{
    WARPRSA_FOR(j, rows, WARPRSA_ROWS)
    WARPRSA_FOR(k, rows, WARPRSA_ROWS)
    if (k > j) {
        warprsa_vector *low = &c[2 * i + j + k];

        low[0] = warprsa_add_low(low[0], x[j], x[k]);
        low[1] = warprsa_add_high(low[1], x[j], x[k]);
    }
    warprsa_rows(c + 2 * i + rows, x, a + i + rows, rows, 1, count - i - rows);
}

/* t[1 .. 2 count - 2] += the products of two different samples of a. */
WARPRSA_VECTOR_FN void
warprsa_triangle(warprsa_vector *t, const warprsa_vector *a, const int count)
{
    warprsa_vector c[2 * WARPRSA_VECTOR_LIMBS_MAX];
    warprsa_vector row[WARPRSA_ROWS];

    WARPRSA_UNROLLED
    for (int j = 0; j < count; j++)
        c[j] = t[j];
    WARPRSA_UNROLLED
    for (int i = 0; i < count; i += WARPRSA_ROWS) {
        const int n = WARPRSA_ROWS_AT(i, count);

        WARPRSA_FOR(r, n, WARPRSA_ROWS)
        c[count + i + r] = t[count + i + r];
        warprsa_load_rows(row, a + i, n);
        warprsa_triangle_rows(c, row, a, i, n, count);
        WARPRSA_FOR(j, 2 * n, 2 * WARPRSA_ROWS)
        t[2 * i + j] = c[2 * i + j];
    }
}

/* t[0 .. 2 count - 1] = a^2, in one go: a column that is complete is doubled
 * and gets its square before it is stored. */
WARPRSA_VECTOR_FN void warprsa_square_in_registers(warprsa_vector *t,
                                                   const warprsa_vector *a,
                                                   const int count)
{
    warprsa_vector c[2 * WARPRSA_VECTOR_LIMBS_MAX];
    warprsa_vector row[WARPRSA_ROWS];

    WARPRSA_UNROLLED
    for (int j = 0; j < 2 * count; j++)
        c[j] = (warprsa_vector){0};
    WARPRSA_UNROLLED
    for (int i = 0; i < count; i += WARPRSA_ROWS) {
        const int n = WARPRSA_ROWS_AT(i, count);

        warprsa_load_rows(row, a + i, n);
        warprsa_triangle_rows(c, row, a, i, n, count);
        WARPRSA_FOR(r, n, WARPRSA_ROWS)
        {
            const warprsa_vector *low = &c[2 * (i + r)], *high = low + 1;

            t[2 * (i + r)] = warprsa_add_low(*low + *low, row[r], row[r]);
            t[2 * (i + r) + 1] =
                warprsa_add_high(*high + *high, row[r], row[r]);
        }
    }
}

/* `rows` rows of the reduction from the first column, c[0], on: each makes the
 * next one's x. Bits 52 and above of an x are carried on. t is the columns that
 * the rows begin at; c has them up to c[count], and the others are loaded when
 * they are reached. `reading`, if it is not NULL, goes on beside them: `each`
 * steps in each group, from step `step` on. */
WARPRSA_VECTOR_FN void warprsa_reducing_rows(warprsa_vector *c,
                                             const warprsa_vector *t,
                                             const warprsa_vector *inv_2_52,
                                             const int rows, const int count,
                                             warprsa_reading *reading, int step,
                                             const int each)
{
    WARPRSA_RELOAD(inv_2_52);
    WARPRSA_RELOAD(t);
    WARPRSA_UNROLLED
    for (int j = 0; j < count; j += WARPRSA_GROUP) {
        const int end = j + WARPRSA_GROUP_AT(j, count);

        if (end == count)
            WARPRSA_FOR(r, rows, WARPRSA_ROWS)
        c[count + 1 + r] = t[count + 1 + r];
        warprsa_group(c + 1 + j, c, inv_2_52 + j, rows, 1, end - j, j == 0);
        WARPRSA_UNROLLED
        for (int i = 0; i < each; i++)
            warprsa_read(reading, step + j / WARPRSA_GROUP * each + i);
    }
}

/* `rows` rows of the reduction, over the lowest `count` samples of 2^-52 mod P;
 * with `less` one row less. t[i] is x_i from then on. */
WARPRSA_VECTOR_FN void warprsa_reducing_tile(warprsa_vector *t,
                                             const warprsa_vector *inv_2_52,
                                             const int rows, const int count,
                                             int less)
{
    warprsa_vector c[WARPRSA_VECTOR_LIMBS_MAX + WARPRSA_ROWS + 1];

    WARPRSA_UNROLLED
    for (int j = 0; j <= count; j++)
        c[j] = t[j];
    WARPRSA_UNROLLED
    for (int i = 0; i < rows - 1; i += WARPRSA_ROWS) {
        const int n = WARPRSA_ROWS_AT(i, rows - 1);

        warprsa_reducing_rows(c, t + i, inv_2_52, n, count, NULL, 0, 0);
        WARPRSA_FOR(r, n, WARPRSA_ROWS)
        t[i + r] = c[r];
        WARPRSA_UNROLLED
        for (int j = 0; j <= count; j++)
            c[j] = c[j + n];
    }
    t += rows - 1;
    if (!less) {
        warprsa_reducing_rows(c, t, inv_2_52, 1, count, NULL, 0, 0);
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

    WARPRSA_BOUND("Eight numbers at once: Columns",
                  warprsa_vectors_hold(t, limbs + 1, 1ull << 61, 0));
    WARPRSA_UNROLLED
    for (int j = 0; j < limbs; j++) {
        warprsa_vector sum = warprsa_add_high(t[j + 1], q, m->p[j]);

        if (j + 1 < limbs)
            sum = warprsa_add_low(sum, q, m->p[j + 1]);
        r[j] = sum + carry;
        carry = r[j] >> WARPRSA_SAMPLE_BITS;
    }
    WARPRSA_BOUND("Eight numbers at once: Columns",
                  warprsa_vectors_hold(r, limbs, 1ull << 61, 0) &&
                      warprsa_vectors_hold(&carry, 1, 1, 0));
}

/* r = t / 2^(52 rows) mod P, with all of its columns in registers. Beside all
 * rows that share their loads, `samples` samples of an entry are read, if they
 * are not 0. Turns of such rows are a loop where they are the same code: if
 * each reads an even number of samples, it ends with the mask that the next one
 * begins with. So the hot code is 11 KB instead of 18, of which caches for
 * decoded instructions hold more. */
WARPRSA_VECTOR_FN void
warprsa_reduce_in_registers(warprsa_vector *r, const warprsa_vector *t,
                            const warprsa_vector_modulus *m, const int rows,
                            const int limbs, warprsa_reading *reading,
                            const int samples)
{
    const int whole = (rows - 1) / WARPRSA_ROWS;
    const int rest = (rows - 1) % WARPRSA_ROWS;
    const int groups = whole * ((limbs + WARPRSA_GROUP - 1) / WARPRSA_GROUP);
    const int each = (samples * WARPRSA_PAIRS + groups - 1) / groups;
    const int steps = groups / whole * each; /* of the reading, in a turn */
    const int looped =
        reading == NULL ? whole
        : WARPRSA_READS_IN_LOOP && steps % (2 * WARPRSA_PAIRS) == 0
            ? samples * WARPRSA_PAIRS / steps
            : 0;
    warprsa_vector c[WARPRSA_VECTOR_LIMBS_MAX + WARPRSA_ROWS + 1];

    WARPRSA_UNROLLED
    for (int j = 0; j <= limbs; j++)
        c[j] = t[j];
    WARPRSA_LOOPED
    for (int i = 0; i < looped; i++) {
        warprsa_reducing_rows(c, t, m->inv_2_52, WARPRSA_ROWS, limbs, reading,
                              0, each);
        t += WARPRSA_ROWS;
        WARPRSA_UNROLLED
        for (int j = 0; j <= limbs; j++)
            c[j] = c[j + WARPRSA_ROWS];
        if (reading != NULL) {
            reading->from += steps / WARPRSA_PAIRS;
            reading->to += steps / WARPRSA_PAIRS;
        }
    }
    if (reading != NULL)
        reading->samples -= looped * steps / WARPRSA_PAIRS;
    WARPRSA_UNROLLED
    for (int i = 0; i < whole - looped; i++) {
        warprsa_reducing_rows(c, t, m->inv_2_52, WARPRSA_ROWS, limbs, reading,
                              i * steps, each);
        t += WARPRSA_ROWS;
        WARPRSA_UNROLLED
        for (int j = 0; j <= limbs; j++)
            c[j] = c[j + WARPRSA_ROWS];
    }
    if (rest > 0)
        warprsa_reducing_rows(c, t, m->inv_2_52, rest, limbs, NULL, 0, 0);
    warprsa_last_row(r, c + rest, m, limbs);
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
