/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The items of a batch as the three kernels of "narrow_fold" have them: their
 * requests and their scratch memory.
 */
#ifndef WARPRSA_GPU_KERNELS_NARROW_FOLD_ITEMS_CUH
#define WARPRSA_GPU_KERNELS_NARROW_FOLD_ITEMS_CUH

#define WARPRSA_BLOCK_ARITH
/* The size class has one shape. */
#if WARPRSA_KERNEL_BITS == 2048
#define WARPRSA_LOW_LATENCY_SHAPE WARPRSA_BLOCK_SHAPE_2048
#elif WARPRSA_KERNEL_BITS == 3072
#define WARPRSA_LOW_LATENCY_SHAPE WARPRSA_BLOCK_SHAPE_3072
#define WARPRSA_NARROW_LIMBS      30
#else
#define WARPRSA_LOW_LATENCY_SHAPE WARPRSA_BLOCK_SHAPE_4096
#define WARPRSA_NARROW_LIMBS      40
#endif

#include "gpu/kernels/fold_common/fold_kernel.h"
#include "gpu/kernels/narrow_fold/narrow_matrix.h"
#include "gpu/kernels/narrow_fold/narrow_operation.h"
#include "gpu/kernels/narrow_fold/parts.h"
#include "gpu/kernels/request.cuh"

static constexpr warprsa_shape warprsa_narrow_shape = WARPRSA_LOW_LATENCY_SHAPE;
static constexpr int THREADS_PER_NUMBER =
    warprsa_narrow_shape.threads_per_number;
static constexpr int LIMBS_PER_THREAD = warprsa_narrow_shape.limbs_per_thread;
static constexpr int LIMBS = WARPRSA_NARROW_LIMBS;
static constexpr int ROUNDS = WARPRSA_NARROW_ROUNDS;
/* Threads of a block of the powers, and of another. */
static constexpr unsigned POWER_THREADS = WARPRSA_NARROW_THREADS;
static constexpr unsigned THREADS = 128;
static constexpr unsigned WARPS = THREADS / 32;

static_assert(warprsa_narrow_shape.limbs == LIMBS, "the shape is the class's");
static_assert(2 * THREADS_PER_NUMBER == 32, "a warp for a request");
static_assert(WARPRSA_NARROW_MATRIX_COLUMNS % WARPS == 0,
              "a warp for each column of a matrix");

/* Doubles of a request's exchange buffer. */
static constexpr unsigned EXCHANGE =
    WARPRSA_EXCHANGE_DOUBLES(THREADS_PER_NUMBER, LIMBS_PER_THREAD);

/* What an item has in the batch's table. SECRET. */
struct warprsa_narrow_item {
    warprsa_narrow_key key[2]; /* if it is the first of its key */
    /* What one block has of the powers that another one ends, and whether it is
     * there. */
    double begun[2][WARPRSA_NARROW_NUMBERS][LIMBS];
    uint32_t is_begun[2];
    uint32_t blocks_started; /* of the powers: in the first item */
    uint32_t shorts;         /* short items before this one (parts.h) */
    double number[2][WARPRSA_NARROW_NUMBERS][LIMBS];
};

/* The numbers are the end of it: all before them is wiped together. */
static_assert(offsetof(warprsa_narrow_item, number) +
                      sizeof(warprsa_narrow_item::number) ==
                  sizeof(warprsa_narrow_item),
              "no padding behind the numbers");

/* The first request of the items, and the number of all of theirs: they lie in
 * order, without gaps. */
static __device__ __forceinline__ uint32_t
warprsa_narrow_first(const warprsa_fold_batch &launch)
{
    return launch.items[0].first;
}

static __device__ __forceinline__ uint32_t
warprsa_narrow_requests(const warprsa_fold_batch &launch)
{
    const warprsa_fold_item last = launch.items[launch.item_count - 1];

    return last.first + last.count - warprsa_narrow_first(launch);
}

static __device__ __forceinline__ warprsa_narrow_item *
warprsa_narrow_scratch(const warprsa_fold_batch &launch, uint32_t item)
{
    return reinterpret_cast<warprsa_narrow_item *>(launch.batch.table) + item;
}

static __device__ __forceinline__ uint32_t
warprsa_narrow_item_key(const warprsa_fold_batch &launch, uint32_t item)
{
    return launch.batch.key[launch.items[item].first];
}

/* Whether an item is the first of its key, whose matrices it has. */
static __device__ __forceinline__ bool
warprsa_narrow_has_matrices(const warprsa_fold_batch &launch, uint32_t item)
{
    return item == 0 || warprsa_narrow_item_key(launch, item) !=
                            warprsa_narrow_item_key(launch, item - 1);
}

/* The first item of a run with the key of `item`. By all lanes of a warp. */
static __device__ __forceinline__ uint32_t
warprsa_narrow_first_of_key(const warprsa_fold_batch &launch, uint32_t item)
{
    const uint32_t key = warprsa_narrow_item_key(launch, item);
    const uint32_t lane = threadIdx.x % 32;

    for (;;) {
        const bool same = item > lane && warprsa_narrow_item_key(
                                             launch, item - 1 - lane) == key;
        const uint32_t others = ~__ballot_sync(0xffffffffu, same);

        if (others != 0)
            return item - (uint32_t)(__ffs((int)others) - 1);
        item -= 32;
    }
}

/* The item that has request `index` of the batch, by halving. */
static __device__ __forceinline__ uint32_t
warprsa_narrow_item_of(const warprsa_fold_batch &launch, uint32_t index)
{
    uint32_t low = 0, high = launch.item_count - 1;

    while (low < high) {
        const uint32_t middle = (low + high + 1) / 2;

        if (launch.items[middle].first <= index)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Both halves of a request's number in the scratch memory of its item. */
static __device__ __forceinline__ double *
warprsa_narrow_numbers(const warprsa_fold_batch &launch, uint32_t index)
{
    const uint32_t item = warprsa_narrow_item_of(launch, index);

    return warprsa_narrow_scratch(launch, item)
        ->number[0][index - launch.items[item].first];
}

/* The request of this thread's warp, with its exchange buffer in shared
 * memory. */
static __device__ __forceinline__ warprsa_operation
warprsa_narrow_request(const warprsa_fold_batch &launch, uint32_t index)
{
    warprsa_operation op = warprsa_request(launch.batch, index);

    op.exchange = threadIdx.x / 32 * EXCHANGE;
    return op;
}

/* No secret may be left in shared memory for the next block. */
static __device__ __forceinline__ void warprsa_narrow_wipe_exchange(void)
{
    volatile double *of = warprsa_shared + threadIdx.x / 32 * EXCHANGE;

    __syncwarp();
    for (unsigned i = threadIdx.x % 32; i < EXCHANGE; i += 32)
        of[i] = 0;
}

#endif
