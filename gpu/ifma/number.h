/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of WARPRSA_LIMBS samples, eight at a time, one in each lane of a
 * vector: products made of the tiles of mont_mul.h, exact reduction, powers
 * with public exponents, and the way from bytes to samples. Included once for
 * each number of samples.
 */
#ifndef WARPRSA_GPU_IFMA_NUMBER_H
#define WARPRSA_GPU_IFMA_NUMBER_H

#include <stddef.h>
#include <string.h>

#include "gpu/ifma/limbs.h"
#include "gpu/ifma/mont_mul.h"

enum {
    LIMBS = WARPRSA_LIMBS,
    FULL = 2 * LIMBS,
    HALF = LIMBS / 2,
    TILE = WARPRSA_TILE_OF(LIMBS), /* samples in a tile of a product */
    TILES = LIMBS / TILE,
    /* Samples of an entry of the table. In short numbers it has the power twice
     * (fill_table()); of long ones the table would leave the first cache. */
    ENTRY = TILES == 1 ? FULL : LIMBS,
    /* Words of a number of FULL samples, with room to read the word above any
     * of these. */
    NUMBER_WORDS = (FULL * WARPRSA_SAMPLE_BITS + 63) / 64 + 1,
    NUMBER_BYTES = 8 * NUMBER_WORDS,
};

/* Expands WARPRSA_LIMBS first. */
#define NAME(name, limbs) WARPRSA_IFMA_NAME(name, limbs)

/* A number on its way between bytes and samples. */
typedef struct number_conversion {
    uint8_t bytes[NUMBER_BYTES]; /* most significant first */
    uint64_t words[NUMBER_WORDS];
} number_conversion;

#define NOINLINE static __attribute__((noinline))

/* The tiles of a product. They are functions, since the caches of a processor
 * for instructions hold little more than one of each. */
NOINLINE void set_tile(warprsa_vector *t, const warprsa_vector *x,
                       const warprsa_vector *v)
{
    warprsa_tile(t, x, v, TILE, TILE, 1, 0);
}

NOINLINE void add_tile(warprsa_vector *t, const warprsa_vector *x,
                       const warprsa_vector *v, int less)
{
    warprsa_tile(t, x, v, TILE, TILE, 0, less);
}

NOINLINE void add_triangle(warprsa_vector *t, const warprsa_vector *a)
{
    warprsa_triangle(t, a, TILE);
}

NOINLINE void reducing_tile(warprsa_vector *t, const warprsa_vector *inv_2_52,
                            int less)
{
    warprsa_reducing_tile(t, inv_2_52, TILE, TILE, less);
}

/* t[0 .. FULL-1] = a b */
NOINLINE void product(warprsa_vector *t, const warprsa_vector *a,
                      const warprsa_vector *b)
{
    if (TILES == 1) {
        set_tile(t, a, b);
        return;
    }
    /* Tiles on the diagonal set all columns, and have none in common. */
    for (int i = 0; i < TILES; i++)
        set_tile(t + 2 * i * TILE, a + i * TILE, b + i * TILE);
    for (int i = 0; i < TILES; i++)
        for (int j = 0; j < TILES; j++)
            if (i != j)
                add_tile(t + (i + j) * TILE, a + i * TILE, b + j * TILE, 0);
}

/* t[0 .. FULL-1] = a^2 */
NOINLINE void square(warprsa_vector *t, const warprsa_vector *a)
{
    if (TILES == 1) {
        warprsa_square_in_registers(t, a, LIMBS);
        return;
    }
    memset(t, 0, FULL * sizeof(*t));
    for (int i = 0; i < TILES; i++)
        for (int j = i + 1; j < TILES; j++)
            add_tile(t + (i + j) * TILE, a + i * TILE, a + j * TILE, 0);
    for (int i = 0; i < TILES; i++)
        add_triangle(t + 2 * i * TILE, a + i * TILE);
    warprsa_add_squares(t, a, LIMBS);
}

/* r = t / R mod P, plus at most two P. t is used up. */
NOINLINE void mont_reduce(warprsa_vector *r, warprsa_vector *t,
                          const warprsa_vector_modulus *m)
{
    WARPRSA_VERIFY_ONLY(const warprsa_values product = warprsa_vector_values(
                            t, FULL, UINT64_MAX, 52 * LIMBS));
    WARPRSA_BOUND("Eight numbers at once: Columns",
                  warprsa_vectors_hold(t, FULL, 1ull << 61, 0));
    if (TILES == 1) {
        warprsa_reduce_in_registers(r, t, m, LIMBS, LIMBS, NULL, 0);
        WARPRSA_BOUND("Eight numbers at once: Bounds",
                      warprsa_vectors_are_below(r, &product, 2, m->p, LIMBS));
        return;
    }
    for (int from = 0; from < LIMBS; from += TILE) {
        const int last = from + TILE == LIMBS;

        reducing_tile(t + from, m->inv_2_52, last);
        for (int j = 1; j < TILES; j++)
            add_tile(t + from + 1 + j * TILE, t + from, m->inv_2_52 + j * TILE,
                     last);
    }
    warprsa_last_row(r, t + LIMBS - 1, m, LIMBS);
    WARPRSA_BOUND("Eight numbers at once: Bounds",
                  warprsa_vectors_are_below(r, &product, 2, m->p, LIMBS));
}

