/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A power of two as a number over lanes: what rows of the folds' matrices are
 * made from.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_COMMON_POWER_OF_TWO_H
#define WARPRSA_GPU_KERNELS_FOLD_COMMON_POWER_OF_TWO_H

#include "gpu/arith/private_operation.h"

/* to = 2^bit. */
WARPRSA_FN void warprsa_fold_set_power_of_two(warprsa_number *to, int bit,
                                              const int threads_per_number,
                                              const int limbs_per_thread,
                                              const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        int first =
            (warprsa_lane(k, threads_per_request) & (threads_per_number - 1)) *
            limbs_per_thread;

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            to->of[k][i] =
                first + i == bit / 52 ? (double)(1ull << (bit % 52)) : 0.0;
    }
}

#endif
