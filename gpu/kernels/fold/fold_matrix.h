/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The matrix of a prime (fold.h) made from the key as it is for Montgomery's
 * product, one row by a group of lanes: the product of 2^j and R^2, divided by
 * R and reduced exactly, is 2^j R mod P with R = 2^(52 rows). All lanes of a
 * group make one row, the lower ones for p, the upper ones for q.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_FOLD_MATRIX_H
#define WARPRSA_GPU_KERNELS_FOLD_FOLD_MATRIX_H

#include "gpu/kernels/fold/fold.h"

/* 2^bit. */
WARPRSA_FN void warprsa_fold_set_power(warprsa_number *to, int bit,
                                       const int width, const int L,
                                       const int G)
{
    WARPRSA_EACH_LANE (k, G) {
        int first = (warprsa_lane(k, G) & (width - 1)) * L;

        WARPRSA_UNROLL
        for (int i = 0; i < L; i++)
            to->of[k][i] =
                first + i == bit / 52 ? (double)(1ull << (bit % 52)) : 0.0;
    }
}

/* x = 2^bit R mod P, or with `down` 2^bit mod P, or with `minus` P less that,
 * exactly; x for both halves of a key. */
WARPRSA_FN void warprsa_fold_matrix_row(warprsa_number *x,
                                        const warprsa_operation_key *key,
                                        int bit, int down, uint32_t minus,
                                        const int rows, const int width,
                                        const int L)
{
    const int G = 2 * width;
    warprsa_modulus p = {0};
    warprsa_number power = {0}, factor = {0};
    int64_t over[WARPRSA_SLOTS];

    warprsa_load_primes(&p, &key->half[0], &key->half[1], rows, width, L, G);
    warprsa_load(&factor, key->half[0].r2, key->half[1].r2, rows, width, L, G);
    if (down) {
        warprsa_fold_set_power(&power, 0, width, L, G);
        warprsa_mont_mul(&factor, &power, &factor, &p, rows, width, L, G);
    }
    warprsa_fold_set_power(&power, bit, width, L, G);
    warprsa_mont_mul(x, &power, &factor, &p, rows, width, L, G);
    warprsa_reduce(x, x, &p.p, width, L, G);
    warprsa_subtract(&power, &p.p, x, 1, over, width, L, G);
    warprsa_choose(x, minus, &power, x, L, G);
}

/* Puts row k, the digits of x, into both matrices. */
WARPRSA_FN void warprsa_fold_put_row(uint8_t *matrix_p, uint8_t *matrix_q,
                                     const warprsa_number *x, int row,
                                     const int rows, const int width,
                                     const int L)
{
    const int G = 2 * width;

    WARPRSA_EACH_LANE (k, G) {
        int lane = warprsa_lane(k, G);
        uint8_t *matrix = lane < width ? matrix_p : matrix_q;

        WARPRSA_UNROLL
        for (int i = 0; i < L; i++) {
            int sample = (lane & (width - 1)) * L + i;
            uint64_t bits = (uint64_t)x->of[k][i];

            WARPRSA_ROLLED
            for (int digit = 0; sample < rows && digit < WARPRSA_FOLD_DIGITS;
                 digit++) {
                int low = warprsa_fold_digit_shift(digit, rows);
                int next = warprsa_fold_digit_shift(digit + 1, rows);

                matrix[warprsa_fold_place(row, sample, digit, rows)] =
                    (uint8_t)(bits >> low & ((1u << (next - low)) - 1));
            }
        }
    }
}

/* Makes row `row` of both matrices, which must hold zeros where no digit
 * goes. */
WARPRSA_FN void warprsa_fold_make_row(uint8_t *matrix_p, uint8_t *matrix_q,
                                      const warprsa_operation_key *key, int row,
                                      const int rows, const int width,
                                      const int L)
{
    const int last = row == 8 * rows - 1;
    const int bias = row == warprsa_fold_bias_row(rows);
    const int bit = last   ? 52 * (rows - 1) + 44
                    : bias ? 52 * (rows / 2) + 2
                           : 52 * (row / 8) + 8 * (row % 8);
    warprsa_number x;

    warprsa_fold_matrix_row(&x, key, bit, last, (uint32_t)bias, rows, width, L);
    warprsa_fold_put_row(matrix_p, matrix_q, &x, row, rows, width, L);
}

/* 1/q mod p from (1/q) R mod p; to[0..rows). */
WARPRSA_FN void warprsa_fold_put_qinv(double *to,
                                      const warprsa_operation_key *key,
                                      const int rows, const int width,
                                      const int L)
{
    const int G = 2 * width;
    warprsa_modulus p = {0};
    warprsa_number x = {0}, one = {0};

    warprsa_load_primes(&p, &key->half[0], &key->half[0], rows, width, L, G);
    warprsa_load(&x, key->qinv_r, key->qinv_r, rows, width, L, G);
    warprsa_set_one(&one, width, L, G);
    warprsa_mont_mul(&x, &x, &one, &p, rows, width, L, G);
    warprsa_reduce(&x, &x, &p.p, width, L, G);
    WARPRSA_EACH_LANE (k, G) {
        int first = (warprsa_lane(k, G) & (width - 1)) * L;

        WARPRSA_UNROLL
        for (int i = 0; i < L; i++)
            if (first + i < rows)
                to[first + i] = x.of[k][i];
    }
}

#endif
