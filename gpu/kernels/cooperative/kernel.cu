/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "cooperative" for one size class.
 */
#include "gpu/kernels/cooperative/cooperative.cuh"
#include "gpu/kernels/instance.cuh"

extern "C" int WARPRSA_OF_BITS(warprsa_cooperative_)(const warprsa_batch *batch,
                                                     cudaStream_t stream)
{
    constexpr warprsa_shape shape = WARPRSA_OF_BITS(WARPRSA_SHAPE_);

    return warprsa_launch_cooperative<shape.limbs, shape.threads_per_number,
                                      shape.limbs_per_thread>(batch, stream);
}
