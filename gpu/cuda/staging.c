/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See staging.h.
 */
#include "gpu/cuda/staging.h"

#include <string.h>
#include <sys/mman.h>

cudaError_t warprsa_staging_new(warprsa_staging *staging, unsigned streams)
{
    const size_t bytes = streams * staging->host_bytes;
    cudaError_t error =
        cudaHostAlloc((void **)&staging->host, bytes, cudaHostAllocDefault);

    staging->streams = streams;
    if (error != cudaSuccess)
        return error;
    /* This is refused where the driver maps the memory in its own way. Then a
     * core dump has the inputs and outputs of the current batches. */
    (void)madvise(staging->host, bytes, MADV_DONTDUMP);
    error =
        cudaMalloc((void **)&staging->device, streams * staging->device_bytes);
    /* The copy back includes bytes that no kernel writes, between the parts of
     * a batch and behind short moduli. They must hold zeros, now and after each
     * batch. */
    if (error == cudaSuccess)
        error = cudaMemset(staging->device, 0, streams * staging->device_bytes);
    return error == cudaSuccess ? cudaDeviceSynchronize() : error;
}

void warprsa_staging_free(warprsa_staging *staging)
{
    if (staging->host != NULL) {
        explicit_bzero(staging->host, staging->streams * staging->host_bytes);
        cudaFreeHost(staging->host);
    }
    if (staging->device != NULL) {
        cudaMemset(staging->device, 0,
                   staging->streams * staging->device_bytes);
        cudaFree(staging->device);
    }
    *staging = (warprsa_staging){0};
}
