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

/* Blocks that make the roots of an item that is cut: one for each prime and 64
 * requests. Blocks of RSA-4096 can have 128 requests. */
static constexpr uint32_t CUTS = WARPRSA_KERNEL_BITS == 2048 ? 2 : 4;
static constexpr uint32_t CUTS_MIN = WARPRSA_KERNEL_BITS == 3072 ? 4 : 2;

static_assert(CUTS_MIN * roots_bytes >= whole_bytes,
              "where roots have been made, there is room for the rest");

/* A block with fewer requests than one part in so many of the most that it can
 * have takes as long, and is not even considered. */
static constexpr uint32_t ITEM_SHARE_MIN = 4;

/* Blocks that each item is cut into; 0: items are whole. With the blocks of all
 * items under way these must fit at once, and have table memory. */
static uint32_t cuts_of(size_t items, size_t all_items, uint32_t sms,
                        size_t table_bytes)
{
    for (uint32_t cuts = CUTS; cuts >= CUTS_MIN; cuts /= 2)
        if (all_items * cuts <= warprsa_fold_pair_shared::BLOCKS * sms &&
            items * cuts * roots_bytes <= table_bytes)
            return cuts;
    return 0;
}

static size_t table_bytes(size_t items, size_t all_items, uint32_t sms)
{
    const uint32_t cuts = cuts_of(items, all_items, sms, SIZE_MAX);

    return cuts != 0
               ? items * cuts * roots_bytes
               : warprsa_fold_blocks(items, whole::BLOCKS * sms) * whole_bytes;
}

/* Where items are cut, their roots are made first. */
static int launch(const warprsa_fold_batch *batch, size_t table_bytes,
                  cudaStream_t stream)
{
    const uint32_t items = batch->item_count;
    const size_t room = table_bytes / whole_bytes;
    const uint32_t cuts =
        cuts_of(items, batch->all_items, batch->sms, table_bytes);
    cudaError_t error;

    if (items == 0)
        return warprsa_load_code(
            warprsa_fold_make_roots<shape.threads_per_number,
                                    shape.limbs_per_thread>,
            REST_KERNEL);
    if (cuts == 0)
        return warprsa_launch_fold<whole, WHOLE_KERNEL>(
            batch,
            warprsa_fold_blocks(room < items ? room : items,
                                whole::BLOCKS * batch->sms),
            stream);
    error = warprsa_launch_fold_roots<shape.threads_per_number,
                                      shape.limbs_per_thread>(batch, cuts / 2,
                                                              stream);
    return error != cudaSuccess
               ? error
               : warprsa_launch_fold<whole, REST_KERNEL>(batch, items, stream);
}

extern "C" const warprsa_fold_kernel WARPRSA_OF_BITS(warprsa_fold_kernel_) = {
    .in_integers = false,
    .item_max = whole::THREADS / 2,
    .item_min = whole::THREADS / 2 / ITEM_SHARE_MIN,
    .short_max = 0,
    .short_share = 1,
    .short_capability = 0,
    .items_per_sm = whole::BLOCKS,
    .items_per_sm_max = 0,
    .full_first = false,
    .table_bytes = table_bytes,
    .launch = launch,
};
