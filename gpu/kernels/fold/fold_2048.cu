/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/kernels/fold/fold.cuh"

static constexpr warprsa_shape shape = WARPRSA_SHAPE_2048;

extern "C" const warprsa_fold_kernel warprsa_fold_kernel_2048 = {
    warprsa_launch_fold<shape.rows, shape.width, shape.per_lane>,
    warprsa_fold_scratch<shape.rows>::ALL,
    warprsa_fold_shared<shape.rows>::BLOCKS,
    warprsa_fold_shared<shape.rows>::THREADS / 2,
};
