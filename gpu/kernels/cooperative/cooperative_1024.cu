/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/kernels/cooperative/cooperative.cuh"

extern "C" cudaError_t warprsa_lanes_1024(const warprsa_batch *batch,
                                          cudaStream_t stream)
{
    constexpr warprsa_shape shape = WARPRSA_SHAPE_1024;

    return warprsa_launch_lanes<shape.rows, shape.width, shape.per_lane>(
        batch, stream);
}
