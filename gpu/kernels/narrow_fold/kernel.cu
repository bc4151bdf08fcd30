/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "narrow_fold" for one size class: RSA-2048, RSA-3072 or RSA-4096.
 */
#include "gpu/kernels/instance.cuh"
#include "gpu/kernels/narrow_fold/narrow_fold.cuh"

extern "C" const warprsa_fold_kernel
    WARPRSA_OF_BITS(warprsa_narrow_fold_kernel_) = {
        .name = WARPRSA_KERNEL_NARROW_FOLD,
        .launch = warprsa_launch_narrow_fold,
        .table_bytes = sizeof(warprsa_narrow_item),
        /* With one block an SM, an item's two blocks are on two SMs. */
        .blocks_per_sm = MANY > 1 ? MANY / 2 : 1,
        .waves = MANY > 1 ? 4 : 2,
        .cuts = 1,
        .cuts_min = 1,
        .cut_blocks_per_sm = 1,
        .cut_bytes = 0,
        .item_max = WARPRSA_NARROW_NUMBERS,
        .item_min = 1,
        .short_max = WARPRSA_NARROW_SHORT,
        .short_share = (double)WARPRSA_NARROW_TIME_OF_BOTH /
                       (2 * WARPRSA_NARROW_TIME),
};
