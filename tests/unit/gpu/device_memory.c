/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How much of a GPU's memory the engine takes, counted without a GPU: its own
 * code allocates, with its real kernels, and this file plays as much of CUDA as
 * an opening needs before it loads its first key. The GPU is an H100.
 */
#include "tests/unit/support/played_cuda.h"
#include "tests/unit/support/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batching/daemon/server/options.h"
#include "batching/queue/engines.h"
#include "gpu/cuda/cuda_device.h"
#include "gpu/cuda/library.h"
#include "gpu/kernels/fold_common/fold_kernel.h"
#include "gpu/kernels/kernels.h"
#include "provider/config.h"

#define MIB ((size_t)1 << 20)

enum {
    BUDGET_MIB = 1024,
    /* CUDA's context had 346 MiB of an H100, with 24 streams, as many hardware
     * queues and all kernels but those for large keys: 1,000 measured, less
     * what this test counted then. */
    OF_CUDA_MIB = 360,
    SMS = 132,
    FEWEST = 16, /* items of a batch of 2,048 requests of eight keys: 128 to */
    MOST = 24,   /* each, and one for the rest of each key */
    AT_ONCE = 4,
};

static char memory; /* stands for all memory of the device */
static size_t mib_in_use, mib_at_most;

/* The driver gives whole pages of 2 MiB. */
static size_t mib_of(size_t bytes)
{
    return (bytes + 2 * MIB - 1) / (2 * MIB) * 2;
}

/* All that is freed is freed at the end, so nobody counts that. */
static cudaError_t count(void **out, size_t size)
{
    *out = &memory;
    mib_in_use += mib_of(size);
    if (mib_in_use > mib_at_most)
        mib_at_most = mib_in_use;
    return cudaSuccess;
}

PLAYED(cudaMalloc, void **out, size_t size)
{
    return count(out, size);
}

PLAYED(cudaMallocFromPoolAsync, void **out, size_t size, cudaMemPool_t pool,
       cudaStream_t stream)
{
    return count(out, size);
}

