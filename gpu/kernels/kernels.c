/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of the kernels, and which code runs on a GPU.
 */
#include "gpu/kernels/kernels.h"

#include <string.h>

const warprsa_kernel *const warprsa_kernels[WARPRSA_KERNELS] = {
#define WARPRSA_KERNEL(name) &warprsa_kernel_##name,
#include "gpu/kernels/kernel_list.h"
#undef WARPRSA_KERNEL
};

const warprsa_kernel *warprsa_kernel_named(const char *name)
{
    for (int i = 0; i < WARPRSA_KERNELS; i++)
        if (strcmp(name, warprsa_kernels[i]->name) == 0)
            return warprsa_kernels[i];
    return NULL;
}

bool warprsa_runs_machine_code(uint32_t capability, const uint32_t *of,
                               size_t count)
{
    const bool is_tegra = capability == 87; /* it runs none but its own */

    for (size_t i = 0; i < count; i++)
        if (of[i] == capability ||
            (!is_tegra && of[i] != 87 && of[i] / 10 == capability / 10 &&
             of[i] < capability))
            return true;
    return false;
}

/* Others of 8.x have 99 KB of shared memory in a block (8.7 has more), where
 * these have 163 KB and more. All others do hardly any double precision. */
static bool is_made_for_doubles(uint32_t capability)
{
    return capability == 80 || capability == 90 || capability == 100;
}

bool warprsa_kernel_runs(const warprsa_kernel *kernel, const warprsa_gpu *gpu)
{
    if (kernel->needs.fp64 && !is_made_for_doubles(gpu->capability))
        return false;
    return kernel->needs.capability == 0 ||
           kernel->needs.capability == gpu->capability;
}

bool warprsa_kernel_takes(const warprsa_kernel *kernel, const warprsa_gpu *gpu,
                          warprsa_size_class size)
{
    return warprsa_kernel_runs(kernel, gpu) &&
           (kernel->launch[size] != NULL || kernel->fold[size] != NULL);
}

const warprsa_kernel *warprsa_kernel_by_default(bool int32_keys)
{
    int i = 0;

    while (warprsa_kernels[i]->int32_keys != int32_keys ||
           warprsa_kernels[i]->shares_key)
        i++;
    return warprsa_kernels[i];
}
