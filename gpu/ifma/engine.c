/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The engine for CPUs with AVX-512 IFMA: eight requests at a time, one in each
 * lane of 64 bits.
 */
#include <stdio.h>

#include "gpu/fault.h"
#include "gpu/host/device.h"

#ifdef WARPRSA_HAVE_IFMA
extern const warprsa_host_arithmetic warprsa_ifma_arithmetic;

/* Of the processor, and of the system, which must save the registers. */
static const char *missing(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512ifma"))
        return NULL;
    return "this CPU, or the system on it, has no AVX-512 IFMA";
}

static warprsa_status ifma_open(const warprsa_device_config *config,
                                warprsa_device **device, char *why,
                                size_t why_size)
{
    const char *reason = missing();

    *device = NULL;
    if (reason != NULL) {
        snprintf(why, why_size, "%s", reason);
        return WARPRSA_NO_DEVICE;
    }
    return warprsa_host_open(warprsa_engine_ifma(), &warprsa_ifma_arithmetic,
                             config, device, why, why_size);
}
#else
static const char *missing(void)
{
    return "not in this build: it needs x86-64 and a compiler that knows "
           "AVX-512 IFMA";
}

static warprsa_status ifma_open(const warprsa_device_config *config,
                                warprsa_device **device, char *why,
                                size_t why_size)
{
    (void)config;
    *device = NULL;
    snprintf(why, why_size, "%s", missing());
    return WARPRSA_NO_DEVICE;
}
#endif

static unsigned ifma_count(char *why, size_t why_size)
{
    const char *reason = warprsa_fault_active(WARPRSA_FAULT_NODEVICE)
                             ? "no device (fault injected)"
                             : missing();

    if (reason != NULL)
        snprintf(why, why_size, "%s", reason);
    return reason == NULL ? 1 : 0;
}

const warprsa_engine *warprsa_engine_ifma(void)
{
    static const warprsa_engine engine = {
        .name = "ifma",
        .classes = WARPRSA_CLASSES,
        .count = ifma_count,
        .open = ifma_open,
        .close = warprsa_host_close,
        .describe = warprsa_host_describe,
        .load_key = warprsa_host_load_key,
        .unload_key = warprsa_host_unload_key,
        .start = warprsa_host_start,
        .wait = warprsa_host_wait,
        .self_test = warprsa_host_self_test,
    };

    return &engine;
}
