/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of the kernels, and what a GPU can do with them.
 */
#include "gpu/kernels/kernels.h"

#include <string.h>

/* From here on integers are faster than doubles. */
#define SINGLES_PER_DOUBLE_MIN 8

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

bool warprsa_kernel_takes(const warprsa_kernel *kernel, const warprsa_gpu *gpu,
                          warprsa_size_class size)
{
    return (kernel->needs != WARPRSA_NEEDS_SM_90A || gpu->capability == 90) &&
           (kernel->launch[size] != NULL || kernel->fold[size] != NULL);
}

const warprsa_kernel *warprsa_kernel_for_gpu(const warprsa_gpu *gpu)
{
    for (int i = 0; i < WARPRSA_KERNELS; i++)
        if (warprsa_kernels[i]->needs == WARPRSA_NEEDS_INTEGERS &&
            gpu->singles_per_double >= SINGLES_PER_DOUBLE_MIN)
            return warprsa_kernels[i];
    return NULL;
}
