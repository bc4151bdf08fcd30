/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The devices of the engines that compute on the CPU, "host" and "ifma". Each
 * such engine has one. A batch is computed by the thread that starts it, before
 * start() returns; wait() reports. Streams compute in different threads at the
 * same time and share nothing but keys.
 *
 * The functions are those of warprsa_engine, whose description is theirs.
 */
#ifndef WARPRSA_GPU_CPU_CPU_DEVICE_H
#define WARPRSA_GPU_CPU_CPU_DEVICE_H

#include "gpu/kernels/host_arithmetic.h"

/* What blinds full batches is kept so many times, by all keys and streams of a
 * device together. That is 5 MiB at most, however many keys a client brings. */
enum {
    WARPRSA_HOST_BLINDINGS_MAX = 256
};

/* As warprsa_engine's count(): one device. None where `missing` is not NULL,
 * which says what this machine lacks for it. */
unsigned warprsa_host_count(const char *missing, char *why, size_t why_size);

/* Opens the device of `engine`, if it counts one, which computes with
 * `arithmetic`. Both must live until close(). `name` is what it is called, in
 * 40 characters at most. Otherwise as warprsa_engine's open(). */
warprsa_status warprsa_host_open(const warprsa_engine *engine,
                                 const warprsa_host_arithmetic *arithmetic,
                                 const char *name,
                                 const warprsa_device_config *config,
                                 warprsa_device **out, char *why,
                                 size_t why_size);

bool warprsa_host_close(warprsa_device *device);

/* "CPU (host 0)", where "CPU" is the name that it was opened with. */
const char *warprsa_host_describe(const warprsa_device *device);

warprsa_status warprsa_host_load_key(warprsa_device *device,
                                     const warprsa_private_key *key,
                                     uint32_t *index);

warprsa_status warprsa_host_unload_key(warprsa_device *device, uint32_t index);

warprsa_status warprsa_host_start(warprsa_device *device, unsigned stream,
                                  warprsa_size_class size, warprsa_task *tasks,
                                  size_t count);

warprsa_status warprsa_host_wait(warprsa_device *device, unsigned stream,
                                 unsigned timeout_ms);

warprsa_status warprsa_host_self_test(warprsa_device *device, unsigned stream);

warprsa_status warprsa_host_test_class(warprsa_device *device, unsigned stream,
                                       warprsa_size_class size);

/* The warprsa_engine with these two functions and the ones above. */
#define WARPRSA_CPU_ENGINE(its_name, its_count, its_open)                      \
    {                                                                          \
        .name = (its_name), .classes = WARPRSA_CLASSES, .count = (its_count),  \
        .open = (its_open), .close = warprsa_host_close,                       \
        .describe = warprsa_host_describe, .load_key = warprsa_host_load_key,  \
        .unload_key = warprsa_host_unload_key, .computes_in_start = true,      \
        .start = warprsa_host_start, .wait = warprsa_host_wait,                \
        .self_test = warprsa_host_self_test,                                   \
        .test_class = warprsa_host_test_class,                                 \
    }

#endif
