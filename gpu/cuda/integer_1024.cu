/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/cuda/integer.cuh"

extern "C" cudaError_t warprsa_integer_1024(const warprsa_batch *batch,
                                            cudaStream_t stream)
{
    constexpr warprsa_shape few = WARPRSA_LIMB_FEW_1024;
    constexpr warprsa_shape most = WARPRSA_LIMB_MANY_1024;
    bool many;
    cudaError_t error = warprsa_integer_many(&many, batch, 2 * most.width);

    if (error != cudaSuccess)
        return error;
    return many ? warprsa_launch_integer<most.rows, most.width, most.per_lane,
                                         3>(batch, stream)
                : warprsa_launch_integer<few.rows, few.width, few.per_lane, 4>(
                      batch, stream);
}
