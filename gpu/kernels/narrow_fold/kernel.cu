/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "narrow_fold" for one size class: RSA-2048, RSA-3072 or RSA-4096.
 */
#include "gpu/kernels/instance.cuh"
#include "gpu/kernels/narrow_fold/narrow_fold.cuh"

extern "C" const warprsa_fold_kernel
    WARPRSA_OF_BITS(warprsa_narrow_fold_kernel_) = {
        .in_integers = false,
        .item_max = WARPRSA_NARROW_NUMBERS,
        .item_min = 1,
        .short_max = WARPRSA_NARROW_SHORT,
        .short_share = (double)WARPRSA_NARROW_TIME_OF_BOTH /
                       (2 * WARPRSA_NARROW_TIME),
        .short_capability = 90,
        /* Blocks of the next wave start while others end: two waves together
         * take less than twice one. */
        .items_per_sm = 2 * ITEMS_PER_SM,
        .items_per_sm_max = ITEMS_PER_SM_MAX,
        .full_first = false,
        .table_bytes = warprsa_narrow_table_bytes,
        .launch = warprsa_launch_narrow_fold,
};
