/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See proof.h.
 */
#include "gpu/select/proof.h"

/* Returns how many of the rows before `at` are left. */
static size_t leave_out(warprsa_kernel_timings *timings,
                        const warprsa_kernel *kernel, size_t at)
{
    size_t kept = 0, before = 0;

    for (size_t i = 0; i < timings->count; i++) {
        if (timings->row[i].kernel == kernel)
            continue;
        before += i < at;
        timings->row[kept++] = timings->row[i];
    }
    timings->count = kept;
    return before;
}

warprsa_status warprsa_prove_kernels(warprsa_kernel_timings *timings,
                                     warprsa_kernel_test test, void *arg,
                                     warprsa_wrong_kernels *wrong)
{
    size_t i = 0;

    wrong->count = 0;
    while (i < timings->count) {
        const warprsa_kernel *kernel = timings->row[i].kernel;
        const warprsa_status status = test(arg, timings->row[i].size, kernel);

        if (status == WARPRSA_OK) {
            i++;
            continue;
        }
        if (status != WARPRSA_CHECK_FAILED || !kernel->shares_key)
            return status;
        wrong->kernel[wrong->count++] = kernel;
        i = leave_out(timings, kernel, i);
    }
    return WARPRSA_OK;
}
