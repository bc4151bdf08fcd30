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

static unsigned host_count(char *why, size_t why_size)
{
    if (warprsa_fault_active(WARPRSA_FAULT_NODEVICE)) {
        snprintf(why, why_size, "no device (fault injected)");
        return 0;
    }
    return 1;
}

static warprsa_status host_open(const warprsa_device_config *config,
                                warprsa_device **device, char *why,
                                size_t why_size)
{
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
