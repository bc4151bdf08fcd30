/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The launcher of the point multiplication.
 */
#ifndef WARPRSA_PAPERS_P224_KERNEL_H
#define WARPRSA_PAPERS_P224_KERNEL_H

#include <cuda_runtime_api.h>

#include "bench/programs/papers/p224/p224.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    P224_BLOCK = 128, /* threads */
};

/* Queues the kernel: point i becomes scalar i times (x, y). Scalars and points
 * are in device memory, interleaved: word j of number i is at j * count + i;
 * a point's words are those of x, y and z. count is a multiple of
 * P224_BLOCK. */
cudaError_t p224_launch(const uint32_t *scalars, uint32_t *points,
                        p224_number x, p224_number y, uint32_t count,
                        cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
