/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The engine on NVIDIA GPUs: finding, opening, testing and closing devices.
 * cudart is linked statically and finds the driver when it is first called.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/base/clock.h"
#include "gpu/cuda/cuda_device.h"
#include "gpu/cuda/library.h"
#include "gpu/fault.h"
#include "gpu/select/estimate.h"

enum {
    CAPABILITY_MAJOR_MIN = 8, /* the kernels are built for sm_80 and newer */
};

/* Why cudaGetDeviceCount() has found nothing. CUDA calls a driver that is not
 * there one that is too old. */
static const char *why_none(cudaError_t error)
{
    int version = 0;

    if (error == cudaErrorInsufficientDriver &&
        (cudaDriverGetVersion(&version) != cudaSuccess || version == 0))
        return "no driver (libcuda.so.1) is installed";
    return error == cudaSuccess || error == cudaErrorNoDevice
               ? "the driver lists none"
               : cudaGetErrorString(error);
}

static unsigned cuda_count(char *why, size_t why_size)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);

    if (warprsa_fault_active(WARPRSA_FAULT_NODEVICE)) {
        snprintf(why, why_size, "no device (fault injected)");
        return 0;
    }
    if (error == cudaSuccess && count > 0)
        return (unsigned)count;
    snprintf(why, why_size, "no usable NVIDIA GPU: %s", why_none(error));
    return 0;
}

static const char *cuda_describe(const warprsa_device *device)
{
    return device->description;
}

static warprsa_status cuda_self_test(warprsa_device *device, unsigned stream)
{
    return warprsa_known_answer_run(&warprsa_cuda_engine, device, &device->test,
                                    stream);
}

/* Without memory for keys of large classes the device takes none of them, so it
 * computes none wrongly. */
static warprsa_status cuda_test_class(warprsa_device *device, unsigned stream,
                                      warprsa_size_class size)
{
    warprsa_status status = WARPRSA_OK;

    if (size >= WARPRSA_CLASS_LARGE)
        status = warprsa_cuda_take_large(device);
    if (status == WARPRSA_UNSUPPORTED_KEY)
        return WARPRSA_OK;
    return status == WARPRSA_OK
               ? warprsa_known_answer_class(&warprsa_cuda_engine, device,
                                            &device->test, stream, size)
               : status;
}

/* A batch for which there is memory; of a large class after that class's
 * known-answer test. */
static warprsa_status cuda_start(warprsa_device *device, unsigned stream,
                                 warprsa_size_class size, warprsa_task *tasks,
                                 size_t count)
{
    static const warprsa_engine unproven = {.start = warprsa_cuda_start,
                                            .wait = warprsa_cuda_wait};
    warprsa_status status;

    if (count > warprsa_engine_batch_max(&warprsa_cuda_engine,
                                         device->config.batch_max, size))
        return WARPRSA_NO_MEMORY;
    status = warprsa_known_answer_prove(&unproven, device, &device->test,
                                        stream, size);
    return status == WARPRSA_OK
               ? warprsa_cuda_start(device, stream, size, tasks, count)
               : status;
}

/* After this no batch of the stream is under way. */
static void stop_stream(warprsa_cuda_stream *s)
{
    if (s->spin_stop != NULL)
        *(volatile uint32_t *)s->spin_stop = 1;
    if (s->stream != NULL) {
        cudaStreamSynchronize(s->stream);
        cudaStreamDestroy(s->stream);
    }
}

static void free_stream(warprsa_cuda_stream *s)
{
    warprsa_batch_memory_free(&s->memory);
    if (s->spin_stop != NULL)
        cudaFreeHost(s->spin_stop);
}

static bool wipe_keys(warprsa_device *device)
{
    cudaError_t error =
        cudaMemset(device->keys, 0, device->capacity * sizeof(*device->keys));

    if (error == cudaSuccess && device->large_keys != NULL)
        error = cudaMemset(device->large_keys, 0,
                           warprsa_cuda_large_places(device->config.keys_max) *
                               warprsa_form_large.key_bytes);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(NULL);
    if (warprsa_fault_active(WARPRSA_FAULT_WIPE))
        error = cudaErrorLaunchFailure;
    return warprsa_cuda_status(device, "wiping the keys", error) == WARPRSA_OK;
}

/* Frees what there is. After an error of the device itself every call fails
 * here; such a device stays out of use until the process ends, as CUDA has
 * it (cudaErrorLaunchFailure). cudaDeviceReset() does not help: it succeeds,
 * and all that follows fails with cudaErrorDevicesUnavailable. */
