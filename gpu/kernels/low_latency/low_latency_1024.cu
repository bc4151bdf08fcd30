/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define WARPRSA_LOW_LATENCY_SHAPE WARPRSA_BLOCK_SHAPE_1024

#include "gpu/kernels/low_latency/low_latency.cuh"

extern "C" cudaError_t warprsa_low_latency_1024(const warprsa_batch *batch,
                                                cudaStream_t stream)
{
    return warprsa_launch_low_latency(batch, stream);
}
