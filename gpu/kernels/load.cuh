/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Loads code before it is launched. Otherwise the driver does so at the first
 * launch, and may wait then for all that the device has to do: "Lazy Loading"
 * in CUDA's programming guide.
 */
#ifndef WARPRSA_GPU_KERNELS_LOAD_CUH
#define WARPRSA_GPU_KERNELS_LOAD_CUH

#include <cuda_runtime.h>

/* Has the driver load these kernels, for the device that is current. */
template <typename... Kernels>
static cudaError_t warprsa_load_code(Kernels... kernels)
{
    const void *const all[] = {reinterpret_cast<const void *>(kernels)...};
    cudaError_t error = cudaSuccess;

    for (const void *const kernel : all) {
        cudaFuncAttributes attributes;

        if (error == cudaSuccess)
            error = cudaFuncGetAttributes(&attributes, kernel);
    }
    return error;
}

#endif