PLAYED(cudaHostAlloc, void **out, size_t size, unsigned flags)
{
    *out = malloc(size);
    return *out != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

PLAYED(cudaFree, void *at)
{
    return cudaSuccess;
}

PLAYED(cudaFreeHost, void *at)
{
    free(at);
    return cudaSuccess;
}

PLAYED(cudaMemset, void *at, int value, size_t size)
{
    return cudaSuccess;
}

/* This ends an opening: its first key cannot be loaded. */
PLAYED(cudaMemcpyAsync, void *to, const void *from, size_t size,
       enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return cudaErrorUnknown;
}

PLAYED(cudaDeviceGetDefaultMemPool, cudaMemPool_t *pool, int device)
{
    *pool = (cudaMemPool_t)(void *)&memory;
    return cudaSuccess;
}

PLAYED(cudaStreamCreateWithFlags, cudaStream_t *stream, unsigned flags)
{
    *stream = (cudaStream_t)(void *)&memory;
    return cudaSuccess;
}

PLAYED(cudaStreamDestroy, cudaStream_t stream)
{
    return cudaSuccess;
}

PLAYED(cudaStreamSynchronize, cudaStream_t stream)
{
    return cudaSuccess;
}

PLAYED(cudaDeviceSynchronize, void)
{
    return cudaSuccess;
}

PLAYED(cudaSetDevice, int device)
{
    return cudaSuccess;
}

PLAYED(cudaDeviceGetAttribute, int *value, enum cudaDeviceAttr attribute,
       int device)
{
    *value = attribute == cudaDevAttrComputeCapabilityMajor             ? 9
             : attribute == cudaDevAttrMultiProcessorCount              ? SMS
             : attribute == cudaDevAttrMemoryPoolsSupported             ? 1
             : attribute == cudaDevAttrSingleToDoublePrecisionPerfRatio ? 2
                                                                        : 0;
    return cudaSuccess;
}

PLAYED(cudaGetDeviceProperties, struct cudaDeviceProp *properties, int device)
{
    memset(properties, 0, sizeof(*properties));
    snprintf(properties->name, sizeof(properties->name),
             "NVIDIA H100 80GB HBM3");
    properties->major = 9;
    return cudaSuccess;
}

/* As CUDA 12 calls it. */
PLAYED(cudaGetDeviceProperties_v2, struct cudaDeviceProp *properties,
       int device)
{
    return __wrap_cudaGetDeviceProperties(properties, device);
}

/* A row of a configuration, and what it is by default. */
typedef struct row {
    const char *name, *initial;
} row;

#define ROW(kind, name, initial, help) {#name, initial},
static const row of_provider[] = {WARPRSA_EACH_PARAMETER(ROW){NULL, NULL}};
static const row of_daemon[] = {WARPRSA_EACH_OPTION(ROW){NULL, NULL}};

static unsigned number_of(const row *rows, const char *name)
{
    while (strcmp(rows->name, name) != 0)
        rows++;
    return strcmp(rows->initial, "auto") == 0
               ? WARPRSA_AUTO
               : (unsigned)strtoul(rows->initial, NULL, 10);
}

static warprsa_gpu h100(void)
{
    warprsa_gpu gpu;

    assert_int_equal(warprsa_gpu_facts(&gpu, 0), cudaSuccess);
    return gpu;
}

/* What a device takes at most, with these defaults. */
static size_t mib_by_default(const row *rows)
{
    const warprsa_engines_wanted wanted = {
        .engine = WARPRSA_ENGINE_CUDA,
        .devices = 1,
        .streams = number_of(rows, "streams"),
        .batch_max = number_of(rows, "batch_max")};
    const uint32_t keys_max = number_of(rows, "keys_max");
    const warprsa_gpu gpu = h100();
    warprsa_queue_config queue = {0};
    warprsa_device_config config = {.keys_max = keys_max};
    warprsa_shared_tables tables = {0};
    warprsa_device *device;
    char why[256];
    size_t blocks, large;

    assert_true(warprsa_engines_choose(&wanted, &queue, why, sizeof(why)));
    config.streams = queue.engines[0].streams;
    config.batch_max = queue.engines[0].batch_max;
    mib_in_use = mib_at_most = 0;
    assert_int_equal(
        warprsa_cuda_engine.open(&config, &device, why, sizeof(why)),
        WARPRSA_DEVICE_ERROR);
    assert_non_null(strstr(why, "known-answer test"));
    assert_int_equal(
        warprsa_shared_tables_init(
            &tables, warprsa_batch_longest_table(&gpu, config.batch_max), NULL),
        cudaSuccess);
    blocks =
        WARPRSA_TABLE_BLOCKS * mib_of(WARPRSA_TABLE_UNITS * tables.unit_bytes);
    large = mib_of(warprsa_cuda_large_places(keys_max) *
                   warprsa_form_large.key_bytes);
    print_message("opened %zu MiB, blocks %zu, large keys %zu\n", mib_at_most,
                  blocks, large);
    warprsa_shared_tables_free(&tables);
    return mib_at_most + blocks + large;
}

/* Whatever a program or the daemon does with its defaults. */
TEST(defaults_keep_to_the_budget)
{
    assert_in_range(mib_by_default(of_provider), 1, BUDGET_MIB - OF_CUDA_MIB);
    assert_in_range(mib_by_default(of_daemon), 1, BUDGET_MIB - OF_CUDA_MIB);
}

/* A batch of so many items, with as many in each other one that is under way:
 * it gets all it can use, whichever parts of the blocks are taken. */
static void start(warprsa_table_memory *table, unsigned items,
                  unsigned under_way)
{
    const warprsa_fold_kernel *fold =
        warprsa_kernel_fold.fold[WARPRSA_CLASS_4096];
    const size_t wanted =
        fold->table_bytes(items, (size_t)items * (under_way + 1), SMS);

    warprsa_table_memory_take(table, wanted);
    assert_true(table->bytes >= wanted);
}

/* Batches begin and end in any order, up to four at once. */
static void fold_at_once(warprsa_shared_tables *tables, unsigned items)
{
    warprsa_table_memory table[AT_ONCE];
    bool runs[AT_ONCE] = {false};
    unsigned under_way = 0;
    uint32_t random = items;

    for (unsigned i = 0; i < AT_ONCE; i++)
        table[i] = (warprsa_table_memory){.shared = tables};
    for (unsigned turn = 0; turn < 10000; turn++) {
        const unsigned i = (random >> 16) % AT_ONCE;

        random = random * 1664525 + 1013904223;
        if (runs[i])
            warprsa_table_memory_give(&table[i]);
        else
            start(&table[i], items, under_way);
        under_way = runs[i] ? under_way - 1 : under_way + 1;
        runs[i] = !runs[i];
    }
    for (unsigned i = 0; i < AT_ONCE; i++)
        warprsa_table_memory_give(&table[i]);
}

/* The blocks are enough for what they are for. */
TEST(four_batches_of_rsa4096_are_cut_as_they_like)
{
    const warprsa_gpu gpu = h100();
    warprsa_shared_tables tables = {0};

    if (warprsa_kernel_fold.fold[WARPRSA_CLASS_4096] == NULL)
        skip(); /* not built */
    assert_int_equal(
        warprsa_shared_tables_init(
            &tables, warprsa_batch_longest_table(&gpu, 2688), NULL),
        cudaSuccess);
    for (unsigned items = FEWEST; items <= MOST; items++)
        fold_at_once(&tables, items);
    warprsa_shared_tables_free(&tables);
}

/* Fewer items are cut into more blocks, and many under way are not cut. */
TEST(a_fold_asks_for_what_it_uses)
{
    static const warprsa_size_class classes[] = {
        WARPRSA_CLASS_2048, WARPRSA_CLASS_3072, WARPRSA_CLASS_4096};

    for (size_t c = 0; c < sizeof(classes) / sizeof(classes[0]); c++) {
        const warprsa_fold_kernel *fold = warprsa_kernel_fold.fold[classes[c]];
        const size_t whole = fold == NULL ? 0 : fold->table_bytes(1, 1000, SMS);

        if (fold == NULL)
            continue;
        assert_true(fold->table_bytes(1, 1, SMS) > whole);
        for (size_t items = 1; items <= SMS; items++)
            assert_int_equal(fold->table_bytes(items, 1000, SMS),
                             items * whole);
    }
}

RUN_TESTS(NULL, NULL)
