/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The host's part of int_fold.h: one number in plain memory, and what the
 * tensor cores sum as loops over the same matrix, at the same offsets.
 */
#ifndef WARPRSA_GPU_KERNELS_INT32_FOLD_GROUP_HOST_H
#define WARPRSA_GPU_KERNELS_INT32_FOLD_GROUP_HOST_H

#include "gpu/kernels/int32_fold/prime.h"
#include "gpu/kernels/int32_fold/products.h"

/* What a number is computed with. */
typedef struct warprsa_int_fold_group {
    const warprsa_int_fold_prime *prime;
    const uint8_t *matrix;             /* INT_FOLD_MATRIX_BYTES */
    warprsa_int_fold_place row, stage; /* a number; 3/2 of one. SECRET */
    /* Memory of the thread, chunk c at 4 c stride. SECRET. */
    uint32_t *registers, *table;
    int stride;
} warprsa_int_fold_group;

/* The bytes of H, in the order that the rows of a column of the matrix have. */
typedef struct warprsa_int_fold_bytes {
    uint8_t of[WARPRSA_INT_FOLD_BYTES(WARPRSA_INT_FOLD_LIMBS_MAX)];
} warprsa_int_fold_bytes;

enum {
    /* Rows of a column of the matrix that lie side by side, and the distance to
     * the next ones. */
    WARPRSA_INT_FOLD_RUN = 64,
    WARPRSA_INT_FOLD_RUNS_APART = 512,
};

static inline void warprsa_int_fold_get_bytes(warprsa_int_fold_bytes *bytes,
                                              const warprsa_int_fold_group *g,
                                              const int n)
{
    for (int k = 0; k < WARPRSA_INT_FOLD_BYTES(n); k++) {
        const uint32_t at = warprsa_int_fold_matrix_offset(k, 0, n);

        bytes->of[at / WARPRSA_INT_FOLD_RUNS_APART * WARPRSA_INT_FOLD_RUN +
                  at % WARPRSA_INT_FOLD_RUNS_APART] =
            (uint8_t)(g->row[k / 4] >> (8 * (k % 4)));
    }
}

/* The sum of a column, as the tensor cores make it. */
static inline uint32_t
warprsa_int_fold_column(const warprsa_int_fold_bytes *bytes,
                        const uint8_t *matrix, int column, const int n)
{
    const uint8_t *of = matrix + warprsa_int_fold_matrix_offset(0, column, n);
    uint32_t sum = 0;

    for (int k = 0; k < WARPRSA_INT_FOLD_BYTES(n); k += WARPRSA_INT_FOLD_RUN) {
        for (int j = 0; j < WARPRSA_INT_FOLD_RUN; j++)
            sum += (uint32_t)bytes->of[k + j] * of[j];
        of += WARPRSA_INT_FOLD_RUNS_APART;
    }
    WARPRSA_BOUND("The fold in integers: Columns",
                  sum <= 255u * 255u * WARPRSA_INT_FOLD_BYTES((uint32_t)n));
    return sum;
}

/* A digit, of two columns. */
static inline uint32_t
warprsa_int_fold_digit_of(const warprsa_int_fold_bytes *bytes,
                          const uint8_t *matrix, int digit, const int n)
{
    const uint32_t low = warprsa_int_fold_column(bytes, matrix, 2 * digit, n);
    const uint32_t high =
        warprsa_int_fold_column(bytes, matrix, 2 * digit + 1, n);

    WARPRSA_BOUND("The fold in integers: Columns",
                  low + ((uint64_t)high << 8) <= UINT32_MAX);
    return low + (high << 8);
}

/* The digits of block h: those of even indices, and those of odd ones. */
static inline void warprsa_int_fold_digits(uint32_t *even, uint32_t *odd,
                                           const warprsa_int_fold_bytes *bytes,
                                           const warprsa_int_fold_group *g,
                                           int h, const int n)
{
    for (int i = 0; i < WARPRSA_INT_FOLD_BLOCK; i++) {
        const int digit = 2 * (WARPRSA_INT_FOLD_BLOCK * h + i);

        even[i] = warprsa_int_fold_digit_of(bytes, g->matrix, digit, n);
        odd[i] = warprsa_int_fold_digit_of(bytes, g->matrix, digit + 1, n);
    }
}

/* Limbs 4 i to 4 i + 3 of those of P with even indices, or with odd ones. */
static inline void warprsa_int_fold_get_prime(uint32_t *to,
                                              const warprsa_int_fold_group *g,
                                              int odd, int i)
{
    memcpy(to, g->prime->limbs[odd] + 4 * i, 4 * sizeof(*to));
}

static inline uint32_t warprsa_int_fold_inverse(const warprsa_int_fold_group *g)
{
    return g->prime->inverse;
}

#endif
