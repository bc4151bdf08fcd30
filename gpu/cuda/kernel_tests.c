/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The known-answer tests of an opening, on all streams at once. The longest
 * takes a third of the time of all, and hardly any of the device.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cuda/cuda_device.h"
#include "gpu/cuda/library.h"
#include "gpu/select/proof.h"

/* The test of a stream that is under way. */
typedef struct stream_test {
    warprsa_kernel_test *test; /* NULL: none */
    warprsa_known_answer_trial trial;
} stream_test;

typedef struct tester {
    warprsa_device *device;
    stream_test *streams; /* of all of them */
    /* The first error but wrong answers: nothing is started any more. */
    warprsa_status error;
} tester;

/* Sets the status of a test that is over. */
static void note(tester *t, warprsa_kernel_test *test, warprsa_status status)
{
    test->status = status;
    if (t->error == WARPRSA_OK && status != WARPRSA_CHECK_FAILED)
        t->error = status;
}

/* After a test has missed its deadline none has time any more. */
static void end(tester *t, unsigned stream)
{
    stream_test *s = &t->streams[stream];
    const unsigned timeout_ms =
        t->error == WARPRSA_DEADLINE ? 0 : WARPRSA_KNOWN_ANSWER_TIMEOUT_MS;

    if (s->test == NULL)
        return;
    note(t, s->test,
         warprsa_known_answer_wait(&warprsa_cuda_engine, t->device, stream,
                                   &s->trial, timeout_ms));
    s->test = NULL;
    /* A batch may be faster: nobody sleeps as long as this took. */
    memset(&t->device->streams[stream].eta, 0, sizeof(warprsa_eta));
}

/* The kernel that computes what the others do not. */
static const warprsa_kernel *default_of(const warprsa_device *device)
{
    return warprsa_kernel_by_default(device->int32_keys);
}

/* The kernel that a test names, or the one of a class without timings. */
static const warprsa_kernel *kernel_of(const warprsa_device *device,
                                       const warprsa_kernel_test *test)
{
    if (test->kernel != NULL)
        return test->kernel;
    return device->kernel != NULL ? device->kernel : default_of(device);
}

static void begin(tester *t, warprsa_kernel_test *test)
{
    stream_test *s = &t->streams[test->stream];
    warprsa_batch_memory *memory = &t->device->streams[test->stream].memory;
    warprsa_status status = t->error;

    if (status == WARPRSA_OK) {
        memory->kernel = kernel_of(t->device, test);
        status = warprsa_known_answer_start(&warprsa_cuda_engine, t->device,
                                            &t->device->test, test->stream,
                                            test->size, &s->trial);
        memory->kernel = t->device->kernel;
    }
    if (status == WARPRSA_OK)
        s->test = test;
    else
        note(t, test, status);
}

/* A warprsa_run_kernel_tests. */
static void run(void *arg, warprsa_kernel_test *tests, size_t count)
{
    tester *t = arg;

    for (size_t i = 0; i < count; i++) {
        end(t, tests[i].stream);
        begin(t, &tests[i]);
    }
    for (unsigned s = 0; s < t->device->config.streams; s++)
        end(t, s);
}

/* Says that a kernel is left out: in the trace, and in the device's
 * description, which warprsa-stat shows. */
static void say_wrong(warprsa_device *device, const warprsa_kernel *kernel)
{
    char line[sizeof(device->description) + 160];
    const size_t length = strlen(device->description);

    snprintf(device->description + length, sizeof(device->description) - length,
             ", without %s", kernel->name);
    if (device->config.trace == NULL)
        return;
    snprintf(line, sizeof(line),
             "%s: the kernel %s has failed its known-answer test and is not "
             "used",
             device->model, kernel->name);
    device->config.trace(device->config.trace_arg, 0, line);
}

/* Says which test is the reason not to use the device. */
static void say_failed(const warprsa_device *device,
                       const warprsa_kernel_test *test)
{
    char line[sizeof(device->description) + 160];
    const warprsa_kernel *kernel = kernel_of(device, test);

    if (!warprsa_kernel_takes(kernel, &device->gpu, test->size))
        kernel = default_of(device);
    if (device->config.trace == NULL)
        return;
    snprintf(line, sizeof(line),
             "%s: the known-answer test of RSA-%u by the kernel %s on stream "
             "%u: %s",
             device->description, warprsa_class_bits(test->size), kernel->name,
             test->stream, warprsa_status_text(test->status));
    device->config.trace(device->config.trace_arg, 1, line);
}

/* Has the driver load the code of one class, which `kernel` computes if it
 * can. */
static void load_code(const warprsa_device *device,
                      const warprsa_kernel *kernel, warprsa_size_class size)
{
    const warprsa_fold_batch none = {.batch.direct_table_reads =
                                         device->config.direct_table_reads};

    if (kernel == NULL || !warprsa_kernel_takes(kernel, &device->gpu, size))
        kernel = default_of(device);
    if (kernel->fold[size] != NULL)
        (void)kernel->fold[size]->launch(&none, 0, NULL);
    else
        (void)kernel->launch[size](&none.batch, NULL);
}

/* If one kernel is for all batches and takes only requests of one key: the one
 * that computes the others. Otherwise NULL. */
static const warprsa_kernel *rest_of(const warprsa_device *device)
{
    return device->kernel != NULL && device->kernel->shares_key
               ? default_of(device)
               : NULL;
}

void warprsa_cuda_load_kernels(warprsa_device *device)
{
    const warprsa_kernel_timings *timings = &device->timings;
    const warprsa_kernel *rest = rest_of(device);

    for (size_t i = 0; i < timings->count; i++)
        load_code(device, timings->row[i].kernel, timings->row[i].size);
    for (int i = 0; i < WARPRSA_CLASS_LARGE; i++) {
        const warprsa_size_class size = (warprsa_size_class)i;

        if (warprsa_fastest_kernel(timings, size, 1) == NULL)
            load_code(device, device->kernel, size);
        if (rest != NULL)
            load_code(device, rest, size);
    }
    /* Whatever it is, a test tells. */
    (void)cudaGetLastError();
}

warprsa_status warprsa_cuda_prove_kernels(warprsa_device *device)
{
    const unsigned streams = device->config.streams;
    tester t = {device, calloc(streams, sizeof(*t.streams)), WARPRSA_OK};
    warprsa_proof proof;
    warprsa_status status;

    if (t.streams == NULL)
        return WARPRSA_NO_MEMORY;
    status = warprsa_prove_kernels(&device->timings, rest_of(device), streams,
                                   run, &t, &proof);
    free(t.streams);
    for (unsigned i = 0; i < proof.wrong_count; i++)
        say_wrong(device, proof.wrong[i]);
    if (status != WARPRSA_OK)
        say_failed(device, &proof.failed);
    return status;
}
