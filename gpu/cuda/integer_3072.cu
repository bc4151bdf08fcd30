/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/cuda/integer.cuh"

extern "C" cudaError_t warprsa_integer_3072(const warprsa_batch *batch,
                                            cudaStream_t stream)
{
    constexpr warprsa_shape shape = WARPRSA_LIMB_SHAPE_3072;

    return warprsa_launch_integer<shape.rows, shape.width, shape.per_lane>(
        batch, stream);
}
