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
#include "gpu/select/calibration_file.h"
#include "gpu/select/candidates.h"
#include "gpu/select/estimate.h"
#include "gpu/select/timing_source.h"

static void describe_choice(warprsa_device *device, const char *what,
                            const char *which)
{
    snprintf(device->description, sizeof(device->description),
             "%s (cuda %u, %s: %s%s)", device->model, device->config.ordinal,
             what, which,
             device->config.direct_table_reads ? ", direct reads" : "");
}

/* An engine computes by the first kernel where it has none of the name. */
cudaError_t warprsa_cuda_choose_kernel(warprsa_device *device)
{
    const char *name = device->config.kernel;
    const warprsa_kernel_list all = warprsa_all_kernels();
    const cudaError_t error =
        warprsa_gpu_facts(&device->gpu, (int)device->config.ordinal);

    if (name != NULL) {
        device->kernel = warprsa_kernel_named(name);
        if (device->kernel == NULL)
            device->kernel = warprsa_kernels[0];
        device->int32_keys = device->kernel->int32_keys;
    } else {
        device->int32_keys = warprsa_prefers_int32_keys(all, &device->gpu);
        device->kernel =
            warprsa_only_kernel(all, &device->gpu, device->int32_keys);
    }
    if (device->kernel != NULL)
        describe_choice(device, "kernel",
                        name != NULL ? name : device->kernel->name);
    return error;
}

/* What the kernel timings depend on, in words: the subject of calibration
 * files. */
static cudaError_t
describe_subject(const warprsa_device *device,
                 char subject[WARPRSA_CALIBRATION_SUBJECT_MAX])
{
    int driver = 0;
    const cudaError_t error = cudaDriverGetVersion(&driver);
    char model[sizeof(device->model)];

    snprintf(model, sizeof(model), "%s", device->model);
    for (char *c = model; *c != '\0'; c++)
        if (strchr(",[]", *c) != NULL || (unsigned char)*c < ' ')
            *c = '?';
    snprintf(subject, WARPRSA_CALIBRATION_SUBJECT_MAX,
             "%s, compute %u.%u, %u SMs, driver %d, "
             "warprsa " WARPRSA_VERSION ", batches to %u",
             model, device->gpu.capability / 10, device->gpu.capability % 10,
             device->gpu.sms, driver, device->config.batch_max);
    return error;
}

typedef struct timed_stream {
    warprsa_device *device;
    warprsa_task *tasks; /* batch_max */
} timed_stream;

/* A warprsa_timed_batch, on the first stream. */
static bool time_batch(void *arg, warprsa_size_class size,
                       const warprsa_kernel *kernel, size_t count, double *ms)
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

/* A batch that has missed its deadline may have ended since. */
static warprsa_status end_calibration(warprsa_device *device)
{
    warprsa_cuda_stream *s = &device->streams[0];
    warprsa_status status = WARPRSA_OK;

    if (s->count != 0)
        status = warprsa_cuda_wait(device, 0, 0);
    memset(&s->eta, 0, sizeof(s->eta));
    return status;
}

warprsa_status warprsa_cuda_choose_timings(warprsa_device *device)
{
    const warprsa_device_config *config = &device->config;
    timed_stream timed = {device, NULL};
    warprsa_kernel_timings candidates;
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
    cudaError_t error = describe_subject(device, subject);
    const char *from;

    if (error != cudaSuccess || device->kernel != NULL)
        return warprsa_cuda_status(device, "the driver's version", error);
    warprsa_candidates(&candidates, &device->gpu, device->int32_keys);
    timed.tasks = calloc(config->batch_max, sizeof(*timed.tasks));
    if (timed.tasks == NULL)
        return WARPRSA_NO_MEMORY;
    from = warprsa_timing_source_choose(&device->timings, &wanted);
    free(timed.tasks);
    describe_choice(device, "kernel timings", from);
    return end_calibration(device);
}
