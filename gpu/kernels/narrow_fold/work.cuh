/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a block of the kernel "powers" of "narrow_fold" does now: which part of
 * which power (parts.h), in which numbers, and what it waits for before.
 */
#ifndef WARPRSA_GPU_KERNELS_NARROW_FOLD_WORK_CUH
#define WARPRSA_GPU_KERNELS_NARROW_FOLD_WORK_CUH

#include "gpu/kernels/narrow_fold/items.cuh"

/* threadIdx.x, in a way that hides from the compiler what it is. Otherwise it
 * would keep what is computed from it during the power, which wants all
 * registers. */
static __device__ __forceinline__ uint32_t warprsa_narrow_thread_index(void)
{
    uint32_t index;

    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(index));
    return index;
}

/* The shared memory of the block. */
static __device__ __forceinline__ uint32_t warprsa_narrow_memory(void)
{
    return (uint32_t)__cvta_generic_to_shared(warprsa_shared);
}

/* What the block does now, in shared memory behind what it computes with: the
 * power wants all registers. */
struct warprsa_narrow_work {
    uint32_t block;        /* in the order in which they started */
    uint32_t index;        /* of its part */
    uint32_t power, low;   /* of that part */
    uint32_t digits, last; /* whether it is the last part */
};

/* Behind that what the digits of each thread's samples begin with. */
static constexpr uint32_t WORK = (WARPRSA_NARROW_SHARED + 15) / 16 * 16;
static constexpr uint32_t START = WORK + 32;
static constexpr uint32_t POWER_SHARED =
    START + WARPRSA_NARROW_NUMBERS * WARPRSA_NARROW_LANES * 16 * ROUNDS;

static_assert(sizeof(warprsa_narrow_work) <= START - WORK, "it has room");

static __device__ __forceinline__ volatile warprsa_narrow_work *
warprsa_narrow_current(void)
{
    return reinterpret_cast<volatile warprsa_narrow_work *>(
        reinterpret_cast<uint8_t *>(warprsa_shared) + WORK);
}

/* One of its numbers, which are public, and the same for all of a warp. By all
 * lanes of one. */
#define WARPRSA_NARROW_CURRENT(member)                                         \
    warprsa_largest_in_warp(warprsa_narrow_current()->member)

/* Where the first pair of samples of a lane with lower columns is in the
 * numbers of the block's power, and four samples on that of the next round;
 * NULL for other lanes. A block with fewer than eight requests raises the last
 * one more than once, but stores it once. */
static __device__ __forceinline__ double *
warprsa_narrow_samples_of_lane(const warprsa_fold_batch &launch,
                               double (*numbers)[LIMBS], bool storing)
{
    static constexpr warprsa_narrow_lane_places places[] =
        WARPRSA_NARROW_LANE_PLACES;
    const uint32_t thread = warprsa_narrow_thread_index();
    const uint32_t number = thread / WARPRSA_NARROW_LANES;
    const warprsa_narrow_lane_places own =
        places[thread % WARPRSA_NARROW_LANES];
    const uint32_t count =
        launch.items[WARPRSA_NARROW_CURRENT(power) / 2].count;

    if (own.first >= 10 || (storing && number >= count) ||
        (ROUNDS > 1 && number >= WARPRSA_NARROW_NUMBERS))
        return nullptr;
    return numbers[number < count ? number : count - 1] +
           2 * warprsa_narrow_pair(own.pair, 0);
}

/* The numbers that the block raises, and those that it has of a power that it
 * does not end, or that it did not begin. */
static __device__ __forceinline__ double (
    *warprsa_narrow_raised(const warprsa_fold_batch &launch))[LIMBS]
{
    const uint32_t power = WARPRSA_NARROW_CURRENT(power);

    return warprsa_narrow_scratch(launch, power / 2)->number[power % 2];
}

static __device__ __forceinline__ double (
    *warprsa_narrow_begun(const warprsa_fold_batch &launch))[LIMBS]
{
    const uint32_t power = WARPRSA_NARROW_CURRENT(power);

    return warprsa_narrow_scratch(launch, power / 2)->begun[power % 2];
}

static __device__ __forceinline__ bool
warprsa_narrow_ends_another(const warprsa_fold_batch &launch)
{
    return (int)(WARPRSA_NARROW_CURRENT(low) + WARPRSA_NARROW_CURRENT(digits)) <
           warprsa_narrow_windows(launch.batch.windows);
}

/* Whether another block has stored what it began of the power. */
static __device__ __forceinline__ uint32_t *
warprsa_narrow_is_begun(const warprsa_fold_batch &launch)
{
    const uint32_t power = WARPRSA_NARROW_CURRENT(power);

    return &warprsa_narrow_scratch(launch, power / 2)->is_begun[power % 2];
}

/* Waits until another block has begun the power. It has started before this
 * one, and waits for nobody before it has stored what it began. */
static __device__ __forceinline__ void
warprsa_narrow_wait(const warprsa_fold_batch &launch)
{
    volatile uint32_t *begun = warprsa_narrow_is_begun(launch);

    if (threadIdx.x == 0)
        while (*begun == 0)
            __nanosleep(1000);
    __threadfence();
    __syncthreads();
}

/* Begins the block's work: its number is how many have started before it. CUDA
 * starts blocks in no order that it promises. */
static __device__ __forceinline__ void
warprsa_narrow_first_work(const warprsa_fold_batch &launch)
{
    volatile warprsa_narrow_work *work = warprsa_narrow_current();

    if (threadIdx.x == 0) {
        work->block =
            atomicAdd(&warprsa_narrow_scratch(launch, 0)->blocks_started, 1u);
        work->index = 0;
    }
}

/* Sets the next part of the block's load; false if there is none. Whoever ends
 * a power must have started later than who began it, so loads are given in
 * reverse. */
static __device__ __forceinline__ bool
warprsa_narrow_next_work(const warprsa_fold_batch &launch)
{
    volatile warprsa_narrow_work *work = warprsa_narrow_current();
    const uint32_t powers = 2 * launch.item_count, blocks = gridDim.x;
    const int windows = warprsa_narrow_windows(launch.batch.windows);
    warprsa_narrow_part part;

    __syncthreads();
    if (threadIdx.x == 0) {
        const uint32_t block = blocks - 1 - work->block;

        work->last = !warprsa_narrow_part_of(
            &part, warprsa_narrow_cut_at(block, blocks, powers, windows),
            warprsa_narrow_cut_at(block + 1, blocks, powers, windows),
            work->index, windows);
        work->index = work->index + 1;
        work->power = part.power;
        work->low = (uint32_t)part.low;
        work->digits = (uint32_t)part.digits;
    }
    __syncthreads();
    return WARPRSA_NARROW_CURRENT(last) == 0;
}

#endif
