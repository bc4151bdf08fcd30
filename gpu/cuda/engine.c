/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The engine on NVIDIA GPUs: devices, their memory, and the life of a batch.
 * cudart is linked statically and finds the driver when it is first called.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "batching/base/clock.h"
#include "batching/base/id_pool.h"
#include "gpu/arith/int32_key.h"
#include "gpu/cuda/batch_memory.h"
#include "gpu/cuda/fault_kernels.h"
#include "gpu/fault.h"
#include "gpu/kernels/kernel_names.h"
#include "gpu/known_answer.h"
#include "gpu/select/calibration_file.h"
#include "gpu/select/candidates.h"
#include "gpu/select/eta.h"
#include "gpu/select/timing_source.h"

enum {
    CAPABILITY_MAJOR_MIN = 8,   /* the kernels are built for sm_80 and newer */
    SINGLES_PER_DOUBLE_MIN = 8, /* from here on integers are faster */
};

typedef struct stream_state {
    cudaStream_t stream;
    warprsa_batch_memory memory;
    warprsa_task *tasks; /* of the batch under way; NULL if given up */
    size_t count;        /* of the batch under way, 0 if idle */
    uint64_t start_ns;   /* when it was started */
    warprsa_eta eta;
    uint32_t *spin_stop; /* WARPRSA_FAULT_HANG */
} stream_state;

/* A key as the device's kernels want it; what is on the device has the size of
 * the longer kind. SECRET. */
typedef union uploaded_key {
    warprsa_prepared_key wide;
    warprsa_int32_key limb;
} uploaded_key;

struct warprsa_device {
    warprsa_device_config config;
    bool int32;     /* its one kernel is WARPRSA_KERNEL_INT32 */
    char model[64]; /* as CUDA names it */
    char description[128];
    warprsa_kernel_timings
        timings; /* of the kernels that are chosen by batch */
    warprsa_id_pool key_ids;
    warprsa_prepared_key *keys; /* device memory */
    warprsa_key_size *key_sizes;
    uint8_t *key_folds; /* warprsa_fold_accepts_key() */
    uint32_t capacity;
    _Atomic size_t under_way[WARPRSA_CLASSES]; /* requests, on all streams */
    cudaStream_t key_stream;
    warprsa_known_answer test;
    stream_state streams[WARPRSA_STREAMS_MAX];
};

static void trace(const warprsa_device *device, const char *what,
                  cudaError_t error)
{
    char line[160];

    if (device->config.trace == NULL)
        return;
    snprintf(line, sizeof(line), "%s: %s: %s", device->description, what,
             cudaGetErrorString(error));
    device->config.trace(device->config.trace_arg, 1, line);
}

/* CUDA's answer in ours; what it was goes to the trace. */
static warprsa_status status_of(const warprsa_device *device, const char *what,
                                cudaError_t error)
{
    if (error == cudaSuccess)
        return WARPRSA_OK;
    trace(device, what, error);
    return error == cudaErrorMemoryAllocation ? WARPRSA_NO_MEMORY
                                              : WARPRSA_DEVICE_ERROR;
}

static unsigned cuda_count(char *why, size_t why_size)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);

    if (warprsa_fault_active(WARPRSA_FAULT_NODEVICE)) {
        snprintf(why, why_size, "no device (fault injected)");
        return 0;
    }
    if (error != cudaSuccess || count == 0) {
        snprintf(why, why_size, "no usable NVIDIA GPU: %s",
                 error != cudaSuccess ? cudaGetErrorString(error)
                                      : "the driver lists none");
        return 0;
    }
    return (unsigned)count;
}

static const char *cuda_describe(const warprsa_device *device)
{
    return device->description;
}

static warprsa_status prepare(const warprsa_device *device, uploaded_key *out,
                              warprsa_key_size *size,
                              const warprsa_private_key *key)
{
    const uint32_t flip = warprsa_fault_active(WARPRSA_FAULT_FLIP) ? 1 : 0;
    warprsa_status status;

    memset(out, 0, sizeof(*out));
    if (device->int32) {
        status = warprsa_prepare_int32_key(&out->limb, key);
        out->limb.half[0].exponent[1] ^= flip;
        size->windows = (uint16_t)out->limb.windows;
    } else {
        status = warprsa_prepare_key(&out->wide, key);
        out->wide.half[0].exponent[1] ^= flip;
        size->windows = (uint16_t)out->wide.windows;
    }
    size->bytes = (uint16_t)key->modulus_bytes;
    return status;
}

