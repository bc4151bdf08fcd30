/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The host engine: the devices' arithmetic on the CPU, one lane after another.
 * It tests the arithmetic where there is no GPU, or no AVX-512; it is not meant
 * to be fast.
 */
#include <stdio.h>

#include "gpu/fault.h"
#include "gpu/host/device.h"

/* Of the processor, and of the system, which must save the registers. */
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
    const char *reason = warprsa_fault_active(WARPRSA_FAULT_NODEVICE)
                             ? "no device (fault injected)"
                             : missing();

    if (reason != NULL)
        snprintf(why, why_size, "%s", reason);
    return reason == NULL ? 1 : 0;
}

static warprsa_status host_open(const warprsa_device_config *config,
                                warprsa_device **device, char *why,
                                size_t why_size)
{
    const char *reason = missing();

    *device = NULL;
    if (reason != NULL) {
        snprintf(why, why_size, "%s", reason);
        return WARPRSA_NO_DEVICE;
    }
    return warprsa_host_open(warprsa_engine_host(),
                             warprsa_host_arithmetic_of(config->kernel), config,
                             device, why, why_size);
}

const warprsa_engine *warprsa_engine_host(void)
{
    static const warprsa_engine engine = {
        .name = "host",
        .classes = WARPRSA_CLASSES,
        .count = host_count,
        .open = host_open,
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
