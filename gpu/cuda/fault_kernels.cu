/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See fault_kernels.h.
 */
#include "gpu/cuda/fault_kernels.h"

static __global__ void spin(const volatile uint32_t *stop)
{
    while (*stop == 0)
        __nanosleep(1000);
}

static __global__ void trap(void)
{
    __trap();
}

extern "C" cudaError_t warprsa_launch_spin(const volatile uint32_t *stop,
                                           cudaStream_t stream)
{
    spin<<<1, 1, 0, stream>>>(stop);
    return cudaGetLastError();
}

extern "C" cudaError_t warprsa_launch_trap(cudaStream_t stream)
{
    trap<<<1, 1, 0, stream>>>();
    return cudaGetLastError();
}
