/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is known of the kernel "narrow_fold" before it is launched: as "fold",
 * for fewer requests of a key.
 */
#include "gpu/kernels/kernels.h"

#include "gpu/kernels/fold_common/fold_kernel.h"

extern const warprsa_fold_kernel warprsa_narrow_fold_kernel_2048,
    warprsa_narrow_fold_kernel_3072, warprsa_narrow_fold_kernel_4096;

static uint32_t at_once(warprsa_size_class size)
{
    const warprsa_fold_kernel *fold = warprsa_kernel_narrow_fold.fold[size];

    return fold->items_per_sm * fold->item_max;
}

/* doc/kernels/README.md says what they were measured with, and why RSA-2048 has
 * 3450 us. */
static const warprsa_known_timings known[] = {
    {"NVIDIA H200",
     {[WARPRSA_CLASS_2048] = {4224, 710, 1900, 3450},
      [WARPRSA_CLASS_3072] = {2112, 2012, 3035, 5903},
      [WARPRSA_CLASS_4096] = {2112, 3229, 6150, 12109}}},
    {"NVIDIA H100 80GB HBM3",
     {[WARPRSA_CLASS_2048] = {4224, 698, 1866, 3450},
      [WARPRSA_CLASS_3072] = {2112, 2153, 3020, 5901},
      [WARPRSA_CLASS_4096] = {2112, 3272, 6351, 12457}}},
    {0},
};

const warprsa_kernel warprsa_kernel_narrow_fold = {
    .name = "narrow_fold",
    .needs = {.fp64 = true, .doubles = 0.40, .bytes = 0.20},
    .shares_key = true,
    .growth = WARPRSA_GROWS_EVENLY,
    .at_once = at_once,
    .known = known,
    .fold = {[WARPRSA_CLASS_2048] =
                 WARPRSA_OF_FP64(&warprsa_narrow_fold_kernel_2048),
             [WARPRSA_CLASS_3072] =
                 WARPRSA_OF_FP64(&warprsa_narrow_fold_kernel_3072),
             [WARPRSA_CLASS_4096] =
                 WARPRSA_OF_FP64(&warprsa_narrow_fold_kernel_4096)},
};