static warprsa_status cuda_load_key(warprsa_device *device,
                                    const warprsa_private_key *key,
                                    uint32_t *index)
{
    uploaded_key prepared;
    warprsa_key_size size;
    warprsa_status status = prepare(device, &prepared, &size, key);
    cudaError_t error;

    if (status != WARPRSA_OK)
        return status;
    if (!warprsa_id_pool_acquire(&device->key_ids, index)) {
        explicit_bzero(&prepared, sizeof(prepared));
        return WARPRSA_NO_MEMORY;
    }
    device->key_sizes[*index] = size;
    device->key_folds[*index] = (uint8_t)warprsa_fold_accepts_key(key);
    error = cudaSetDevice((int)device->config.ordinal);
    if (error == cudaSuccess)
        error =
            cudaMemcpyAsync(device->keys + *index, &prepared, sizeof(prepared),
                            cudaMemcpyHostToDevice, device->key_stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(device->key_stream);
    explicit_bzero(&prepared, sizeof(prepared));
    if (error != cudaSuccess)
        warprsa_id_pool_release(&device->key_ids, *index);
    return status_of(device, "loading a key", error);
}

static void cuda_unload_key(warprsa_device *device, uint32_t index)
{
    cudaError_t error = cudaSetDevice((int)device->config.ordinal);

    if (error == cudaSuccess)
        error = cudaMemsetAsync(device->keys + index, 0, sizeof(*device->keys),
                                device->key_stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(device->key_stream);
    if (error != cudaSuccess)
        trace(device, "wiping a key", error);
    warprsa_id_pool_release(&device->key_ids, index);
}

#ifdef WARPRSA_FAULTS
/* A kernel that turns until it is told to stop stands for a hung device, one
 * that traps for a broken one. */
static cudaError_t inject(stream_state *s)
{
    if (warprsa_fault_active(WARPRSA_FAULT_TRAP))
        return warprsa_launch_trap(s->stream);
    if (!warprsa_fault_active(WARPRSA_FAULT_HANG))
        return cudaSuccess;
    if (s->spin_stop == NULL) {
        cudaError_t error = cudaHostAlloc(
            (void **)&s->spin_stop, sizeof(uint32_t), cudaHostAllocMapped);

        if (error != cudaSuccess)
            return error;
    }
    *(volatile uint32_t *)s->spin_stop = 0;
    return warprsa_launch_spin(s->spin_stop, s->stream);
}
#else
static cudaError_t inject(stream_state *s)
{
    (void)s;
    return cudaSuccess;
}
#endif

/* The batch that is laid out. */
static warprsa_status start_batch(warprsa_device *device, stream_state *s,
                                  const warprsa_task *tasks)
{
    cudaError_t error;

    if (!device->config.random(device->config.random_arg, s->memory.host.random,
                               s->memory.random_bytes)) {
        warprsa_batch_wipe_host(&s->memory);
        return WARPRSA_NO_RANDOM;
    }
    warprsa_batch_fill(&s->memory, tasks, device->key_sizes);
    error = inject(s);
    if (error == cudaSuccess)
        error = warprsa_batch_enqueue(&s->memory, device->keys, s->stream);
    if (error != cudaSuccess)
        warprsa_batch_wipe_host(&s->memory);
    return status_of(device, "starting a batch", error);
}

static warprsa_status cuda_start(warprsa_device *device, unsigned stream,
                                 warprsa_size_class size, warprsa_task *tasks,
                                 size_t count)
{
    stream_state *s = &device->streams[stream];
    cudaError_t error = cudaSetDevice((int)device->config.ordinal);
    warprsa_status status;

    if (warprsa_fault_active(WARPRSA_FAULT_LAUNCH))
        error = cudaErrorLaunchFailure;
    if (error != cudaSuccess)
        return status_of(device, "starting a batch", error);
    warprsa_batch_layout(&s->memory, size, count);
    s->memory.beside = atomic_fetch_add(&device->under_way[size], count);
    status = start_batch(device, s, tasks);
    if (status != WARPRSA_OK) {
        atomic_fetch_sub(&device->under_way[size], count);
        return status;
    }
    s->tasks = tasks;
    s->count = count;
    s->start_ns = warprsa_clock_ns();
    return WARPRSA_OK;
}

/* Sleeps so long, but not past the deadline. */
static void nap(uint64_t ns, uint64_t deadline)
{
    uint64_t now = warprsa_clock_ns();
    uint64_t left = now < deadline ? deadline - now : 0;
    struct timespec pause;

    if (ns > left)
        ns = left;
    pause = (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
                              .tv_nsec = (long)(ns % 1000000000u)};
    nanosleep(&pause, NULL);
}

/* cudaSuccess, cudaErrorNotReady past the deadline, or an error. CUDA has no
 * wait with a limit, so the stream is asked again and again, but not before
 * the time that batches of its size have taken is over. */
static cudaError_t wait_until(stream_state *s, uint64_t deadline)
{
    warprsa_size_class size = s->memory.size;
    uint64_t sleep = warprsa_eta_sleep(&s->eta, size, s->count);
    cudaError_t error;

    if (sleep > 0)
        nap(sleep, deadline);
    while ((error = cudaStreamQuery(s->stream)) == cudaErrorNotReady &&
           warprsa_clock_ns() < deadline)
        nap(warprsa_eta_pause(warprsa_clock_ns() - s->start_ns), deadline);
    if (error == cudaSuccess)
        warprsa_eta_note(&s->eta, size, s->count,
                         warprsa_clock_ns() - s->start_ns);
    return error;
}

static warprsa_status cuda_wait(warprsa_device *device, unsigned stream,
                                unsigned timeout_ms)
{
    stream_state *s = &device->streams[stream];
    warprsa_task *tasks = s->tasks;
    cudaError_t error = cudaSetDevice((int)device->config.ordinal);

    s->tasks = NULL;
    if (error == cudaSuccess && s->count != 0)
        error = wait_until(s, warprsa_clock_ns() + timeout_ms * 1000000ull);
    if (error == cudaErrorNotReady) {
        if (s->spin_stop != NULL)
            *(volatile uint32_t *)s->spin_stop = 1;
        return WARPRSA_DEADLINE;
    }
    if (error == cudaSuccess && tasks != NULL)
        warprsa_batch_collect(&s->memory, tasks, device->key_sizes);
    warprsa_batch_wipe_host(&s->memory);
    atomic_fetch_sub(&device->under_way[s->memory.size], s->count);
    s->count = 0;
    return status_of(device, "computing a batch", error);
}

static warprsa_status cuda_self_test(warprsa_device *device, unsigned stream)
{
    return warprsa_known_answer_run(warprsa_engine_cuda(), device,
                                    &device->test, stream);
}

static void close_stream(stream_state *s)
{
    if (s->spin_stop != NULL)
        *(volatile uint32_t *)s->spin_stop = 1;
    if (s->stream != NULL) {
        cudaStreamSynchronize(s->stream);
        cudaStreamDestroy(s->stream);
    }
    warprsa_batch_memory_free(&s->memory);
    if (s->spin_stop != NULL)
        cudaFreeHost(s->spin_stop);
}

/* Frees what there is. After an error of the device itself every call fails
 * here; such a device stays out of use until the process ends, as CUDA has
 * it (cudaErrorLaunchFailure), even if its context were reset. */
static void cuda_close(warprsa_device *device)
{
    if (device == NULL)
        return;
    (void)cudaSetDevice((int)device->config.ordinal);
    for (unsigned i = 0; i < device->config.streams; i++)
        close_stream(&device->streams[i]);
    if (device->keys != NULL) {
        cudaMemset(device->keys, 0, device->capacity * sizeof(*device->keys));
        cudaFree(device->keys);
    }
    if (device->key_stream != NULL)
        cudaStreamDestroy(device->key_stream);
    warprsa_id_pool_free(&device->key_ids);
    free(device->key_sizes);
    free(device->key_folds);
    free(device);
}

static void describe_choice(warprsa_device *device, const char *what,
                            const char *which)
{
    snprintf(device->description, sizeof(device->description),
             "%s (cuda %u, %s: %s%s)", device->model, device->config.ordinal,
             what, which,
             device->config.direct_table_reads ? ", direct reads" : "");
}

/* Integers alone where double precision is rare: 2 singles to a double on the
 * chips made for it, 32 or 64 on the others. */
static cudaError_t choose_arithmetic(warprsa_device *device)
{
    warprsa_device_config *config = &device->config;
    int singles_per_double = 0;
    cudaError_t error = cudaDeviceGetAttribute(
        &singles_per_double, cudaDevAttrSingleToDoublePrecisionPerfRatio,
        (int)config->ordinal);

    if (config->kernel == NULL && singles_per_double >= SINGLES_PER_DOUBLE_MIN)
        config->kernel = WARPRSA_KERNEL_INT32;
    device->int32 = config->kernel != NULL &&
                    strcmp(config->kernel, WARPRSA_KERNEL_INT32) == 0;
    if (config->kernel != NULL)
        describe_choice(device, "kernel", config->kernel);
    return error;
}

static cudaError_t describe(warprsa_device *device)
{
    struct cudaDeviceProp properties;
    cudaError_t error =
        cudaGetDeviceProperties(&properties, (int)device->config.ordinal);

    if (error != cudaSuccess)
        return error;
    snprintf(device->model, sizeof(device->model), "%.63s", properties.name);
    snprintf(device->description, sizeof(device->description), "%s (cuda %u)",
             device->model, device->config.ordinal);
    return properties.major < CAPABILITY_MAJOR_MIN
               ? cudaErrorNoKernelImageForDevice
               : cudaSuccess;
}

static cudaError_t allocate(warprsa_device *device)
{
    const warprsa_device_config *config = &device->config;
    cudaError_t error = cudaMalloc((void **)&device->keys,
                                   device->capacity * sizeof(*device->keys));

    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&device->key_stream,
                                          cudaStreamNonBlocking);
    for (unsigned i = 0; error == cudaSuccess && i < config->streams; i++) {
        stream_state *s = &device->streams[i];

        error = cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking);
        if (error == cudaSuccess)
            error = warprsa_batch_memory_new(&s->memory, config->batch_max,
                                             config->kernel, device->key_folds,
                                             device->capacity);
        s->memory.timings = &device->timings;
        s->memory.direct_table_reads = config->direct_table_reads;
    }
    return error;
}

