/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Makes the matrix of a prime (fold.h) from a prepared key, which has what
 * Montgomery multiplication needs. With R = 2^(52 N), the Montgomery product of
 * 2^j and R^2, reduced exactly, is 2^j R mod P: a row of the matrix. The
 * threads of one request make a row together, the lower ones of them the row
 * mod p, the upper ones the row mod q.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_MATRIX_H
#define WARPRSA_GPU_KERNELS_FOLD_MATRIX_H

#include "gpu/kernels/fold/fold.h"
#include "gpu/kernels/fold_common/power_of_two.h"

/* x = 2^bit R mod P; with `down`, 2^bit mod P instead; with `minus` 1, P less
 * that. Exactly reduced, for both primes of a key. */
WARPRSA_FN void warprsa_fold_matrix_row(warprsa_number *x,
                                        const warprsa_operation_key *key,
                                        int bit, int down, uint32_t minus,
                                        const int limbs,
                                        const int threads_per_number,
                                        const int limbs_per_thread)
{
    const int threads_per_request = 2 * threads_per_number;
    warprsa_modulus p = {0};
    warprsa_number power = {0}, factor = {0};
    int64_t over[WARPRSA_LANES_EMULATED];

    warprsa_load_primes(&p, &key->half[0], &key->half[1], limbs,
                        threads_per_number, limbs_per_thread,
                        threads_per_request);
    warprsa_load(&factor, key->half[0].r2, key->half[1].r2, limbs,
                 threads_per_number, limbs_per_thread, threads_per_request);
    if (down) {
        warprsa_fold_set_power_of_two(&power, 0, threads_per_number,
                                      limbs_per_thread, threads_per_request);
        warprsa_mont_mul(&factor, &power, &factor, &p, limbs,
                         threads_per_number, limbs_per_thread,
                         threads_per_request);
    }
    warprsa_fold_set_power_of_two(&power, bit, threads_per_number,
                                  limbs_per_thread, threads_per_request);
    warprsa_mont_mul(x, &power, &factor, &p, limbs, threads_per_number,
                     limbs_per_thread, threads_per_request);
    warprsa_reduce(x, x, &p.p, threads_per_number, limbs_per_thread,
                   threads_per_request);
    warprsa_subtract(&power, &p.p, x, 1, over, threads_per_number,
                     limbs_per_thread, threads_per_request);
    warprsa_choose(x, minus, &power, x, limbs_per_thread, threads_per_request);
}

/* Puts the digits of x as row `row` into both matrices. */
WARPRSA_FN void warprsa_fold_put_row(uint8_t *matrix_p, uint8_t *matrix_q,
                                     const warprsa_number *x, int row,
                                     const int limbs,
                                     const int threads_per_number,
                                     const int limbs_per_thread)
{
    const int threads_per_request = 2 * threads_per_number;

    WARPRSA_EACH_LANE (k, threads_per_request) {
        int lane = warprsa_lane(k, threads_per_request);
        uint8_t *matrix = lane < threads_per_number ? matrix_p : matrix_q;

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++) {
            int sample =
                (lane & (threads_per_number - 1)) * limbs_per_thread + i;
            uint64_t bits = (uint64_t)x->of[k][i];

            WARPRSA_ROLLED
            for (int digit = 0; sample < limbs && digit < WARPRSA_FOLD_DIGITS;
                 digit++) {
                int low = warprsa_fold_digit_shift(digit, limbs);
                int next = warprsa_fold_digit_shift(digit + 1, limbs);

                matrix[warprsa_fold_matrix_offset(row, sample, digit, limbs)] =
                    (uint8_t)(bits >> low & ((1u << (next - low)) - 1));
            }
        }
    }
}

/* Makes row `row` of both matrices. They must hold zeros where no digit
 * goes. */
WARPRSA_FN void warprsa_fold_make_row(uint8_t *matrix_p, uint8_t *matrix_q,
                                      const warprsa_operation_key *key, int row,
                                      const int limbs,
                                      const int threads_per_number,
                                      const int limbs_per_thread)
{
    const int last = row == 8 * limbs - 1;
    const int bias = row == warprsa_fold_bias_row(limbs);
    const int bit = last   ? 52 * (limbs - 1) + 44
                    : bias ? 52 * (limbs / 2) + 2
                           : 52 * (row / 8) + 8 * (row % 8);
    warprsa_number x;

    warprsa_fold_matrix_row(&x, key, bit, last, (uint32_t)bias, limbs,
                            threads_per_number, limbs_per_thread);
    warprsa_fold_put_row(matrix_p, matrix_q, &x, row, limbs, threads_per_number,
                         limbs_per_thread);
}

/* to[0..limbs) = 1/q mod p, from (1/q) R mod p. */
WARPRSA_FN void warprsa_fold_put_qinv(double *to,
                                      const warprsa_operation_key *key,
                                      const int limbs,
                                      const int threads_per_number,
                                      const int limbs_per_thread)
{
    const int threads_per_request = 2 * threads_per_number;
    warprsa_modulus p = {0};
    warprsa_number x = {0}, one = {0};

    warprsa_load_primes(&p, &key->half[0], &key->half[0], limbs,
                        threads_per_number, limbs_per_thread,
                        threads_per_request);
    warprsa_load(&x, key->qinv_r, key->qinv_r, limbs, threads_per_number,
                 limbs_per_thread, threads_per_request);
    warprsa_set_one(&one, threads_per_number, limbs_per_thread,
                    threads_per_request);
    warprsa_mont_mul(&x, &x, &one, &p, limbs, threads_per_number,
                     limbs_per_thread, threads_per_request);
    warprsa_reduce(&x, &x, &p.p, threads_per_number, limbs_per_thread,
                   threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        int first =
            (warprsa_lane(k, threads_per_request) & (threads_per_number - 1)) *
            limbs_per_thread;

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            if (first + i < limbs)
                to[first + i] = x.of[k][i];
    }
}

#endif
