/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Opening and closing the engine's device: see device_opening.h.
 */
#include "batching/queue/device_opening.h"

#include <stdio.h>

#include "batching/base/clock.h"
#include "batching/queue/queue_core.h"
#include "batching/queue/router.h"

static const warprsa_engine *engine_of(const warprsa_queue_device *device)
{
    return device->from->engine;
}

bool warprsa_device_close(warprsa_queue_device *device)
{
    const bool wiped = engine_of(device)->close(device->handle);

    device->handle = NULL;
    return wiped;
}

/* For CPUs the time that this thread has used, since other threads may keep
 * them busy now. */
static uint64_t time_of(bool on_cpus)
{
    return on_cpus ? warprsa_thread_cpu_ns() : warprsa_clock_ns();
}

/* Runs the known-answer test once more, now that everything is warm, and tells
 * the router how long it took: nothing better is known of the device yet. The
 * router need not know about CPUs beside other devices. */
static warprsa_status calibrate(const warprsa_queue_device *device,
                                warprsa_device *handle, char *why)
{
    const warprsa_engine *engine = engine_of(device);
    const warprsa_queue *queue = device->queue;
    bool on_cpus = device->from->on_cpus;
    uint64_t start_ns = time_of(on_cpus);
    warprsa_status status = engine->self_test(handle, 0);

    if (status != WARPRSA_OK) {
        snprintf(why, WARPRSA_DEVICE_WHY,
                 "the known-answer test, repeated, failed");
        engine->close(handle);
    } else if (!on_cpus || atomic_load(&queue->board.others_classes) == 0) {
        warprsa_router_calibrate(queue->config.router,
                                 time_of(on_cpus) - start_ns, on_cpus);
    }
    return status;
}

/* Runs the known-answer tests of the classes that were wrong when the device
 * was last in use. */
static warprsa_status test_wrong_classes(const warprsa_queue_device *device,
                                         warprsa_device *handle, char *why)
{
    const warprsa_engine *engine = engine_of(device);
    warprsa_status status = WARPRSA_OK;

    for (unsigned c = 0; c < WARPRSA_CLASSES && status == WARPRSA_OK; c++) {
        if ((device->health.classes >> c & 1) == 0)
            continue;
        status = engine->test_class(handle, 0, (warprsa_size_class)c);
        if (status != WARPRSA_OK)
            snprintf(why, WARPRSA_DEVICE_WHY,
                     "the known-answer test of RSA-%u failed",
                     warprsa_class_bits((warprsa_size_class)c));
    }
    if (status != WARPRSA_OK)
        engine->close(handle);
    return status;
}

static void count_traffic(void *arg, warprsa_traffic what, uint64_t number)
{
    const warprsa_queue_device *device = arg;
    warprsa_device_counters *counters = device->counters;
    _Atomic uint64_t *const words[WARPRSA_TRAFFIC_KINDS] = {
        [WARPRSA_TRAFFIC_SENT] = &counters->sent_bytes,
        [WARPRSA_TRAFFIC_RECEIVED] = &counters->received_bytes,
        [WARPRSA_TRAFFIC_CREDIT_WAITS] = &counters->credit_waits,
    };

    warprsa_count(words[what], number);
}

warprsa_status warprsa_device_open(warprsa_queue_device *device,
                                   void (*lost)(void *device, const char *why),
                                   char why[WARPRSA_DEVICE_WHY])
{
    const warprsa_queue_config *config = &device->queue->config;
    const warprsa_engine *engine = engine_of(device);
    warprsa_device_config wanted = {
        .ordinal = device->ordinal,
        .streams = device->from->streams,
        .batch_max = device->from->batch_max,
        .keys_max = config->keys_max,
        .calibration_file = config->calibration_file,
        .direct_table_reads = config->direct_table_reads,
        .random = config->random,
        .random_arg = config->random_arg,
        .trace = config->trace,
        .trace_arg = config->trace_arg,
        .lost = lost,
        .count = count_traffic,
        .device_arg = device,
    };
    warprsa_device *handle = NULL;
    warprsa_status status =
        engine->open(&wanted, &handle, why, WARPRSA_DEVICE_WHY);

    if (status == WARPRSA_OK && config->device_opened != NULL)
        config->device_opened();
    if (status == WARPRSA_OK && config->router != NULL)
        status = calibrate(device, handle, why);
    if (status == WARPRSA_OK)
        status = test_wrong_classes(device, handle, why);
    if (status == WARPRSA_OK)
        device->handle = handle;
    return status;
}
