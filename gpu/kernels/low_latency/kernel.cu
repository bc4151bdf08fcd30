/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "low_latency" for one size class.
 */
#include "gpu/kernels/instance.cuh"

#define WARPRSA_LOW_LATENCY_SHAPE WARPRSA_OF_BITS(WARPRSA_BLOCK_SHAPE_)

#include "gpu/kernels/low_latency/low_latency.cuh"

extern "C" int WARPRSA_OF_BITS(warprsa_low_latency_)(const warprsa_batch *batch,
                                                     cudaStream_t stream)
{
    return warprsa_launch_low_latency(batch, stream);
}
