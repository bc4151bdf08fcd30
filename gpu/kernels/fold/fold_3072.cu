/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "fold" for RSA-3072.
 */
#include "gpu/kernels/fold/fold.cuh"

static constexpr warprsa_shape shape = WARPRSA_SHAPE_3072;

extern "C" const warprsa_fold_kernel warprsa_fold_kernel_3072 = {
    warprsa_launch_fold<
        warprsa_fold_shared<shape.limbs>,
        warprsa_fold_operations<shape.limbs, shape.threads_per_number,
                                shape.limbs_per_thread>>,
    warprsa_fold_scratch<shape.limbs>::ALL,
    warprsa_fold_shared<shape.limbs>::BLOCKS,
    warprsa_fold_shared<shape.limbs>::THREADS / 2,
};
