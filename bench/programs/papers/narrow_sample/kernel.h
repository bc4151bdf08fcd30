/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The launcher of the system with narrow samples.
 */
#ifndef WARPRSA_PAPERS_NARROW_KERNEL_H
#define WARPRSA_PAPERS_NARROW_KERNEL_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    NARROW_BLOCK = 256, /* threads */
    NARROW_SHAPES = 6,
};

/* All pointers are to device memory. Keys: `key_words` words each, as in
 * narrow_rsa; request i has key i % keys. Texts and results: 2 n / 32 words
 * each. The table has 64 entries of per_thread words for each thread, the
 * scratch memory 2 per_thread words for each thread of one half. */
typedef struct narrow_batch {
    const uint32_t *keys, *inverses; /* inverses: 2 words a key */
    const uint32_t *texts;
    uint32_t *results, *table, *scratch;
    uint32_t key_words, key_count, count;
} narrow_batch;

/* Queues the kernel of shape i < NARROW_SHAPES, in the order of steps.c. The
 * table and the scratch memory must be large enough for count rounded up to
 * whole blocks. */
cudaError_t narrow_launch(int i, const narrow_batch *batch,
                          cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
