/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The host engine: the devices' arithmetic on the CPU, one lane after another.
 * It tests the arithmetic where there is no GPU, or no AVX-512; it is not meant
 * to be fast. It has the kernels "int32", "thread" and "low_latency", and
 * "ifma", the arithmetic of that engine in plain C. By default, and under every
 * other name, it computes as "cooperative" does.
 */
#include <stdio.h>
#include <string.h>

#include "gpu/fault.h"
#include "gpu/host/device.h"
#include "gpu/kernels/kernel_names.h"

static unsigned host_count(char *why, size_t why_size)
{
    if (warprsa_fault_active(WARPRSA_FAULT_NODEVICE)) {
        snprintf(why, why_size, "no device (fault injected)");
        return 0;
    }
    return 1;
}

static const warprsa_host_arithmetic *arithmetic_of(const char *kernel)
{
    static const struct {
        const char *name;
        const warprsa_host_arithmetic *arithmetic;
    } known[] = {
        {WARPRSA_KERNEL_INT32, &warprsa_host_int32},
        {WARPRSA_KERNEL_THREAD, &warprsa_host_thread},
        {WARPRSA_KERNEL_LOW_LATENCY, &warprsa_host_low_latency},
        {WARPRSA_KERNEL_IFMA, &warprsa_host_ifma},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (kernel != NULL && strcmp(kernel, known[i].name) == 0)
            return known[i].arithmetic;
    return &warprsa_host_cooperative;
}

static warprsa_status host_open(const warprsa_device_config *config,
                                warprsa_device **device, char *why,
                                size_t why_size)
{
    return warprsa_host_open(warprsa_engine_host(),
                             arithmetic_of(config->kernel), config, device, why,
                             why_size);
}

const warprsa_engine *warprsa_engine_host(void)
{
    static const warprsa_engine engine = {
        .name = "host",
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