/* r may be a or b. */
NOINLINE void mont_mul(warprsa_vector *r, const warprsa_vector *a,
                       const warprsa_vector *b, const warprsa_vector_modulus *m,
                       warprsa_vector *columns)
{
    product(columns, a, b);
    mont_reduce(r, columns, m);
}

NOINLINE void mont_sqr(warprsa_vector *r, const warprsa_vector *a,
                       const warprsa_vector_modulus *m, warprsa_vector *columns)
{
    square(columns, a);
    mont_reduce(r, columns, m);
}

/* t = x, as `count` columns. */
static void as_columns(warprsa_vector *t, const warprsa_vector *x, int count)
{
    for (int i = 0; i < LIMBS; i++)
        t[i] = x[i] & WARPRSA_SAMPLE_MASK;
    memset(t + LIMBS, 0, (size_t)(count - LIMBS) * sizeof(*t));
}

/* Resolves columns in two's complement (|column| < 2^62) into samples below
 * 2^52, exactly, and returns what is carried out at the top: it is negative
 * where the number is. */
static warprsa_vector normalise(warprsa_vector *r, const warprsa_vector *s,
                                int count)
{
    warprsa_vector carry = {0};

    WARPRSA_BOUND("Exact carries",
                  warprsa_vectors_hold(s, count, 1ull << 62, 1));
    for (int i = 0; i < count; i++) {
        carry += s[i];
        r[i] = carry & WARPRSA_SAMPLE_MASK;
        carry = warprsa_signed_carry(carry);
    }
    return carry;
}

/* Cuts off what the samples of a product have above their 52 bits. */
static void cut(warprsa_vector *x)
{
    for (int i = 0; i < LIMBS; i++)
        x[i] &= WARPRSA_SAMPLE_MASK;
}

/* x = x mod P, exactly, for 0 <= x < 8P, with `scratch` of LIMBS vectors: takes
 * off 4P, 2P and P, where that leaves no negative number. */
static void reduce(warprsa_vector *x, const warprsa_vector *p,
                   warprsa_vector *scratch)
{
    cut(x);
    WARPRSA_BOUND("Eight numbers at once: Bounds",
                  warprsa_vectors_are_below(x, NULL, 8, p, LIMBS));
    for (uint64_t factor = 4; factor > 0; factor /= 2) {
        warprsa_vector negative;

        for (int i = 0; i < LIMBS; i++)
            scratch[i] = x[i] - factor * p[i];
        negative = warprsa_negative(normalise(scratch, scratch, LIMBS));
        for (int i = 0; i < LIMBS; i++)
            x[i] = warprsa_choose_lane(negative, x[i], scratch[i]);
    }
    WARPRSA_BOUND("Eight numbers at once: Bounds",
                  warprsa_vectors_are_below(x, NULL, 1, p, LIMBS));
}

/* A lane of a number of LIMBS samples. */
static void load_samples(warprsa_vector *to, int lane, const double *from)
{
    for (int i = 0; i < LIMBS; i++)
        to[i][lane] = warprsa_integer(from[i]);
}

/* A lane of a number of FULL samples at most, from `length` bytes. */
static void load_bytes(warprsa_vector *to, int lane, int samples,
                       const uint8_t *from, size_t length, number_conversion *c)
{
    memset(c->bytes, 0, NUMBER_BYTES - length);
    memcpy(c->bytes + NUMBER_BYTES - length, from, length);
    for (int i = 0; i < NUMBER_WORDS; i++) {
        memcpy(&c->words[i], c->bytes + NUMBER_BYTES - 8 * (i + 1), 8);
        c->words[i] = __builtin_bswap64(c->words[i]);
    }
    for (int i = 0; i < samples; i++) {
        const int bit = i * WARPRSA_SAMPLE_BITS, shift = bit % 64;
        uint64_t bits = c->words[bit / 64] >> shift;

        if (shift > 64 - WARPRSA_SAMPLE_BITS)
            bits |= c->words[bit / 64 + 1] << (64 - shift);
        to[i][lane] = bits & WARPRSA_SAMPLE_MASK;
    }
}

/* The bits that any lane's exponent has. */
static uint64_t any_bits(const warprsa_vector *e)
{
    uint64_t any = 0;

    for (int lane = 0; lane < WARPRSA_LANES; lane++)
        any |= (*e)[lane];
    return any;
}

/* r = x^(e-1), for public odd e >= 3; x in Montgomery form, `one` is R mod P,
 * and counts where a lane's e is shorter than another's; r is not x. All lanes
 * take as many turns as the largest e has bits, and all multiply where any of
 * them has a one. `part` has room for a product. */
static void public_modexp(warprsa_vector *r, const warprsa_vector *x,
                          const warprsa_vector *one, const warprsa_vector *e,
                          const warprsa_vector_modulus *m,
                          warprsa_vector *columns, warprsa_vector *part)
{
    const uint64_t any = any_bits(e);
    const int top = 63 - __builtin_clzll(any);

    for (int i = 0; i < LIMBS; i++)
        r[i] = warprsa_choose_lane(0 - (*e >> top & 1), x[i], one[i]);
    for (int bit = top - 1; bit >= 0; bit--) {
        const warprsa_vector digit = *e >> bit & 1;

        mont_sqr(r, r, m, columns);
        if (bit == 0 || ((any >> bit) & 1) == 0)
            continue;
        mont_mul(part, r, x, m, columns);
        for (int i = 0; i < LIMBS; i++)
            r[i] = warprsa_choose_lane(0 - digit, part[i], r[i]);
    }
}

#endif
