/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "int32" for one size class, spread in two ways: over more threads
 * for few requests, over fewer for many.
 */
#include "gpu/kernels/instance.cuh"
#include "gpu/kernels/int32/int32.cuh"

/* Blocks that share an SM. */
static constexpr int BLOCKS_FEW = 4;
static constexpr int BLOCKS_MANY =
    WARPRSA_INT32_BLOCKS_MANY(WARPRSA_KERNEL_BITS);

extern "C" int WARPRSA_OF_BITS(warprsa_int32_)(const warprsa_batch *batch,
                                               cudaStream_t stream)
{
    constexpr warprsa_shape few = WARPRSA_OF_BITS(WARPRSA_INT32_SHAPE_FEW_);
    constexpr warprsa_shape most = WARPRSA_OF_BITS(WARPRSA_INT32_SHAPE_MANY_);
    bool many;
    cudaError_t error =
        warprsa_int32_many(&many, batch, 2 * most.threads_per_number);

    if (error != cudaSuccess)
        return error;
    return many ? warprsa_launch_int32<most.limbs, most.threads_per_number,
                                       most.limbs_per_thread, BLOCKS_MANY>(
                      batch, stream)
                : warprsa_launch_int32<few.limbs, few.threads_per_number,
                                       few.limbs_per_thread, BLOCKS_FEW>(
                      batch, stream);
}
