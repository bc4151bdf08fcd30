/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/cuda/integer.cuh"

extern "C" cudaError_t warprsa_integer_2048(const warprsa_batch *batch,
                                            cudaStream_t stream)
{
    constexpr warprsa_shape few = WARPRSA_LIMB_FEW_2048;
    constexpr warprsa_shape most = WARPRSA_LIMB_MANY_2048;
    bool many;
    cudaError_t error = warprsa_integer_many(&many, batch, 2 * most.width);

    if (error != cudaSuccess)
        return error;
    return many ? warprsa_launch_integer<most.rows, most.width, most.per_lane,
                                         2>(batch, stream)
                : warprsa_launch_integer<few.rows, few.width, few.per_lane, 4>(
                      batch, stream);
}
