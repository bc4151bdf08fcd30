/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The launcher of pSHS with the warps of an SM as its workers.
 */
#ifndef WARPRSA_PAPERS_PSHS_KERNEL_H
#define WARPRSA_PAPERS_PSHS_KERNEL_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PSHS_NUMBERS = 32, /* of a block: a lane each */
    PSHS_WORKERS_MAX = 8,
};

/* All pointers are to device memory. A block of `workers` warps raises 32
 * numbers: word j of number i of block b is at (b * words + j) * 32 + i. The
 * results take their places. `one` is the number 1. */
typedef struct pshs_batch {
    uint32_t *memory;
    const uint32_t *modulus, *r2, *exponent, *one;
    uint32_t n0inv, exponent_bits, blocks, words, workers;
} pshs_batch;

/* Queues the kernel for at most 64 words. */
cudaError_t pshs_launch(const pshs_batch *batch, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
