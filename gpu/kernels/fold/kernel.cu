/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "fold" for one size class. RSA-4096 takes its two halves one after
 * the other (pair.cuh), the others both at once (fold.cuh). With few requests
 * each takes them in different blocks (roots.cuh).
 */
#include "gpu/kernels/instance.cuh"

#if WARPRSA_KERNEL_BITS == 2048
#define WARPRSA_FOLD_PAIR_LIMBS 20
#elif WARPRSA_KERNEL_BITS == 3072
#define WARPRSA_FOLD_PAIR_LIMBS 30
#endif

/* Blocks that make the roots of an item that is cut: one for each prime and 64
 * requests. Those of RSA-4096 can have 128. */
#if WARPRSA_KERNEL_BITS == 2048
#define WARPRSA_FOLD_CUTS     2
#define WARPRSA_FOLD_CUTS_MIN 2
#elif WARPRSA_KERNEL_BITS == 3072
#define WARPRSA_FOLD_CUTS     4
#define WARPRSA_FOLD_CUTS_MIN 4
#else
#define WARPRSA_FOLD_CUTS     4
#define WARPRSA_FOLD_CUTS_MIN 2
#endif

#if WARPRSA_KERNEL_BITS == 4096
#include "gpu/kernels/fold/pair.cuh"
#else
#include "gpu/kernels/fold/roots.cuh"
#endif

static constexpr warprsa_shape shape = WARPRSA_OF_BITS(WARPRSA_SHAPE_);

#if WARPRSA_KERNEL_BITS == 4096
typedef warprsa_fold_pair_shared whole;
#define WHOLE_KERNEL                                                           \
    warprsa_fold_pair_operations<shape.threads_per_number,                     \
                                 shape.limbs_per_thread>
#define REST_KERNEL                                                            \
    warprsa_fold_pair_rest<shape.threads_per_number, shape.limbs_per_thread>
static constexpr size_t whole_bytes = warprsa_fold_pair_scratch::ALL;
#else
typedef warprsa_fold_shared<shape.limbs> whole;
#define WHOLE_KERNEL                                                           \
    warprsa_fold_operations<shape.limbs, shape.threads_per_number,             \
                            shape.limbs_per_thread, false>
#define REST_KERNEL                                                            \
    warprsa_fold_operations<shape.limbs, shape.threads_per_number,             \
                            shape.limbs_per_thread, true>
static constexpr size_t whole_bytes = warprsa_fold_scratch<shape.limbs>::ALL;
#endif

static constexpr size_t roots_bytes = warprsa_fold_pair_scratch::ALL;

static_assert(WARPRSA_FOLD_CUTS_MIN * roots_bytes >= whole_bytes,
              "where roots have been made, there is room for the rest");

/* A warprsa_fold_kernel's launch(): with more blocks than items, the roots are
 * made first. */
static cudaError_t launch(const warprsa_fold_batch *batch, uint32_t blocks,
                          cudaStream_t stream)
{
    const uint32_t parts = warprsa_fold_roots_parts(batch, blocks);
    cudaError_t error;

    if (parts == 0)
        return warprsa_launch_fold<whole, WHOLE_KERNEL>(batch, blocks, stream);
    error =
        warprsa_launch_fold_roots<shape.threads_per_number,
                                  shape.limbs_per_thread>(batch, parts, stream);
    return error != cudaSuccess ? error
                                : warprsa_launch_fold<whole, REST_KERNEL>(
                                      batch, batch->item_count, stream);
}

extern "C" const warprsa_fold_kernel WARPRSA_OF_BITS(warprsa_fold_kernel_) = {
    .name = WARPRSA_KERNEL_FOLD,
    .launch = launch,
    .table_bytes = whole_bytes,
    .blocks_per_sm = whole::BLOCKS,
    .waves = 1,
    .cuts = WARPRSA_FOLD_CUTS,
    .cuts_min = WARPRSA_FOLD_CUTS_MIN,
    .cut_blocks_per_sm = warprsa_fold_pair_shared::BLOCKS,
    .cut_bytes = roots_bytes,
    .item_max = whole::THREADS / 2,
    .item_min = whole::THREADS / 2 / WARPRSA_FOLD_ITEM_SHARE_MIN,
    .short_max = 0,
    .short_share = 1,
};
