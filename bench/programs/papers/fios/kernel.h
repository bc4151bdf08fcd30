/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The launcher of the system with chains of sums of products.
 */
#ifndef WARPRSA_PAPERS_FIOS_KERNEL_H
#define WARPRSA_PAPERS_FIOS_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All pointers are to device memory. `memory` has two numbers for each thread
 * of `blocks` blocks of `block` threads: the message, and the result. With n =
 * 2 * words, word j of thread t of block b (j >= words: of the result) is at
 * transposed      (b * n + j) * block + t
 * else            (b * block + t) * n + j */
typedef struct fios_batch {
    uint32_t *memory;
    const uint32_t *modulus, *r2, *exponent;
    uint32_t n0inv, exponent_bits, blocks, block;
    bool transposed, chains;
} fios_batch;

/* Queues the kernel for moduli of 32 or 64 words; block <= 256. */
cudaError_t fios_launch(const fios_batch *batch, int words,
                        cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
