/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See gpu_facts.h.
 */
#include "gpu/cuda/gpu_facts.h"

#include "gpu/fault.h"

cudaError_t warprsa_gpu_facts(warprsa_gpu *gpu, int ordinal)
{
    static const enum cudaDeviceAttr attributes[] = {
        cudaDevAttrComputeCapabilityMajor,
        cudaDevAttrComputeCapabilityMinor,
        cudaDevAttrMultiProcessorCount,
        cudaDevAttrSingleToDoublePrecisionPerfRatio,
        cudaDevAttrClockRate,
        cudaDevAttrL2CacheSize};
    enum {
        ATTRIBUTES = sizeof(attributes) / sizeof(attributes[0])
    };
    int value[ATTRIBUTES] = {0};
    cudaError_t error = cudaSuccess;

    for (int i = 0; error == cudaSuccess && i < ATTRIBUTES; i++)
        error = cudaDeviceGetAttribute(&value[i], attributes[i], ordinal);
    *gpu = (warprsa_gpu){
        .sms = (uint32_t)value[2],
        .capability = (uint32_t)(10 * value[0] + value[1]),
        .singles_per_double = (uint32_t)value[3],
        .clock_khz = (uint32_t)value[4],
        .l2_bytes = (uint32_t)value[5],
    };
    if (warprsa_fault_active(WARPRSA_FAULT_INTEGERS))
        gpu->singles_per_double = 64;
    return error;
}