/* What the timings of kernels depend on, in words. */
static cudaError_t
describe_subject(const warprsa_device *device, unsigned *sms,
                 char subject[WARPRSA_CALIBRATION_SUBJECT_MAX])
{
    static const enum cudaDeviceAttr attributes[] = {
        cudaDevAttrComputeCapabilityMajor, cudaDevAttrComputeCapabilityMinor,
        cudaDevAttrMultiProcessorCount};
    int value[3] = {0}, driver = 0;
    cudaError_t error = cudaDriverGetVersion(&driver);
    char model[sizeof(device->model)];

    for (int i = 0; error == cudaSuccess && i < 3; i++)
        error = cudaDeviceGetAttribute(&value[i], attributes[i],
                                       (int)device->config.ordinal);
    snprintf(model, sizeof(model), "%s", device->model);
    for (char *c = model; *c != '\0'; c++)
        if (strchr(",[]", *c) != NULL || (unsigned char)*c < ' ')
            *c = '?';
    snprintf(subject, WARPRSA_CALIBRATION_SUBJECT_MAX,
             "%s, compute %d.%d, %d SMs, driver %d, "
             "warprsa " WARPRSA_VERSION ", batches to %u",
             model, value[0], value[1], value[2], driver,
             device->config.batch_max);
    *sms = (unsigned)value[2];
    return error;
}

