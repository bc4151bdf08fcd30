/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernels "fold" and "narrow_fold" as the engine launches them: for
 * requests that share a key, with the reduction on tensor cores (fold.h,
 * narrow.h). They run on devices of compute capability 9.0 and on no others.
 * All functions may be called by any thread.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_COMMON_FOLD_KERNEL_H
#define WARPRSA_GPU_KERNELS_FOLD_COMMON_FOLD_KERNEL_H

#include <cuda_runtime_api.h>

#include "gpu/kernels/batch.h"
#include "gpu/kernels/fold_common/plan.h"
#include "gpu/kernels/kernel_names.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct warprsa_fold_batch {
    warprsa_batch batch;            /* its table: table_bytes for each block */
    const warprsa_fold_item *items; /* device memory */
    uint32_t item_count;
    uint32_t sms;       /* of the device */
    uint32_t all_items; /* with those of other batches under way */
} warprsa_fold_batch;

/* A block with fewer requests than one part in so many of the most that it can
 * have takes as long, and is not even considered. */
#define WARPRSA_FOLD_ITEM_SHARE_MIN 4

/* A kernel of one size class. */
typedef struct warprsa_fold_kernel {
    const char *name;
    cudaError_t (*launch)(const warprsa_fold_batch *batch, uint32_t blocks,
                          cudaStream_t stream);
    size_t table_bytes;     /* table memory of one item */
    uint32_t blocks_per_sm; /* items that share an SM */
    uint32_t waves;         /* of such items that have table memory, at most */
    /* Blocks that an item is cut into where so many, for each item, fit at
     * once: the most, the least, and how many share an SM; 1 if items are never
     * cut. Table memory of such a block. */
    uint32_t cuts, cuts_min, cut_blocks_per_sm;
    size_t cut_bytes;
    uint32_t item_max;  /* requests of an item at most */
    uint32_t item_min;  /* fewer are not worth it */
    uint32_t short_max; /* of a short item, which takes short_share of the
                           time of another; 0: none is short */
    double short_share;
} warprsa_fold_kernel;

enum {
    WARPRSA_FOLD_KERNELS = 2
};

/* Kernel `which` (0: "fold", 1: "narrow_fold") of a size class; NULL where
 * there is none. Static. */
const warprsa_fold_kernel *warprsa_fold_kernel_for(warprsa_size_class size,
                                                   int which);

/* That of this name, NULL likewise. */
const warprsa_fold_kernel *warprsa_fold_kernel_named(const char *name,
                                                     warprsa_size_class size);

/* How many SMs CUDA device `ordinal` has if it can run the fold, else 0. */
uint32_t warprsa_fold_sms(int ordinal);

/* Items that a kernel has table memory for at the same time, at most. */
uint32_t warprsa_fold_items_at_once(const warprsa_fold_kernel *kernel,
                                    uint32_t sms);

/* Bytes of table memory that warprsa_fold_launch() needs for a batch of `count`
 * items, or fewer. */
size_t warprsa_fold_table_bytes(const warprsa_fold_kernel *kernel, size_t count,
                                uint32_t sms);

/* Queues the kernel for the items of a batch on `stream`. `items` is device
 * memory and must stay until the kernel is done. The batch's table has
 * `table_bytes` bytes, at least as many as one item needs; the fewer they are
 * below warprsa_fold_table_bytes(), the longer it takes. `all_items` are those
 * under way on the device, of other batches, too: by them it is decided whether
 * items are cut, and whether short ones have one block for both primes. Returns
 * the error of the launch itself. */
cudaError_t warprsa_fold_launch(const warprsa_fold_kernel *kernel,
                                const warprsa_batch *batch,
                                const warprsa_fold_item *items,
                                uint32_t item_count, size_t all_items,
                                uint32_t sms, size_t table_bytes,
                                cudaStream_t stream);

extern const warprsa_fold_kernel warprsa_fold_kernel_2048;
extern const warprsa_fold_kernel warprsa_fold_kernel_3072;
extern const warprsa_fold_kernel warprsa_fold_kernel_4096;
extern const warprsa_fold_kernel warprsa_narrow_fold_kernel_2048;
extern const warprsa_fold_kernel warprsa_narrow_fold_kernel_3072;
extern const warprsa_fold_kernel warprsa_narrow_fold_kernel_4096;

#ifdef __cplusplus
}
#endif
#endif
