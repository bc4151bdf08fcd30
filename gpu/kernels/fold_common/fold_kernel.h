/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the kernels for requests that share a key ("fold", "narrow_fold" and
 * "int32_fold") are to the engine: how they are fed with items (plan.h) and
 * launched. A kernel's
 * kernel.cu defines one warprsa_fold_kernel for each size class. All functions
 * may be called by any thread.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_COMMON_FOLD_KERNEL_H
#define WARPRSA_GPU_KERNELS_FOLD_COMMON_FOLD_KERNEL_H

#include "gpu/kernels/batch.h"
#include "gpu/kernels/fold_common/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

typedef struct warprsa_fold_batch {
    warprsa_batch batch;
    const warprsa_fold_item *items; /* device memory */
    uint32_t item_count;
    uint32_t sms;       /* of the device */
    uint32_t all_items; /* with items of other batches under way */
} warprsa_fold_batch;

typedef struct warprsa_fold_kernel {
    bool in_integers;   /* of keys, it takes those that accept IN_INTEGERS, not
                           IN_DOUBLES (plan.h) */
    uint32_t item_max;  /* requests of an item at most */
    uint32_t item_min;  /* fewer are not worth it */
    uint32_t short_max; /* of a short item, which takes short_share of the
                           time of another; 0: none is short */
    double short_share;
    /* GPUs of an older compute capability have no short items. */
    uint32_t short_capability;
    uint32_t items_per_sm; /* timed together (warprsa_kernel.at_once) */
    /* Nothing is folded of a batch of more full items, for each SM; 0: no
     * limit. */
    uint32_t items_per_sm_max;
    bool full_first; /* see plan.h */
    /* Bytes of table memory that launch() uses for a batch of so many items, if
     * it has as many, with all_items under way. Fewer items can want more: they
     * are cut. */
    size_t (*table_bytes)(size_t items, size_t all_items, uint32_t sms);
    /* Queues the kernel for the items of a batch. These must stay in device
     * memory until it is done. The batch's table has `table_bytes` bytes, at
     * least as many as one item needs; the fewer they are below table_bytes(),
     * the longer it takes. By all_items it is decided whether items are cut,
     * and whether short ones have one block for both primes. Without items it
     * queues nothing, and has the driver load the code for an item of one
     * request. Returns a cudaError_t, of the launch itself. */
    int (*launch)(const warprsa_fold_batch *batch, size_t table_bytes,
                  struct CUstream_st *stream);
} warprsa_fold_kernel;

/* Blocks stay and take one item after the other, and so do launches, so more
 * than fit at once are of no use. */
static inline uint32_t warprsa_fold_blocks(size_t items, uint32_t most)
{
    return items < most ? (uint32_t)items : most;
}

#ifdef __cplusplus
}
#endif
#endif
