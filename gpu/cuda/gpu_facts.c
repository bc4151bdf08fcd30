/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See gpu_facts.h.
 */
#include "gpu/cuda/gpu_facts.h"

cudaError_t warprsa_gpu_facts(warprsa_gpu *gpu, int ordinal)
{
    static const enum cudaDeviceAttr attributes[] = {
        cudaDevAttrComputeCapabilityMajor, cudaDevAttrComputeCapabilityMinor,
        cudaDevAttrMultiProcessorCount,
        cudaDevAttrSingleToDoublePrecisionPerfRatio};
    int value[4] = {0};
    cudaError_t error = cudaSuccess;

    for (int i = 0; error == cudaSuccess && i < 4; i++)
        error = cudaDeviceGetAttribute(&value[i], attributes[i], ordinal);
    *gpu = (warprsa_gpu){
        .sms = (uint32_t)value[2],
        .capability = (uint32_t)(10 * value[0] + value[1]),
        .singles_per_double = (uint32_t)value[3],
    };
    return error;
}
