/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What tests that play CUDA share. They are linked with --wrap for each
 * function that they play, so the real code's calls come here, and no GPU is
 * needed. One device, whose calls succeed.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_PLAYED_CUDA_H
#define WARPRSA_TESTS_UNIT_SUPPORT_PLAYED_CUDA_H

#include <cuda_runtime_api.h>

#define PLAYED(name, ...)                                                      \
    cudaError_t __wrap_##name(__VA_ARGS__);                                    \
    cudaError_t __wrap_##name(__VA_ARGS__)

PLAYED(cudaGetDevice, int *device)
{
    *device = 0;
    return cudaSuccess;
}

PLAYED(cudaGetLastError, void)
{
    return cudaSuccess;
}

PLAYED(cudaMemsetAsync, void *at, int value, size_t size, cudaStream_t stream)
{
    return cudaSuccess;
}

#endif
