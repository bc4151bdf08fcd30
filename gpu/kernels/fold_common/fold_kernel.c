/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Launching the kernels "fold" and "narrow_fold"; fold_kernel.h describes the
 * functions.
 */
#include "gpu/kernels/fold_common/fold_kernel.h"

#include <string.h>

const warprsa_fold_kernel *warprsa_fold_kernel_for(warprsa_size_class size,
                                                   int which)
{
    static const warprsa_fold_kernel
        *const kernels[WARPRSA_CLASSES][WARPRSA_FOLD_KERNELS] = {
            [WARPRSA_CLASS_2048] = {&warprsa_fold_kernel_2048,
                                    &warprsa_narrow_fold_kernel_2048},
            [WARPRSA_CLASS_3072] = {&warprsa_fold_kernel_3072,
                                    &warprsa_narrow_fold_kernel_3072},
            [WARPRSA_CLASS_4096] = {&warprsa_fold_kernel_4096,
                                    &warprsa_narrow_fold_kernel_4096},
        };

    return kernels[size][which];
}

const warprsa_fold_kernel *warprsa_fold_kernel_named(const char *name,
                                                     warprsa_size_class size)
{
    for (int i = 0; i < WARPRSA_FOLD_KERNELS; i++) {
        const warprsa_fold_kernel *kernel = warprsa_fold_kernel_for(size, i);

        if (kernel != NULL && strcmp(name, kernel->name) == 0)
            return kernel;
    }
    return NULL;
}

uint32_t warprsa_fold_sms(int ordinal)
{
    int major = 0, minor = 0, count = 0;

    /* The instructions are those of 9.0 and of no other, not even newer ones
     * (sm_90a). */
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                               ordinal) != cudaSuccess ||
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor,
                               ordinal) != cudaSuccess ||
        cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount,
                               ordinal) != cudaSuccess ||
        major != 9 || minor != 0)
        return 0;
    return (uint32_t)count;
}

uint32_t warprsa_fold_items_at_once(const warprsa_fold_kernel *kernel,
                                    uint32_t sms)
{
    return kernel->waves * kernel->blocks_per_sm * sms;
}

/* Blocks stay and take one item after the other, and so do launches, so more
 * than fit at once are of no use. */
static uint32_t blocks_for(const warprsa_fold_kernel *kernel, size_t items,
                           uint32_t sms)
{
    const uint32_t most = warprsa_fold_items_at_once(kernel, sms);

    return items < most ? (uint32_t)items : most;
}

/* Blocks that so many of all items are cut into, if they have so much table
 * memory; 0 if they are not cut. */
static uint32_t cut_blocks(const warprsa_fold_kernel *kernel, uint32_t items,
                           size_t all, uint32_t sms, size_t table_bytes)
{
    const uint32_t most = kernel->cut_blocks_per_sm * sms;

    for (uint32_t cuts = kernel->cuts; cuts > 1 && cuts >= kernel->cuts_min;
         cuts /= 2)
        if (all * cuts <= most &&
            items * cuts * kernel->cut_bytes <= table_bytes)
            return items * cuts;
    return 0;
}

size_t warprsa_fold_table_bytes(const warprsa_fold_kernel *kernel, size_t count,
                                uint32_t sms)
{
    const size_t whole = blocks_for(kernel, count, sms) * kernel->table_bytes;
    const size_t most = kernel->cut_blocks_per_sm * sms;
    const size_t blocks =
        count * kernel->cuts < most ? count * kernel->cuts : most;
    const size_t cut = kernel->cuts > 1 ? blocks * kernel->cut_bytes : 0;

    return whole > cut ? whole : cut;
}

cudaError_t warprsa_fold_launch(const warprsa_fold_kernel *kernel,
                                const warprsa_batch *batch,
                                const warprsa_fold_item *items,
                                uint32_t item_count, size_t all_items,
                                uint32_t sms, size_t table_bytes,
                                cudaStream_t stream)
{
    const size_t room = table_bytes / kernel->table_bytes;
    const uint32_t cut =
        cut_blocks(kernel, item_count, all_items, sms, table_bytes);
    const warprsa_fold_batch fold = {
        .batch = *batch,
        .items = items,
        .item_count = item_count,
        .sms = sms,
        .all_items = all_items > item_count ? (uint32_t)all_items : item_count,
    };

    return kernel->launch(
        &fold,
        cut != 0
            ? cut
            : blocks_for(kernel, room < item_count ? room : item_count, sms),
        stream);
}
