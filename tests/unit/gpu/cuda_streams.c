/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The streams of the engine on a GPU, without a GPU: those that a device begins
 * with, those that are added, what memory they take, and what happens when any
 * allocation fails. CUDA is played by this file. Its device memory is the
 * host's, it copies at once, and its one kernel writes the results of the
 * known-answer test.
 */
#include "tests/unit/support/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "gpu/cuda/library.h"
#include "gpu/kernels/kernels.h"
#include "gpu/known_answer.h"

enum {
    BLOCKS_MAX = 512,
    STREAMS = 24,
    FIRST = 4,
    BATCH_MAX = 256,
    ADDED_BATCH_MAX = BATCH_MAX / WARPRSA_ADDED_STREAM_SHARE,
    TABLE_BYTES = 4096, /* of a request */
    TIMEOUT_MS = 60000,
};

static struct block {
    void *at;
    size_t size;
} blocks[BLOCKS_MAX];
static size_t bytes_in_use;
static unsigned blocks_in_use, streams_in_use;
static unsigned dirty;         /* blocks that were freed with something in */
static unsigned allowed;       /* allocations, before one fails */
static cudaError_t last_error; /* what cudaGetLastError() reports */
static cudaError_t fails_with; /* what an allocation fails with */

static cudaError_t allocate(void **out, size_t size)
{
    unsigned i = 0;

    if (allowed == 0) {
        last_error = fails_with;
        return fails_with;
    }
    allowed--;
    while (blocks[i].at != NULL)
        assert_true(++i < BLOCKS_MAX);
    /* Not zeroed, as the driver's is not. */
    blocks[i] = (struct block){malloc(size), size};
    assert_non_null(blocks[i].at);
    memset(blocks[i].at, 0xA5, size);
    *out = blocks[i].at;
    bytes_in_use += size;
    blocks_in_use++;
    return cudaSuccess;
}

static cudaError_t release(void *at)
{
    unsigned i = 0;

    if (at == NULL)
        return cudaSuccess;
    while (blocks[i].at != at)
        assert_true(++i < BLOCKS_MAX);
    for (size_t b = 0; b < blocks[i].size; b++)
        if (((const uint8_t *)at)[b] != 0) {
            dirty++;
            break;
        }
    bytes_in_use -= blocks[i].size;
    blocks_in_use--;
    blocks[i] = (struct block){NULL, 0};
    free(at);
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **out, size_t size)
{
    return allocate(out, size);
}

cudaError_t cudaHostAlloc(void **out, size_t size, unsigned flags)
{
    return allocate(out, size);
}

cudaError_t cudaFree(void *at)
{
    return release(at);
}

cudaError_t cudaFreeHost(void *at)
{
    return release(at);
}

cudaError_t cudaMemset(void *at, int value, size_t size)
{
    memset(at, value, size);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *at, int value, size_t size,
                            cudaStream_t stream)
{
    return cudaMemset(at, value, size);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size,
                            enum cudaMemcpyKind kind, cudaStream_t stream)
{
    memcpy(to, from, size);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    void *at = NULL;

    if (allowed == 0) {
        last_error = fails_with;
        return fails_with;
    }
    allowed--;
    at = malloc(1);
    assert_non_null(at);
    *stream = at;
    streams_in_use++;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    free(stream);
    streams_in_use--;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties,
                                    int device)
{
    memset(properties, 0, sizeof(*properties));
    snprintf(properties->name, sizeof(properties->name), "played");
    properties->major = 9;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute,
                                   int device)
{
    *value = attribute == cudaDevAttrComputeCapabilityMajor   ? 9
             : attribute == cudaDevAttrComputeCapabilityMinor ? 0
             : attribute == cudaDevAttrMultiProcessorCount    ? 132
                                                              : 2;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = 12000;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = last_error;

    last_error = cudaSuccess;
    return error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess ? "no error" : "an error";
}

/* The only kernel. CUDA reports a failed allocation once more here, if nobody
 * has asked for it. */
static int compute(const warprsa_batch *batch, warprsa_size_class size)
{
    uint8_t result[WARPRSA_MODULUS_BYTES_MAX];
    const size_t bytes = warprsa_known_answer_result(result, size);

    for (uint32_t i = 0; i < batch->count; i++) {
        memcpy(batch->output + (size_t)i * batch->bytes_stride, result, bytes);
        batch->status[i] = WARPRSA_OK;
        batch->result[(size_t)i * WARPRSA_FULL_SAMPLES] = 1;
    }
    memset(batch->table, 1, batch->count * TABLE_BYTES);
    return (int)cudaGetLastError();
}

