/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The host engine: the devices' arithmetic on the CPU, one lane after another.
 * It tests the arithmetic where there is no GPU, or no AVX-512; it is not meant
 * to be fast.
 */
#include "gpu/cpu/cpu_device.h"

#include <stddef.h>

/* What the processor lacks, or the system, which must save the registers. */
static const char *missing(void)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("fma"))
        return "this CPU, or the system on it, has no fused multiply-add";
#endif
    return NULL;
}

static unsigned host_count(char *why, size_t why_size)
{
    return warprsa_host_count(missing(), why, why_size);
}

static warprsa_status host_open(const warprsa_device_config *config,
                                warprsa_device **device, char *why,
                                size_t why_size)
{
    return warprsa_host_open(warprsa_engine_host(),
                             warprsa_host_arithmetic_of(config->kernel), "CPU",
                             config, device, why, why_size);
}

const warprsa_engine *warprsa_engine_host(void)
{
    static const warprsa_engine engine =
        WARPRSA_CPU_ENGINE("host", host_count, host_open);

    return &engine;
}
