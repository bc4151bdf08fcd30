/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is known of the kernel "int32_fold" before it is launched: as "fold",
 * without floating point.
 */
#include "gpu/kernels/kernels.h"

#include "gpu/kernels/fold_common/fold_kernel.h"

extern const warprsa_fold_kernel warprsa_int32_fold_kernel_2048,
    warprsa_int32_fold_kernel_3072, warprsa_int32_fold_kernel_4096;

static uint32_t at_once(warprsa_size_class size)
{
    const warprsa_fold_kernel *fold = warprsa_kernel_int32_fold.fold[size];

    return fold->items_per_sm * fold->item_max;
}

/* `needs` is of a prototype of the power on an H100: of the clocks that its
 * instructions hold the dispatch for, multiplications and tensor cores have
 * these parts. The rates are measured there, 50,688 requests of one key. With
 * the folds in double precision beside it a Hopper was 4 percent slower than
 * with these alone. */
const warprsa_kernel warprsa_kernel_int32_fold = {
    .name = "int32_fold",
    .needs = {.bytes = 0.22,
              .multiplies = 0.51,
              .per_second = {0, 2357000, 783000, 327000}},
    .int32_keys = true,
    .shares_key = true,
    .either_keys = true,
    .second_to = &warprsa_kernel_fold,
    .growth = WARPRSA_GROWS_BY_WAVES,
    .at_once = at_once,
    .fold = {[WARPRSA_CLASS_2048] =
                 WARPRSA_OF_CUDA(&warprsa_int32_fold_kernel_2048),
             [WARPRSA_CLASS_3072] =
                 WARPRSA_OF_CUDA(&warprsa_int32_fold_kernel_3072),
             [WARPRSA_CLASS_4096] =
                 WARPRSA_OF_CUDA(&warprsa_int32_fold_kernel_4096)},
};
