/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "thread" for one size class.
 */
#include "gpu/kernels/instance.cuh"
#include "gpu/kernels/thread/thread.cuh"

extern "C" int WARPRSA_OF_BITS(warprsa_thread_)(const warprsa_batch *batch,
                                                cudaStream_t stream)
{
    constexpr warprsa_shape shape = WARPRSA_OF_BITS(WARPRSA_SHAPE_);

    return warprsa_launch_thread<warprsa_thread_shape<
        shape.limbs, shape.threads_per_number, shape.limbs_per_thread,
        WARPRSA_OF_BITS(WARPRSA_THREAD_BLOCK_),
        WARPRSA_KERNEL_BITS >= 3072 ? 1 : 0>>(batch, stream);
}
