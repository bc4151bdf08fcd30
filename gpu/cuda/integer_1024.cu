/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/cuda/integer.cuh"

extern "C" cudaError_t warprsa_integer_1024(const warprsa_batch *batch,
                                            cudaStream_t stream)
{
    constexpr warprsa_shape shape = WARPRSA_LIMB_SHAPE_1024;

    return warprsa_launch_integer<shape.rows, shape.width, shape.per_lane>(
        batch, stream);
}
