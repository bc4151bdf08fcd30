/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/kernels/thread/thread.cuh"

extern "C" cudaError_t warprsa_thread_1024(const warprsa_batch *batch,
                                           cudaStream_t stream)
{
    constexpr warprsa_shape shape = WARPRSA_SHAPE_1024;

    return warprsa_launch_thread<warprsa_thread_shape<
        shape.limbs, shape.threads_per_number, shape.limbs_per_thread,
        WARPRSA_THREAD_BLOCK_1024, 0>>(batch, stream);
}
