/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernels that the host engine has in tests and benchmarks: "int32",
 * "thread", "low_latency" and "narrow_fold", and "ifma", the arithmetic of that
 * engine in plain C. By default, and under every other name, it computes as
 * "cooperative" does.
 */
#include <string.h>

#include "gpu/kernels/host_arithmetic.h"
#include "gpu/kernels/kernel_names.h"

const warprsa_host_arithmetic *warprsa_host_arithmetic_of(const char *kernel)
{
    static const struct {
        const char *name;
        const warprsa_host_arithmetic *arithmetic;
    } known[] = {
        {WARPRSA_KERNEL_INT32, &warprsa_host_int32},
        {WARPRSA_KERNEL_THREAD, &warprsa_host_thread},
        {WARPRSA_KERNEL_LOW_LATENCY, &warprsa_host_low_latency},
        {WARPRSA_KERNEL_NARROW_FOLD, &warprsa_host_narrow_fold},
        {WARPRSA_KERNEL_IFMA, &warprsa_host_ifma},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (kernel != NULL && strcmp(kernel, known[i].name) == 0)
            return known[i].arithmetic;
    return &warprsa_host_cooperative;
}
