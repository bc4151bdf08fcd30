/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See candidates.h.
 */
#include "gpu/select/candidates.h"

#include <assert.h>

#include "gpu/kernels/fold_common/fold_kernel.h"
#include "gpu/kernels/kernels.h"

static_assert((WARPRSA_KERNELS + WARPRSA_FOLD_KERNELS) * WARPRSA_CLASS_LARGE <=
                  WARPRSA_KERNEL_TIMINGS_MAX,
              "a row for each class of each kernel and of each fold");

static void add(warprsa_kernel_timings *candidates, int size,
                const char *kernel, uint32_t wave)
{
    candidates->row[candidates->count++] = (warprsa_kernel_timing){
        .size = (warprsa_size_class)size, .kernel = kernel, .wave = wave};
}

/* Requests that a row of a fold is measured with. Where a kernel has several
 * waves at the same time, blocks of the next one start while others end: two
 * waves together take less than twice one. */
static uint32_t fold_wave(const warprsa_fold_kernel *kernel, unsigned sms)
{
    const uint32_t waves = kernel->waves < 2 ? 1 : 2;

    return waves * kernel->item_max * kernel->blocks_per_sm * sms;
}

void warprsa_candidates(warprsa_kernel_timings *candidates, unsigned sms,
                        unsigned fold_sms)
{
    candidates->count = 0;
    for (int i = 0; i < WARPRSA_KERNELS; i++)
        for (int size = 0; size < WARPRSA_CLASS_LARGE; size++) {
            const warprsa_kernel *kernel = &warprsa_kernels[i];

            if (kernel->at_once != NULL && kernel->launch[size] != NULL)
                add(candidates, size, kernel->name,
                    kernel->at_once((warprsa_size_class)size) * sms);
        }
    for (int i = 0; fold_sms != 0 && i < WARPRSA_FOLD_KERNELS; i++)
        for (int size = 0; size < WARPRSA_CLASS_LARGE; size++) {
            const warprsa_fold_kernel *kernel =
                warprsa_fold_kernel_for((warprsa_size_class)size, i);

            if (kernel != NULL)
                add(candidates, size, kernel->name,
                    fold_wave(kernel, fold_sms));
        }
}
