/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "fold" for RSA-4096.
 */
#include "gpu/kernels/fold/pair.cuh"

static constexpr warprsa_shape shape = WARPRSA_SHAPE_4096;

extern "C" const warprsa_fold_kernel warprsa_fold_kernel_4096 = {
    warprsa_launch_fold<warprsa_fold_pair_shared,
                        warprsa_fold_pair_operations<shape.threads_per_number,
                                                     shape.limbs_per_thread>>,
    warprsa_fold_pair_scratch::ALL,
    warprsa_fold_pair_shared::BLOCKS,
    warprsa_fold_pair_shared::THREADS / 2,
};
