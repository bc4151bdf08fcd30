/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Test builds alone: a kernel that does not end by itself.
 */
#include "gpu/cuda/kernels.h"

static __global__ void spin(const volatile uint32_t *stop)
{
    while (*stop == 0)
        __nanosleep(1000);
}

extern "C" cudaError_t warprsa_launch_spin(const volatile uint32_t *stop,
                                           cudaStream_t stream)
{
    spin<<<1, 1, 0, stream>>>(stop);
    return cudaGetLastError();
}
