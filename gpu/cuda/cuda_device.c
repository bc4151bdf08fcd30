/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How errors of CUDA on a device are told.
 */
#include "gpu/cuda/cuda_device.h"

#include <stdio.h>

void warprsa_cuda_trace(const warprsa_device *device, const char *what,
                        cudaError_t error)
{
    char line[sizeof(device->description) + 160];

    if (device->config.trace == NULL)
        return;
    snprintf(line, sizeof(line), "%s: %s: %s", device->description, what,
             cudaGetErrorString(error));
    device->config.trace(device->config.trace_arg, 1, line);
}

warprsa_status warprsa_cuda_status(const warprsa_device *device,
                                   const char *what, cudaError_t error)
{
    if (error == cudaSuccess)
        return WARPRSA_OK;
    /* CUDA would report it once more, as the error of this thread's next
     * launch. */
    (void)cudaGetLastError();
    warprsa_cuda_trace(device, what, error);
    return error == cudaErrorMemoryAllocation ? WARPRSA_NO_MEMORY
                                              : WARPRSA_DEVICE_ERROR;
}