static bool cuda_close(warprsa_device *device)
{
    bool wiped = true;

    if (device == NULL)
        return true;
    (void)cudaSetDevice((int)device->config.ordinal);
    for (unsigned i = 0; i < device->config.streams; i++)
        stop_stream(&device->streams[i]);
    for (unsigned i = 0; i < device->config.streams; i++)
        free_stream(&device->streams[i]);
    warprsa_staging_free(&device->staging);
    warprsa_shared_tables_free(&device->tables);
    if (device->keys != NULL) {
        wiped = wipe_keys(device);
        cudaFree(device->keys);
        cudaFree(device->large_keys);
    }
    if (device->key_stream != NULL)
        cudaStreamDestroy(device->key_stream);
    warprsa_id_pool_free(&device->key_ids);
    warprsa_id_pool_free(&device->large_places);
    warprsa_secret_pool_free(&device->secrets);
    pthread_mutex_destroy(&device->large_lock);
    free(device->key_sizes);
    free(device->key_folds);
    free(device);
    return wiped;
}

/* Says so if the driver will have to compile the kernels. It keeps what it has
 * compiled for the next time. */
static void trace_compiling(const warprsa_device *device, uint32_t capability)
{
    static const uint32_t built[] = {WARPRSA_ARCHITECTURES};
    char line[sizeof(device->description) + 160];

    if (device->config.trace == NULL ||
        warprsa_runs_machine_code(capability, built,
                                  sizeof(built) / sizeof(built[0])))
        return;
    snprintf(line, sizeof(line),
             "%s: compute capability %u.%u: the driver compiles the kernels, "
             "which may take minutes the first time",
             device->description, capability / 10, capability % 10);
    device->config.trace(device->config.trace_arg, 1, line);
}

static cudaError_t describe(warprsa_device *device)
{
    struct cudaDeviceProp properties;
    cudaError_t error =
        cudaGetDeviceProperties(&properties, (int)device->config.ordinal);

    if (error != cudaSuccess)
        return error;
    snprintf(device->model, sizeof(device->model), "%.127s", properties.name);
    snprintf(device->description, sizeof(device->description), "%s (cuda %u)",
             device->model, device->config.ordinal);
    trace_compiling(device,
                    (uint32_t)(10 * properties.major + properties.minor));
    return properties.major < CAPABILITY_MAJOR_MIN
               ? cudaErrorNoKernelImageForDevice
               : cudaSuccess;
}

static cudaError_t open_stream(warprsa_device *device, unsigned stream)
{
    warprsa_cuda_stream *s = &device->streams[stream];
    const cudaError_t error =
        cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking);

    s->memory.table.shared = &device->tables;
    s->memory.gpu = device->gpu;
    s->memory.kernel = device->kernel;
    s->memory.timings = &device->timings;
    s->memory.direct_table_reads = device->config.direct_table_reads;
    s->memory.int32_keys = device->int32_keys;
    return error == cudaSuccess
               ? warprsa_batch_memory_new(&s->memory, &device->staging, stream,
                                          device->config.batch_max,
                                          device->key_folds, device->capacity)
               : error;
}

static cudaError_t allocate(warprsa_device *device)
{
    const warprsa_device_config *config = &device->config;
    cudaError_t error = cudaMalloc((void **)&device->keys,
                                   device->capacity * sizeof(*device->keys));

    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&device->key_stream,
                                          cudaStreamNonBlocking);
    if (error == cudaSuccess)
        error = warprsa_shared_tables_init(
            &device->tables,
            warprsa_batch_longest_table(&device->gpu, config->batch_max),
            device->key_stream);
    if (error == cudaSuccess) {
        warprsa_batch_measure(&device->staging, config->batch_max);
        error = warprsa_staging_new(&device->staging, config->streams);
    }
    for (unsigned i = 0; error == cudaSuccess && i < config->streams; i++)
        error = open_stream(device, i);
    return error;
}

/* How far an opening has come, and the milliseconds of what is done. */
typedef struct opening {
    const char *what;
    uint64_t since_ns;
    unsigned context_ms, memory_ms, timings_ms, code_ms, tests_ms;
} opening;

/* The milliseconds since the last call. */
static unsigned lap(opening *o)
{
    const uint64_t now = warprsa_clock_ns();
    const uint64_t ns = now - o->since_ns;

    o->since_ns = now;
    return (unsigned)((ns + WARPRSA_NS_PER_MS / 2) / WARPRSA_NS_PER_MS);
}

