/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "fold" as the engine launches it: for requests that share a key,
 * with the reduction on tensor cores (fold.h). It runs on devices of compute
 * capability 9.0 and on no others. All functions may be called by any thread.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_LAUNCH_H
#define WARPRSA_GPU_KERNELS_FOLD_LAUNCH_H

#include <cuda_runtime_api.h>

#include "gpu/kernels/batch.h"
#include "gpu/kernels/fold/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct warprsa_fold_batch {
    warprsa_batch batch;            /* its table: table_bytes for each block */
    const warprsa_fold_item *items; /* device memory */
    uint32_t item_count;
} warprsa_fold_batch;

/* The kernel of one size class. */
typedef struct warprsa_fold_kernel {
    cudaError_t (*launch)(const warprsa_fold_batch *batch, uint32_t blocks,
                          cudaStream_t stream);
    size_t table_bytes;     /* table memory of one block */
    uint32_t blocks_per_sm; /* blocks that share an SM */
    uint32_t item_max;      /* requests that a block takes at once */
} warprsa_fold_kernel;

/* The kernel of a size class; NULL where there is none. Static. */
const warprsa_fold_kernel *warprsa_fold_kernel_for(warprsa_size_class size);

/* How many SMs CUDA device `ordinal` has if it can run the fold, else 0. */
uint32_t warprsa_fold_sms(int ordinal);

/* Bytes of table memory that warprsa_fold_launch() needs for a batch of `count`
 * requests of this class. */
size_t warprsa_fold_table_bytes(warprsa_size_class size, size_t count,
                                uint32_t sms);

/* Queues the kernel for the items of a batch on `stream`. `items` is device
 * memory and must stay until the kernel is done. The batch's table has
 * `table_bytes` bytes, at least as many as one item needs; the fewer they are
 * below warprsa_fold_table_bytes(), the longer it takes. Returns the error of
 * the launch itself. */
cudaError_t warprsa_fold_launch(warprsa_size_class size,
                                const warprsa_batch *batch,
                                const warprsa_fold_item *items,
                                uint32_t item_count, uint32_t sms,
                                size_t table_bytes, cudaStream_t stream);

extern const warprsa_fold_kernel warprsa_fold_kernel_2048;
extern const warprsa_fold_kernel warprsa_fold_kernel_3072;
extern const warprsa_fold_kernel warprsa_fold_kernel_4096;

#ifdef __cplusplus
}
#endif
#endif