#define COMPUTE(bits)                                                          \
    static int compute_##bits(const warprsa_batch *batch,                      \
                              struct CUstream_st *stream)                      \
    {                                                                          \
        return compute(batch, WARPRSA_CLASS_##bits);                           \
    }
COMPUTE(1024)
COMPUTE(2048)
COMPUTE(3072)
COMPUTE(4096)

static uint32_t at_once(warprsa_size_class size)
{
    return 8;
}

static size_t table_bytes(warprsa_size_class size, size_t count)
{
    return count * TABLE_BYTES;
}

static const warprsa_kernel played = {
    .name = "played",
    .at_once = at_once,
    .launch = {compute_1024, compute_2048, compute_3072, compute_4096},
    .table_bytes = table_bytes,
};

/* In the place of gpu/kernels/kernels.c. */
const warprsa_kernel *const warprsa_kernels[WARPRSA_KERNELS] = {
    &played, &played, &played, &played, &played, &played, &played};

const warprsa_kernel *warprsa_kernel_named(const char *name)
{
    return &played;
}

const warprsa_kernel *warprsa_kernel_by_default(bool int32_keys)
{
    return &played;
}

bool warprsa_kernel_runs(const warprsa_kernel *kernel, const warprsa_gpu *gpu)
{
    return true;
}

bool warprsa_kernel_takes(const warprsa_kernel *kernel, const warprsa_gpu *gpu,
                          warprsa_size_class size)
{
    return kernel->launch[size] != NULL;
}

bool warprsa_runs_machine_code(uint32_t capability, const uint32_t *of,
                               size_t count)
{
    return true;
}

static int give_random(void *arg, void *out, size_t length)
{
    memset(out, 0x5A, length);
    return 1;
}

static const warprsa_engine *const engine = &warprsa_cuda_engine;
static warprsa_device *device;

static warprsa_status open_device(unsigned first_streams)
{
    const warprsa_device_config config = {.streams = STREAMS,
                                          .first_streams = first_streams,
                                          .batch_max = BATCH_MAX,
                                          .keys_max = 2,
                                          .kernel = "played",
                                          .random = give_random};
    char why[160];

    return engine->open(&config, &device, why, sizeof(why));
}

static int plenty(void **state)
{
    allowed = 1000000;
    fails_with = cudaErrorMemoryAllocation;
    last_error = cudaSuccess;
    dirty = 0;
    return 0;
}

static void close_device(void)
{
    assert_true(engine->close(device));
    assert_int_equal(blocks_in_use, 0);
    assert_int_equal(bytes_in_use, 0);
    assert_int_equal(streams_in_use, 0);
    assert_int_equal(dirty, 0);
}

/* Runs a batch of the known-answer test's key. */
static warprsa_status run(unsigned stream, warprsa_size_class size,
                          size_t count)
{
    static warprsa_task tasks[BATCH_MAX];
    static uint8_t input[WARPRSA_MODULUS_BYTES_MAX];
    static uint8_t output[WARPRSA_MODULUS_BYTES_MAX];
    warprsa_private_key key;
    warprsa_status status;
    uint32_t index;

    warprsa_known_answer_key(&key, size);
    assert_int_equal(engine->load_key(device, &key, &index), WARPRSA_OK);
    for (size_t i = 0; i < count; i++)
        tasks[i] =
            (warprsa_task){.key = index, .input = input, .output = output};
    status = engine->start(device, stream, size, tasks, count);
    if (status == WARPRSA_OK) {
        assert_int_equal(engine->wait(device, stream, TIMEOUT_MS), WARPRSA_OK);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(tasks[i].status, WARPRSA_OK);
    }
    assert_int_equal(engine->unload_key(device, index), WARPRSA_OK);
    return status;
}

/* The streams that are there; one of them is for keys. */
static unsigned streams_there(void)
{
    return streams_in_use - 1;
}

/* The first streams have memory for the longest batches, and each added one for
 * a fourth. */
TEST_IN(added_streams_take_a_fourth, plenty, NULL)
{
    size_t begun, of_first;

    assert_int_equal(open_device(1), WARPRSA_OK);
    begun = bytes_in_use;
    close_device();
    assert_int_equal(open_device(2), WARPRSA_OK);
    of_first = bytes_in_use - begun;
    close_device();

    assert_int_equal(open_device(FIRST), WARPRSA_OK);
    assert_int_equal(streams_there(), FIRST);
    assert_int_equal(bytes_in_use, begun + (FIRST - 1) * of_first);
    for (unsigned s = FIRST; s < STREAMS; s++) {
        const size_t before = bytes_in_use;

        assert_int_equal(engine->add_stream(device, s), WARPRSA_OK);
        assert_in_range(bytes_in_use - before, 1, of_first / 4 + 4096);
        assert_int_equal(run(s, WARPRSA_CLASS_4096, ADDED_BATCH_MAX),
                         WARPRSA_OK);
        assert_int_equal(run(s, WARPRSA_CLASS_4096, ADDED_BATCH_MAX + 1),
                         WARPRSA_NO_MEMORY);
    }
    assert_int_equal(streams_there(), STREAMS);
    assert_int_equal(run(0, WARPRSA_CLASS_4096, BATCH_MAX), WARPRSA_OK);
    close_device();
}

TEST_IN(a_stream_is_added_once, plenty, NULL)
{
    size_t before;

    assert_int_equal(open_device(FIRST), WARPRSA_OK);
    before = bytes_in_use;
    assert_int_equal(engine->add_stream(device, 0), WARPRSA_OK);
    assert_int_equal(bytes_in_use, before);
    assert_int_equal(engine->add_stream(device, FIRST), WARPRSA_OK);
    before = bytes_in_use;
    assert_int_equal(engine->add_stream(device, FIRST), WARPRSA_OK);
    assert_int_equal(bytes_in_use, before);
    close_device();
}

/* The control: a device that is to have all streams from the beginning has. */
TEST_IN(all_streams_at_once, plenty, NULL)
{
    assert_int_equal(open_device(0), WARPRSA_OK);
    assert_int_equal(streams_there(), STREAMS);
    assert_int_equal(run(STREAMS - 1, WARPRSA_CLASS_2048, BATCH_MAX),
                     WARPRSA_OK);
    close_device();
}

/* Whichever allocation of an added stream fails, nothing is left of it, the
 * others go on, and it can be added later. */
TEST_IN(any_allocation_of_an_added_stream_fails, plenty, NULL)
{
    unsigned failed = 0;
    warprsa_status status = WARPRSA_NO_MEMORY;
    size_t before;

    assert_int_equal(open_device(FIRST), WARPRSA_OK);
    before = bytes_in_use;
    while (status == WARPRSA_NO_MEMORY) {
        allowed = failed;
        status = engine->add_stream(device, FIRST);
        allowed = 1000000;
        if (status != WARPRSA_NO_MEMORY)
            break;
        failed++;
        assert_int_equal(bytes_in_use, before);
        assert_int_equal(streams_there(), FIRST);
        assert_int_equal(last_error, cudaSuccess);
        assert_int_equal(run(1, WARPRSA_CLASS_2048, BATCH_MAX / 8), WARPRSA_OK);
    }
    assert_int_equal(status, WARPRSA_OK);
    assert_int_equal(failed, 4); /* stream, staging twice, tables */
    assert_int_equal(run(FIRST, WARPRSA_CLASS_2048, ADDED_BATCH_MAX),
                     WARPRSA_OK);
    close_device();
}

/* An error that is not about memory is the device's. */
TEST_IN(another_error_is_the_devices, plenty, NULL)
{
    assert_int_equal(open_device(FIRST), WARPRSA_OK);
    fails_with = cudaErrorLaunchFailure;
    allowed = 0;
    assert_int_equal(engine->add_stream(device, FIRST), WARPRSA_DEVICE_ERROR);
    allowed = 1000000;
    close_device();
}

/* Whichever allocation fails as a device is opened: without memory for one
 * stream it is not opened, with memory for some of the first streams it has
 * these, and the others can be added with memory for the longest batches. */
TEST_IN(any_allocation_of_an_opening_fails, plenty, NULL)
{
    unsigned not_opened = 0, streams = 0, with_fewer = 0;

    for (unsigned i = 0; streams < FIRST; i++) {
        warprsa_status status;

        allowed = i;
        status = open_device(FIRST);
        allowed = 1000000;
        if (status != WARPRSA_OK) {
            assert_int_equal(streams, 0);
            not_opened++;
            assert_int_equal(blocks_in_use, 0);
            assert_int_equal(streams_in_use, 0);
            continue;
        }
        assert_in_range(streams_there(), streams > 0 ? streams : 1, FIRST);
        streams = streams_there();
        with_fewer += streams < FIRST;
        for (unsigned s = 0; s < FIRST; s++) {
            assert_int_equal(engine->add_stream(device, s), WARPRSA_OK);
            assert_int_equal(run(s, WARPRSA_CLASS_2048, BATCH_MAX), WARPRSA_OK);
        }
        close_device();
    }
    assert_true(not_opened > 4);
    assert_int_equal(with_fewer, 4 * (FIRST - 1));
}

/* The tables of all streams together do not grow beyond those of the first
 * streams with their longest batches. Batches for which that leaves too little
 * are computed in pieces. */
TEST_IN(tables_keep_to_their_budget, plenty, NULL)
{
    const size_t most = (size_t)FIRST * BATCH_MAX * TABLE_BYTES;
    size_t staging;
    unsigned allocations;

    assert_int_equal(open_device(FIRST), WARPRSA_OK);
    for (unsigned s = FIRST; s < STREAMS; s++)
        assert_int_equal(engine->add_stream(device, s), WARPRSA_OK);
    staging = bytes_in_use -
              (FIRST * BATCH_MAX + (STREAMS - FIRST) * ADDED_BATCH_MAX) / 8 *
                  TABLE_BYTES;
    for (unsigned s = STREAMS; s-- > 0;) {
        assert_int_equal(
            run(s, WARPRSA_CLASS_2048, s < FIRST ? BATCH_MAX : ADDED_BATCH_MAX),
            WARPRSA_OK);
        assert_in_range(bytes_in_use, staging, staging + most);
    }
    /* It was needed. */
    assert_true(bytes_in_use > staging + most - BATCH_MAX * TABLE_BYTES);
    allocations = allowed;
    assert_int_equal(run(0, WARPRSA_CLASS_2048, BATCH_MAX), WARPRSA_OK);
    assert_int_equal(allowed, allocations); /* not tried in vain */
    close_device();
}

RUN_TESTS(NULL, NULL)
