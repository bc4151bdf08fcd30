/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "int32_fold" for one size class: RSA-2048, RSA-3072 or RSA-4096.
 */
#include "gpu/kernels/instance.cuh"
#include "gpu/kernels/int32_fold/int32_fold.cuh"

static constexpr int LIMBS = WARPRSA_KERNEL_BITS / 64;

extern "C" const warprsa_fold_kernel
    WARPRSA_OF_BITS(warprsa_int32_fold_kernel_) = {
        .in_integers = true,
        .item_max = warprsa_int_fold_block<LIMBS>::THREADS,
        .item_min = WARPRSA_INT_FOLD_PIECE / 4,
        .short_max = 0,
        .short_share = 1,
        .short_capability = 0,
        .items_per_sm = warprsa_int_fold_block<LIMBS>::BLOCKS,
        .items_per_sm_max = 0,
        .full_first = true,
        .table_bytes = warprsa_int_fold_table_bytes<LIMBS>,
        .launch = warprsa_launch_int_fold<LIMBS>,
};
