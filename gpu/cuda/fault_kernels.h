/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * For test builds (WARPRSA_FAULTS): kernels that stand for a broken device.
 */
#ifndef WARPRSA_GPU_CUDA_FAULT_KERNELS_H
#define WARPRSA_GPU_CUDA_FAULT_KERNELS_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A hung device: keeps the stream busy until *stop, in host memory that the
 * device sees, is set. */
cudaError_t warprsa_launch_spin(const volatile uint32_t *stop,
                                cudaStream_t stream);

/* A device that fails: makes its context unusable for good. */
cudaError_t warprsa_launch_trap(cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
