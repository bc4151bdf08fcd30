/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the numbers of a warp and the matrix of a prime lie in shared memory,
 * and pieces of 16 bytes, chunks, on their way between it and registers. On the
 * host each number has plain memory of its own.
 *
 * Each thread of a warp has one number and one row of the warp's buffer. A row
 * has at different times the upper half of a product as bytes, the digit sums
 * of a block of 32 columns, and the operand of a multiplication.
 */
#ifndef WARPRSA_GPU_KERNELS_INT32_FOLD_LAYOUT_H
#define WARPRSA_GPU_KERNELS_INT32_FOLD_LAYOUT_H

#include <string.h>

#include "gpu/kernels/int32_fold/carry.h"

enum {
    WARPRSA_INT_FOLD_LIMBS_MAX = 64, /* of 32 bits */
    WARPRSA_INT_FOLD_BLOCK = 16,     /* limbs whose digits are summed at once */
    WARPRSA_INT_FOLD_LANES = 32,
};

/* Limbs of 32 bits, where a prime has so many samples of 52. */
#define WARPRSA_INT_FOLD_LIMBS(samples) (8 * (samples) / 5)
/* Bytes of a number: rows of the matrix, and of its columns. */
#define WARPRSA_INT_FOLD_BYTES(limbs)  (4 * (limbs))
#define WARPRSA_INT_FOLD_CHUNKS(limbs) ((limbs) / 4)
#define WARPRSA_INT_FOLD_MATRIX_BYTES(limbs)                                   \
    (WARPRSA_INT_FOLD_BYTES(limbs) * WARPRSA_INT_FOLD_BYTES(limbs))

/* Whether parts of a product wait in shared memory, in a stage: where registers
 * do not hold them. A stage has 3/2 of a number. */
#define WARPRSA_INT_FOLD_STAGES(limbs) ((limbs) > 48)
#define WARPRSA_INT_FOLD_STAGE_CHUNKS(limbs)                                   \
    (WARPRSA_INT_FOLD_STAGES(limbs) ? 3 * (limbs) / 8 : 0)

/* Bytes from one row of a warp to the next. Rows are a chunk longer than a
 * number, so that lanes that access theirs at once meet in no bank. Where there
 * is no room for that, the chunks of row i are permuted instead: chunk c is
 * where c xor (i mod 8) would be. */
#define WARPRSA_INT_FOLD_PERMUTES(limbs) ((limbs) > 48)
#define WARPRSA_INT_FOLD_ROW(limbs)                                            \
    (WARPRSA_INT_FOLD_BYTES(limbs) +                                           \
     (WARPRSA_INT_FOLD_PERMUTES(limbs) ? 0 : 16))
/* The buffer of a warp: rows, then stages. */
#define WARPRSA_INT_FOLD_WARP_BYTES(limbs)                                     \
    (WARPRSA_INT_FOLD_LANES * (WARPRSA_INT_FOLD_ROW(limbs) +                   \
                               16 * WARPRSA_INT_FOLD_STAGE_CHUNKS(limbs)))

/* What memory chunks of a number lie in. */
typedef enum warprsa_int_fold_kind {
    WARPRSA_INT_FOLD_ROWS,     /* a row */
    WARPRSA_INT_FOLD_PERMUTED, /* a row whose chunks are permuted */
    WARPRSA_INT_FOLD_STAGE,    /* a stage: chunks of 32 lanes side by side */
} warprsa_int_fold_kind;

#define WARPRSA_INT_FOLD_KIND(limbs)                                           \
    (WARPRSA_INT_FOLD_PERMUTES(limbs) ? WARPRSA_INT_FOLD_PERMUTED              \
                                      : WARPRSA_INT_FOLD_ROWS)

/* The place of a number's chunks. */
#ifdef __CUDACC__
typedef uint32_t warprsa_int_fold_place; /* address in shared memory */

/* The address of chunk c. With `permuted`, the bits of `place` that c may have
 * are the number of the row, or zero. */
WARPRSA_FN uint32_t warprsa_int_fold_chunk(uint32_t place, int c,
                                           const warprsa_int_fold_kind kind)
{
    return kind == WARPRSA_INT_FOLD_PERMUTED ? place ^ (16u * (uint32_t)c)
           : kind == WARPRSA_INT_FOLD_STAGE  ? place + 512u * (uint32_t)c
                                             : place + 16u * (uint32_t)c;
}

WARPRSA_FN void warprsa_int_fold_put_words(uint32_t at, uint32_t a, uint32_t b,
                                           uint32_t c, uint32_t d)
{
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(a),
                 "r"(b), "r"(c), "r"(d)
                 : "memory");
}

WARPRSA_FN void warprsa_int_fold_get_words(uint32_t *to, uint32_t at)
{
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
}
#else
typedef uint32_t *warprsa_int_fold_place;

WARPRSA_FN uint32_t *warprsa_int_fold_chunk(uint32_t *place, int c,
                                            const warprsa_int_fold_kind kind)
{
    (void)kind;
    return place + 4 * c;
}

WARPRSA_FN void warprsa_int_fold_put_words(uint32_t *at, uint32_t a, uint32_t b,
                                           uint32_t c, uint32_t d)
{
    at[0] = a;
    at[1] = b;
    at[2] = c;
    at[3] = d;
}

WARPRSA_FN void warprsa_int_fold_get_words(uint32_t *to, const uint32_t *at)
{
    memcpy(to, at, 4 * sizeof(*to));
}
#endif

/* Stores `count` limbs from chunk `first` on. */
WARPRSA_FN void warprsa_int_fold_put(warprsa_int_fold_place place, int first,
                                     const uint32_t *from,
                                     const warprsa_int_fold_kind kind,
                                     const int count)
{
    WARPRSA_UNROLL
    for (int c = 0; c < count / 4; c++)
        warprsa_int_fold_put_words(
            warprsa_int_fold_chunk(place, first + c, kind), from[4 * c],
            from[4 * c + 1], from[4 * c + 2], from[4 * c + 3]);
}

WARPRSA_FN void warprsa_int_fold_get(uint32_t *to, warprsa_int_fold_place place,
                                     int first,
                                     const warprsa_int_fold_kind kind,
                                     const int count)
{
    WARPRSA_UNROLL
    for (int c = 0; c < count / 4; c++)
        warprsa_int_fold_get_words(
            to + 4 * c, warprsa_int_fold_chunk(place, first + c, kind));
}

/*
 * The offset in the matrix, in bytes, of row k, the byte of a number that it
 * multiplies, and column `column`, the byte of the sum that it adds to.
 *
 * The order is that of the second factor of mma.m16n8k32: lane l of a warp
 * takes the 16 bytes that are its own with one load, which are the rows of two
 * steps of 32 bytes in one column. Columns are permuted so that the sums that a
 * lane gets of four n-tiles are of four digits side by side, a chunk: n-tile
 * j = 8 h + i has columns 2 d and 2 d + 1 of the digits d = 32 h + i, 32 h + i
 * + 8, + 16 and + 24.
 */
WARPRSA_FN uint32_t warprsa_int_fold_matrix_offset(int k, int column,
                                                   const int limbs)
{
    const int pairs = limbs / 16; /* of steps of 32 rows */
    const int digit = column / 2, word = k / 4;
    const int tile = digit / 32 * 8 + digit % 8;
    const int lane = (digit / 8 % 4 * 2 + column % 2) * 4 + word % 4;
    const int step = word / 8;

    return (uint32_t)(((tile * pairs + step / 2) * 32 + lane) * 16 +
                      (step % 2 * 2 + word / 4 % 2) * 4 + k % 4);
}

#endif
