/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See estimate.h.
 */
#include "gpu/select/estimate.h"

#include <math.h>
#include <stddef.h>

enum {
    HOPPER = 90,
    /* The H200 that kernels are measured on. */
    HOPPER_SMS = 132,
    HOPPER_KHZ = 1980000,
};

/* A kernel that takes more clocks than this many times those on a Hopper waits
 * for a unit that the GPU has few of. */
#define SLOWDOWN_MAX 2.0

/* So many times the time of kernels for limbs the others may take: only they
 * include kernels for few requests. */
#define MARGIN 1.25

/* By compute capability. `doubles` and `multiplies` are from "Throughput of
 * Native Arithmetic Instructions" in NVIDIA's CUDA C++ Best Practices Guide
 * 13.0. `bytes` is measured on 9.0; elsewhere it follows from the dense INT8
 * rate that NVIDIA gives of a card, its SMs and its boost clock. 10.0 and 11.0
 * reach that rate by tcgen05 alone, so for mma.sync they have that of 8.0,
 * which is a guess. doc/kernels/cards.md has the cards. */
static const struct {
    uint32_t capability;
    warprsa_throughput of;
} known[] = {
    {80, {32, 2048, 64}}, {86, {2, 1024, 64}},      {87, {2, 2048, 64}},
    {89, {2, 1024, 64}},  {HOPPER, {64, 2700, 64}}, {100, {64, 2048, 64}},
    {103, {2, 256, 64}},  {110, {2, 2048, 64}},     {120, {2, 1024, 64}},
    {121, {2, 1024, 64}},
};

/* The least of those above, since nothing is known. */
static const warprsa_throughput unknown = {2, 256, 64};

/* Multiply-adds in single precision by an SM in a clock. */
static double singles_of(uint32_t capability)
{
    return capability == 80 ? 64 : 128;
}

warprsa_kernel_list warprsa_all_kernels(void)
{
    return (warprsa_kernel_list){warprsa_kernels, WARPRSA_KERNELS};
}

warprsa_throughput warprsa_throughput_of(const warprsa_gpu *gpu)
{
    warprsa_throughput found = unknown;

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].capability == gpu->capability)
            found = known[i].of;
    /* Cards of one capability may differ in it. */
    if (gpu->singles_per_double != 0)
        found.doubles = singles_of(gpu->capability) / gpu->singles_per_double;
    return found;
}

double warprsa_slowdown(const warprsa_kernel *kernel, const warprsa_gpu *gpu)
{
    const warprsa_gpu hopper = {.capability = HOPPER};
    const warprsa_throughput here = warprsa_throughput_of(gpu);
    const warprsa_throughput there = warprsa_throughput_of(&hopper);
    const warprsa_kernel_needs *needs = &kernel->needs;

    return needs->doubles * there.doubles / here.doubles +
           needs->bytes * there.bytes / here.bytes +
           needs->multiplies * there.multiplies / here.multiplies +
           (1 - needs->doubles - needs->bytes - needs->multiplies);
}

/* Operations in a second on the H200. */
static double rate_on_hopper(const warprsa_kernel *kernel,
                             warprsa_size_class size)
{
    if (size >= WARPRSA_CLASS_LARGE)
        return 0;
    if (kernel->known == NULL || kernel->known->of[size].wave == 0)
        return kernel->needs.per_second[size];
    return 1e6 * kernel->known->of[size].wave / kernel->known->of[size].wave_us;
}

double warprsa_estimate(const warprsa_kernel *kernel, const warprsa_gpu *gpu,
                        warprsa_size_class size)
{
    if (!warprsa_kernel_runs(kernel, gpu))
        return 0;
    return rate_on_hopper(kernel, size) * gpu->sms / HOPPER_SMS *
           gpu->clock_khz / HOPPER_KHZ / warprsa_slowdown(kernel, gpu);
}

bool warprsa_kernel_suits(const warprsa_kernel *kernel, const warprsa_gpu *gpu,
                          bool int32_keys)
{
    return (kernel->either_keys || kernel->int32_keys == int32_keys) &&
           warprsa_kernel_runs(kernel, gpu) &&
           warprsa_slowdown(kernel, gpu) <= SLOWDOWN_MAX &&
           (kernel->second_to == NULL ||
            !warprsa_kernel_suits(kernel->second_to, gpu, int32_keys));
}

/* In proportion to the time of an operation of RSA-2048 that shares its key
 * with many others and of one that does not, by the kernels for keys of this
 * form. */
static double time_of_two(warprsa_kernel_list kernels, const warprsa_gpu *gpu,
                          bool int32_keys)
{
    double any = 0, shared = 0;

    for (int i = 0; i < kernels.count; i++) {
        const warprsa_kernel *kernel = kernels.kernel[i];
        double rate;

        if (!warprsa_kernel_suits(kernel, gpu, int32_keys))
            continue;
        /* SMs and clock are the same for all. */
        rate = rate_on_hopper(kernel, WARPRSA_CLASS_2048) /
               warprsa_slowdown(kernel, gpu);
        if (!kernel->shares_key)
            any = fmax(any, rate);
        shared = fmax(shared, rate);
    }
    return any == 0 ? INFINITY : 1 / any + 1 / shared;
}

bool warprsa_prefers_int32_keys(warprsa_kernel_list kernels,
                                const warprsa_gpu *gpu)
{
    return MARGIN * time_of_two(kernels, gpu, true) <
           time_of_two(kernels, gpu, false);
}

const warprsa_kernel *warprsa_only_kernel(warprsa_kernel_list kernels,
                                          const warprsa_gpu *gpu,
                                          bool int32_keys)
{
    const warprsa_kernel *only = NULL;

    for (int i = 0; i < kernels.count; i++) {
        if (!warprsa_kernel_suits(kernels.kernel[i], gpu, int32_keys))
            continue;
        if (only != NULL)
            return NULL;
        only = kernels.kernel[i];
    }
    return only;
}
