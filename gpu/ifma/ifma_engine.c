/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The engine for CPUs with AVX-512 IFMA: eight requests at a time, one in each
 * lane of 64 bits.
 */
#include <stdio.h>

#include "gpu/cpu/cpu_device.h"

#ifdef WARPRSA_HAVE_IFMA
extern const warprsa_host_arithmetic warprsa_ifma_arithmetic;
static const warprsa_host_arithmetic *const arithmetic =
    &warprsa_ifma_arithmetic;

/* What the processor lacks, or the system, which must save the registers. */
static const char *missing(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512ifma"))
        return NULL;
    return "this CPU, or the system on it, has no AVX-512 IFMA";
}
#else
static const warprsa_host_arithmetic *const arithmetic = NULL;

static const char *missing(void)
{
    return "not in this build: it needs x86-64 and a compiler that knows "
           "AVX-512 IFMA";
}
#endif

static unsigned ifma_count(char *why, size_t why_size)
{
    return warprsa_host_count(missing(), why, why_size);
}

/* Each stream is a thread's. */
static warprsa_status ifma_open(const warprsa_device_config *config,
                                warprsa_device **device, char *why,
                                size_t why_size)
{
    char name[64];

    snprintf(name, sizeof(name), "AVX-512 IFMA, %d lanes, %u threads",
             WARPRSA_IFMA_LANES, config->streams);
    return warprsa_host_open(warprsa_engine_ifma(), arithmetic, name, config,
                             device, why, why_size);
}

const warprsa_engine *warprsa_engine_ifma(void)
{
    static const warprsa_engine engine =
        WARPRSA_CPU_ENGINE("ifma", ifma_count, ifma_open);

    return &engine;
}
