/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See candidates.h.
 */
#include "gpu/select/candidates.h"

#include "gpu/select/estimate.h"

void warprsa_candidates(warprsa_kernel_timings *candidates,
                        const warprsa_gpu *gpu, bool int32_keys)
{
    candidates->count = 0;
    for (int i = 0; i < WARPRSA_KERNELS; i++)
        for (int c = 0; c < WARPRSA_CLASS_LARGE; c++) {
            const warprsa_kernel *kernel = warprsa_kernels[i];
            const warprsa_size_class size = (warprsa_size_class)c;

            if (warprsa_kernel_suits(kernel, gpu, int32_keys) &&
                warprsa_kernel_takes(kernel, gpu, size))
                candidates->row[candidates->count++] = (warprsa_kernel_timing){
                    .size = size,
                    .kernel = kernel,
                    .wave = kernel->at_once(size) * gpu->sms};
        }
}
