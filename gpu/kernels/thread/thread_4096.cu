/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/kernels/thread/thread.cuh"

extern "C" cudaError_t warprsa_thread_4096(const warprsa_batch *batch,
                                           cudaStream_t stream)
{
    constexpr warprsa_shape shape = WARPRSA_SHAPE_4096;

    return warprsa_launch_thread<warprsa_thread_shape<
        shape.limbs, shape.threads_per_number, shape.limbs_per_thread,
        WARPRSA_THREAD_BLOCK_4096, 1>>(batch, stream);
}
