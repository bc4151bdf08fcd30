/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "narrow_fold" for one size class, that of RSA-2048.
 */
#include "gpu/kernels/instance.cuh"
#include "gpu/kernels/narrow_fold/narrow_fold.cuh"

extern "C" const warprsa_fold_kernel
    WARPRSA_OF_BITS(warprsa_narrow_fold_kernel_) = {
        .name = WARPRSA_KERNEL_NARROW_FOLD,
        .launch = warprsa_launch_narrow_fold,
        .table_bytes = sizeof(warprsa_narrow_item),
        .blocks_per_sm = MANY / 2,
        .waves = 4,
        .item_max = WARPRSA_NARROW_NUMBERS,
        .item_min = 1,
};