typedef struct timed_stream {
    warprsa_device *device;
    warprsa_task *tasks; /* batch_max */
} timed_stream;

/* A warprsa_timed_batch, on the first stream. */
static bool time_batch(void *arg, warprsa_size_class size, const char *kernel,
                       size_t count, double *ms)
{
    const timed_stream *t = arg;
    stream_state *s = &t->device->streams[0];
    warprsa_status status = WARPRSA_DEADLINE;

    s->memory.kernel = kernel;
    if (s->count == 0) /* or the batch before has not ended */
        status = warprsa_known_answer_batch(warprsa_engine_cuda(), t->device,
                                            &t->device->test, 0, size, t->tasks,
                                            count, ms);
    s->memory.kernel = NULL;
    /* Another kernel may be faster: nobody sleeps as long as this took. */
    memset(&s->eta, 0, sizeof(s->eta));
    return status == WARPRSA_OK;
}

/* What kernels of batches are chosen by. */
static cudaError_t choose_timings(warprsa_device *device)
{
    const warprsa_device_config *config = &device->config;
    timed_stream timed = {device, NULL};
    warprsa_kernel_timings candidates;
    unsigned sms;
    char subject[WARPRSA_CALIBRATION_SUBJECT_MAX];
    const warprsa_timing_source wanted = {.model = device->model,
                                          .subject = subject,
                                          .candidates = &candidates,
                                          .batch_max = config->batch_max,
                                          .file = config->calibration_file,
                                          .run = time_batch,
                                          .run_arg = &timed,
                                          .trace = config->trace,
                                          .trace_arg = config->trace_arg};
    cudaError_t error = describe_subject(device, &sms, subject);
    const char *from;

    if (error != cudaSuccess || config->kernel != NULL)
        return error;
    warprsa_candidates(&candidates, sms,
                       warprsa_fold_sms((int)config->ordinal));
    timed.tasks = calloc(config->batch_max, sizeof(*timed.tasks));
    if (timed.tasks == NULL)
        return cudaErrorMemoryAllocation;
    from = warprsa_timing_source_choose(&device->timings, &wanted);
    free(timed.tasks);
    describe_choice(device, "kernel timings", from);
    return cudaSuccess;
}

