/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which kernels an opened GPU uses: one for all batches, or the fastest for
 * each by the timings of this device.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cuda/cuda_device.h"
#include "gpu/cuda/library.h"
#include "gpu/kernels/kernel_names.h"
#include "gpu/select/calibration_file.h"
#include "gpu/select/candidates.h"
#include "gpu/select/timing_source.h"

enum {
    SINGLES_PER_DOUBLE_MIN = 8, /* from here on integers are faster */
};

static void describe_choice(warprsa_device *device, const char *what,
                            const char *which)
{
    snprintf(device->description, sizeof(device->description),
             "%s (cuda %u, %s: %s%s)", device->model, device->config.ordinal,
             what, which,
             device->config.direct_table_reads ? ", direct reads" : "");
}

/* int32 where double precision is rare: a chip that is made for it does 2
 * operations in single precision for one in double, the others 32 or 64. */
cudaError_t warprsa_cuda_choose_arithmetic(warprsa_device *device)
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

/* What the kernel timings depend on, in words: the subject of calibration
 * files. */
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
    warprsa_cuda_stream *s = &t->device->streams[0];
    warprsa_status status = WARPRSA_DEADLINE;

    s->memory.kernel = kernel;
    if (s->count == 0) /* or the batch before has not ended */
        status = warprsa_known_answer_batch(&warprsa_cuda_engine, t->device,
                                            &t->device->test, 0, size, t->tasks,
                                            count, ms);
    s->memory.kernel = NULL;
    /* Another kernel may be faster: nobody sleeps as long as this took. */
    memset(&s->eta, 0, sizeof(s->eta));
    return status == WARPRSA_OK;
}

cudaError_t warprsa_cuda_choose_timings(warprsa_device *device)
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
