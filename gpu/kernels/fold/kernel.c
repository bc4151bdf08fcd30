/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is known of the kernel "fold" before it is launched: requests of one key
 * share matrices on tensor cores, 64 or 128 of them at a time.
 */
#include "gpu/kernels/kernels.h"

#include "gpu/kernels/fold_common/fold_kernel.h"

extern const warprsa_fold_kernel warprsa_fold_kernel_2048,
    warprsa_fold_kernel_3072, warprsa_fold_kernel_4096;

static uint32_t at_once(warprsa_size_class size)
{
    const warprsa_fold_kernel *fold = warprsa_kernel_fold.fold[size];

    return fold->items_per_sm * fold->item_max;
}

/* doc/kernels/README.md says what they were measured with. */
static const warprsa_known_timings known[] = {
    {"NVIDIA H200",
     {[WARPRSA_CLASS_2048] = {16896, 3320, 4649, 6623},
      [WARPRSA_CLASS_3072] = {16896, 8586, 14577, 20476},
      [WARPRSA_CLASS_4096] = {16896, 14930, 24849, 47143}}},
    {"NVIDIA H100 80GB HBM3",
     {[WARPRSA_CLASS_2048] = {16896, 3200, 4707, 6544},
      [WARPRSA_CLASS_3072] = {16896, 8923, 14448, 20309},
      [WARPRSA_CLASS_4096] = {16896, 15297, 24303, 45765}}},
    {0},
};

const warprsa_kernel warprsa_kernel_fold = {
    .name = "fold",
    .needs = {.capability = 90, .doubles = 0.50, .bytes = 0.17},
    .shares_key = true,
    .growth = WARPRSA_GROWS_BY_ITEMS,
    .at_once = at_once,
    .known = known,
    .fold =
        {[WARPRSA_CLASS_2048] = WARPRSA_OF_SM_90A(&warprsa_fold_kernel_2048),
         [WARPRSA_CLASS_3072] = WARPRSA_OF_SM_90A(&warprsa_fold_kernel_3072),
         [WARPRSA_CLASS_4096] = WARPRSA_OF_SM_90A(&warprsa_fold_kernel_4096)},
};
