/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What CUDA says of a GPU, as far as the choice of kernels depends on it.
 */
#ifndef WARPRSA_GPU_CUDA_GPU_FACTS_H
#define WARPRSA_GPU_CUDA_GPU_FACTS_H

#include <cuda_runtime_api.h>

#include "gpu/kernels/kernels.h"

/* Fills *gpu with the facts of CUDA device `ordinal`. Any thread. */
cudaError_t warprsa_gpu_facts(warprsa_gpu *gpu, int ordinal);

#endif
