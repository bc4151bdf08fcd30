/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The launcher of the system with one thread a number.
 */
#ifndef WARPRSA_PAPERS_CIOS_KERNEL_H
#define WARPRSA_PAPERS_CIOS_KERNEL_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CIOS_BLOCK = 128, /* threads */
};

/* All pointers are to device memory. `memory` has three values of words + 2
 * words for each thread of `blocks` whole blocks: word j of value v of thread t
 * of block b is word ((b * 3 + v) * (words + 2) + j) * CIOS_BLOCK + t. The
 * first value is the base, and then the result. */
typedef struct cios_batch {
    uint32_t *memory;
    const uint32_t *modulus, *r2, *exponent;
    uint32_t n0inv, exponent_bits, blocks;
} cios_batch;

/* Queues the kernel for moduli of 32 or 64 words. */
cudaError_t cios_launch(const cios_batch *batch, int words,
                        cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