/* The first call makes CUDA's context. */
static cudaError_t find_device(warprsa_device *device, opening *o)
{
    cudaError_t error = cudaSetDevice((int)device->config.ordinal);

    o->what = "device properties";
    if (error == cudaSuccess)
        error = describe(device);
    if (error == cudaSuccess)
        error = warprsa_cuda_choose_kernel(device);
    o->context_ms = lap(o);
    return error;
}

static warprsa_status open_device(warprsa_device *device, opening *o)
{
    cudaError_t error = find_device(device, o);
    warprsa_status status;

    if (error == cudaSuccess) {
        o->what = "device memory";
        error = allocate(device);
    }
    status = warprsa_cuda_status(device, o->what, error);
    if (status == WARPRSA_OK) {
        o->what = "known-answer test";
        status = warprsa_known_answer_load(&warprsa_cuda_engine, device,
                                           &device->test, WARPRSA_CLASS_LARGE);
    }
    o->memory_ms = lap(o);
    if (status == WARPRSA_OK) {
        o->what = "choice of kernels";
        status = warprsa_cuda_choose_timings(device);
    }
    o->timings_ms = lap(o);
    if (status == WARPRSA_OK) {
        o->what = "known-answer test";
        warprsa_cuda_load_kernels(device);
        o->code_ms = lap(o);
        status = warprsa_cuda_prove_kernels(device);
    }
    o->tests_ms = lap(o);
    return status;
}

/* Says how long it took, and what of it. */
static void trace_opening(const warprsa_device *device, const opening *o)
{
    char line[sizeof(device->description) + 160];

    if (device->config.trace == NULL)
        return;
    snprintf(
        line, sizeof(line),
        "%s: opened in %u ms (CUDA %u, memory %u, timings %u, code %u, "
        "tests %u)",
        device->description,
        o->context_ms + o->memory_ms + o->timings_ms + o->code_ms + o->tests_ms,
        o->context_ms, o->memory_ms, o->timings_ms, o->code_ms, o->tests_ms);
    device->config.trace(device->config.trace_arg, 1, line);
}

static warprsa_status cuda_open(const warprsa_device_config *config,
                                warprsa_device **out, char *why,
                                size_t why_size)
{
    warprsa_device *device = calloc(1, sizeof(*device));
    warprsa_status status = WARPRSA_NO_MEMORY;
    opening o = {.what = "host memory", .since_ns = warprsa_clock_ns()};

    *out = NULL;
    if (device != NULL && !warprsa_secret_pool_init(&device->secrets)) {
        free(device);
        device = NULL;
    }
    if (device != NULL) {
        device->config = *config;
        device->capacity = config->keys_max + WARPRSA_CLASSES;
        device->large_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
        snprintf(device->description, sizeof(device->description), "cuda %u",
                 config->ordinal);
        device->key_sizes =
            calloc(device->capacity, sizeof(*device->key_sizes));
        device->key_folds =
            calloc(device->capacity, sizeof(*device->key_folds));
        if (device->key_sizes != NULL && device->key_folds != NULL &&
            warprsa_id_pool_init(&device->key_ids, 0,
                                 config->keys_max + WARPRSA_CLASS_LARGE) &&
            warprsa_id_pool_init(&device->large_places, 0,
                                 warprsa_cuda_large_places(config->keys_max)))
            status = open_device(device, &o);
    }
    if (status != WARPRSA_OK) {
        snprintf(why, why_size, "cuda %u: %s: %s", config->ordinal, o.what,
                 warprsa_status_text(status));
        cuda_close(device);
        return status;
    }
    trace_opening(device, &o);
    *out = device;
    return WARPRSA_OK;
}

const warprsa_engine warprsa_cuda_engine = {
    .name = "cuda",
    .classes = WARPRSA_CLASSES,
    .halves_large_batches = true,
    .granularity = WARPRSA_CUDA_GRANULARITY,
    .count = cuda_count,
    .open = cuda_open,
    .close = cuda_close,
    .describe = cuda_describe,
    .load_key = warprsa_cuda_load_key,
    .unload_key = warprsa_cuda_unload_key,
    .start = cuda_start,
    .wait = warprsa_cuda_wait,
    .self_test = cuda_self_test,
    .test_class = cuda_test_class,
};