/* The kernel for requests of one key is tested with one, where it is there. */
static warprsa_status test_fold(warprsa_device *device, unsigned stream)
{
    warprsa_batch_memory *memory = &device->streams[stream].memory;
    warprsa_status status;

    if (memory->kernel != NULL || memory->fold_sms == 0)
        return WARPRSA_OK;
    memory->kernel = WARPRSA_KERNEL_FOLD;
    status = cuda_self_test(device, stream);
    memory->kernel = NULL;
    return status;
}

static warprsa_status open_device(warprsa_device *device, const char **what)
{
    cudaError_t error = cudaSetDevice((int)device->config.ordinal);
    warprsa_status status;

    *what = "device properties";
    if (error == cudaSuccess)
        error = describe(device);
    if (error == cudaSuccess)
        error = choose_arithmetic(device);
    if (error == cudaSuccess) {
        *what = "device memory";
        error = allocate(device);
    }
    status = status_of(device, *what, error);
    if (status == WARPRSA_OK) {
        *what = "known-answer test";
        status = warprsa_known_answer_load(warprsa_engine_cuda(), device,
                                           &device->test);
    }
    if (status == WARPRSA_OK) {
        *what = "choice of kernels";
        status = status_of(device, *what, choose_timings(device));
    }
    if (status == WARPRSA_OK)
        *what = "known-answer test";
    for (unsigned i = 0; status == WARPRSA_OK && i < device->config.streams;
         i++)
        status = cuda_self_test(device, i);
    return status == WARPRSA_OK ? test_fold(device, 0) : status;
}

static warprsa_status cuda_open(const warprsa_device_config *config,
                                warprsa_device **out, char *why,
                                size_t why_size)
{
    warprsa_device *device = calloc(1, sizeof(*device));
    warprsa_status status = WARPRSA_NO_MEMORY;
    const char *what = "host memory";

    *out = NULL;
    if (device != NULL) {
        device->config = *config;
        device->capacity = config->keys_max + WARPRSA_CLASSES;
        snprintf(device->description, sizeof(device->description), "cuda %u",
                 config->ordinal);
        device->key_sizes =
            calloc(device->capacity, sizeof(*device->key_sizes));
        device->key_folds =
            calloc(device->capacity, sizeof(*device->key_folds));
        if (device->key_sizes != NULL && device->key_folds != NULL &&
            warprsa_id_pool_init(&device->key_ids, 0, device->capacity))
            status = open_device(device, &what);
    }
    if (status != WARPRSA_OK) {
        snprintf(why, why_size, "cuda %u: %s: %s", config->ordinal, what,
                 warprsa_status_text(status));
        cuda_close(device);
        return status;
    }
    *out = device;
    return WARPRSA_OK;
}

const warprsa_engine *warprsa_engine_cuda(void)
{
    static const warprsa_engine engine = {
        .name = "cuda",
        .count = cuda_count,
        .open = cuda_open,
        .close = cuda_close,
        .describe = cuda_describe,
        .load_key = cuda_load_key,
        .unload_key = cuda_unload_key,
        .start = cuda_start,
        .wait = cuda_wait,
        .self_test = cuda_self_test,
    };

    return &engine;
}
