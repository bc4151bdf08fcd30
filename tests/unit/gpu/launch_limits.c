/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How much shared memory launches ask for, seen without a GPU: the kernels'
 * real launches, of batches of all sizes, while this file plays CUDA. A launch
 * may not ask for more than the limit of its function. Threads launch the same
 * function at once, each on a stream, and each sets the limit before, so it has
 * to be the same every time: a lower one would be that of another thread's
 * launch, which then fails. Nor may it be more than the GPU has.
 */
#include "tests/unit/support/played_cuda.h"
#include "tests/unit/support/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/kernels/fold_common/fold_kernel.h"
#include "gpu/kernels/kernels.h"
#include "gpu/select/estimate.h"

enum {
    MOST_UNASKED = 48 << 10, /* bytes of a block whose function sets no limit */
    FUNCTIONS_MAX = 256,
    BATCH_MAX = 16384,
};

/* GPUs, by what launches depend on. */
static const struct card {
    warprsa_gpu gpu;
    int most_shared; /* bytes of a block, if its function asks for them */
} cards[] = {
    /* A100, A40, H100, RTX PRO 6000 */
    {{.sms = 108, .capability = 80, .singles_per_double = 2}, 163 << 10},
    {{.sms = 84, .capability = 86, .singles_per_double = 32}, 99 << 10},
    {{.sms = 132, .capability = 90, .singles_per_double = 2}, 227 << 10},
    {{.sms = 188, .capability = 120, .singles_per_double = 64}, 99 << 10},
};
static const struct card *card;

static struct {
    const void *function;
    int limit;
} limits[FUNCTIONS_MAX];

static unsigned functions, launches;

static int limit_of(const void *function)
{
    for (unsigned i = 0; i < functions; i++)
        if (limits[i].function == function)
            return limits[i].limit;
    return MOST_UNASKED;
}

PLAYED(cudaFuncSetAttribute, const void *function, enum cudaFuncAttribute which,
       int value)
{
    assert_int_equal(which, cudaFuncAttributeMaxDynamicSharedMemorySize);
    assert_in_range(value, 0, card->most_shared);
    for (unsigned i = 0; i < functions; i++)
        if (limits[i].function == function) {
            assert_int_equal(limits[i].limit, value);
            return cudaSuccess;
        }
    assert_true(functions < FUNCTIONS_MAX);
    limits[functions].function = function;
    limits[functions++].limit = value;
    return cudaSuccess;
}

/* What a <<<>>> calls, up to CUDA 12. */
PLAYED(cudaLaunchKernel, const void *function, dim3 grid, dim3 block,
       void **arguments, size_t shared, cudaStream_t stream)
{
    assert_in_range(grid.x, 1, 1 << 30);
    assert_in_range(block.x, 1, 1024);
    assert_in_range(shared, 0, limit_of(function));
    launches++;
    return cudaSuccess;
}

#if CUDART_VERSION >= 13000
/* What it calls since CUDA 13. */
PLAYED(__cudaGetKernel, cudaKernel_t *kernel, const void *function)
{
    *kernel = (cudaKernel_t)(uintptr_t)function;
    return cudaSuccess;
}

PLAYED(__cudaLaunchKernel, cudaKernel_t kernel, dim3 grid, dim3 block,
       void **arguments, size_t shared, cudaStream_t stream)
{
    return __wrap_cudaLaunchKernel((const void *)kernel, grid, block, arguments,
                                   shared, stream);
}
#endif

PLAYED(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *blocks,
       const void *function, int threads, size_t shared, unsigned flags)
{
    *blocks = shared == 0 ? 1 : card->most_shared / (int)shared;
    return cudaSuccess;
}

PLAYED(cudaFuncGetAttributes, struct cudaFuncAttributes *attributes,
       const void *function)
{
    memset(attributes, 0, sizeof(*attributes));
    attributes->ptxVersion = (int)card->gpu.capability;
    return cudaSuccess;
}

PLAYED(cudaDeviceGetAttribute, int *value, enum cudaDeviceAttr attribute,
       int device)
{
    *value = 0;
    if (attribute == cudaDevAttrMultiProcessorCount)
        *value = (int)card->gpu.sms;
    if (attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin)
        *value = card->most_shared;
    if (attribute == cudaDevAttrComputeCapabilityMajor)
        *value = (int)card->gpu.capability / 10;
    return cudaSuccess;
}

/* A batch that is launched but never computed. */
static warprsa_batch batch_of(uint32_t count)
{
    static double table[1];

    return (warprsa_batch){.table = table,
                           .count = count,
                           .under_way = count,
                           .bytes_stride = 512,
                           .windows = 400};
}

static void launch_whole(const warprsa_kernel *kernel, int size)
{
    for (uint32_t count = 1; count <= BATCH_MAX; count += 1 + count / 3) {
        const warprsa_batch batch = batch_of(count);

        launches = 0;
        assert_int_equal(kernel->launch[size](&batch, NULL), cudaSuccess);
        assert_int_not_equal(launches, 0);
    }
}

/* A batch of so many items, with as many of other batches under way. */
static void launch_items(const warprsa_fold_kernel *fold, uint32_t items,
                         uint32_t others)
{
    const warprsa_fold_batch batch = {.batch = batch_of(items * fold->item_max),
                                      .item_count = items,
                                      .all_items = items + others,
                                      .sms = card->gpu.sms};

    launches = 0;
    assert_int_equal(
        fold->launch(&batch,
                     fold->table_bytes(items, items + others, card->gpu.sms),
                     NULL),
        cudaSuccess);
    assert_int_not_equal(launches, 0);
}

static void launch_all(const warprsa_kernel *kernel)
{
    const uint32_t most = 4 * card->gpu.sms;

    for (int size = 0; size < WARPRSA_CLASSES; size++) {
        if (kernel->launch[size] != NULL)
            launch_whole(kernel, size);
        if (kernel->fold[size] == NULL)
            continue;
        for (uint32_t items = 1; items <= most; items += 1 + items / 3) {
            launch_items(kernel->fold[size], items, 0);
            launch_items(kernel->fold[size], items, most);
        }
    }
}

/* Whether a card may use a kernel; one that is second to another it may be told
 * to. */
static bool may_use(const warprsa_kernel *kernel)
{
    return warprsa_kernel_suits(kernel, &card->gpu, false) ||
           warprsa_kernel_suits(kernel, &card->gpu, true) ||
           (kernel->second_to != NULL &&
            warprsa_kernel_runs(kernel, &card->gpu));
}

TEST(limits_stay)
{
    for (size_t c = 0; c < sizeof(cards) / sizeof(*cards); c++) {
        card = &cards[c];
        functions = 0;
        for (unsigned k = 0; k < WARPRSA_KERNELS; k++)
            if (may_use(warprsa_kernels[k]))
                launch_all(warprsa_kernels[k]);
        assert_int_not_equal(functions, 0);
    }
}

RUN_TESTS(NULL, NULL)
