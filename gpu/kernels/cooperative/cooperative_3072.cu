/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/kernels/cooperative/cooperative.cuh"

extern "C" cudaError_t warprsa_cooperative_3072(const warprsa_batch *batch,
                                                cudaStream_t stream)
{
    constexpr warprsa_shape shape = WARPRSA_SHAPE_3072;

    return warprsa_launch_cooperative<shape.limbs, shape.threads_per_number,
                                      shape.limbs_per_thread>(batch, stream);
}
