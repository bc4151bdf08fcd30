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
    warprsa_narrow_share left;         /* the rest of its load */
    uint32_t power, low, digits, done; /* its part, or whether there is none */
    uint32_t short_items_have_both;
    uint32_t both; /* 1: the part is of a power of both primes */
};

/* Behind that what the digits of each thread's samples begin with. */
static constexpr uint32_t WORK = (WARPRSA_NARROW_SHARED + 15) / 16 * 16;
static constexpr uint32_t START =
    WORK + (sizeof(warprsa_narrow_work) + 15) / 16 * 16;
/* Requests of a short item (parts.h); 0: none is short. Code for 8.0 has no
 * short items: a block has 163 KB of shared memory at most on such a GPU, too
 * little for a second matrix. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
static constexpr uint32_t SHORT = 0;
#else
static constexpr uint32_t SHORT = WARPRSA_NARROW_SHORT;
#endif
/* Behind that the matrix of q in a block of both primes. */
static constexpr uint32_t MATRIX_OF_Q =
    START + WARPRSA_NARROW_NUMBERS * WARPRSA_NARROW_LANES * 16 * ROUNDS;
static constexpr uint32_t POWER_SHARED =
    MATRIX_OF_Q + (SHORT > 0 ? WARPRSA_NARROW_MATRIX_BYTES : 0);

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

/* The number that a thread has: a request's, modulo a prime. In a block with
 * fewer requests than it has room for the last one's number is raised more than
 * once, but stored once: by the thread for which it is present. In a block of
 * both primes the upper numbers are those modulo q. */
struct warprsa_narrow_own {
    uint32_t number, request, prime;
    bool present;
};

static __device__ __forceinline__ warprsa_narrow_own
warprsa_narrow_own_number(const warprsa_fold_batch &launch)
{
    const uint32_t number =
        warprsa_narrow_thread_index() / WARPRSA_NARROW_LANES;
    const uint32_t power = WARPRSA_NARROW_CURRENT(power);
    const uint32_t count = launch.items[power / 2].count;
    const bool both = SHORT > 0 && WARPRSA_NARROW_CURRENT(both) != 0;
    const uint32_t of_prime =
        both ? WARPRSA_NARROW_OF_EACH : WARPRSA_NARROW_NUMBERS;
    const uint32_t request = number % of_prime;

    return {number, request < count ? request : count - 1,
            both ? number / of_prime % 2 : power % 2, request < count};
}

/* Where a number is that the block raises, and where it is if the block does
 * not end its power, or did not begin it. */
static __device__ __forceinline__ double *
warprsa_narrow_raised(const warprsa_fold_batch &launch,
                      const warprsa_narrow_own &own)
{
    const uint32_t item = WARPRSA_NARROW_CURRENT(power) / 2;

    return warprsa_narrow_scratch(launch, item)->number[own.prime][own.request];
}

static __device__ __forceinline__ double *
warprsa_narrow_begun(const warprsa_fold_batch &launch,
                     const warprsa_narrow_own &own)
{
    const uint32_t power = WARPRSA_NARROW_CURRENT(power);
    const uint32_t number = own.number % WARPRSA_NARROW_NUMBERS;

    return warprsa_narrow_scratch(launch, power / 2)->begun[power % 2][number];
}

/* Where the first pair of samples of a lane with lower columns is in a number,
 * and four samples on that of the next round; NULL for other lanes. */
static __device__ __forceinline__ double *
warprsa_narrow_samples_of_lane(double *number)
{
    static constexpr warprsa_narrow_lane_places places[] =
        WARPRSA_NARROW_LANE_PLACES;
    const uint32_t thread = warprsa_narrow_thread_index();
    const warprsa_narrow_lane_places own =
        places[thread % WARPRSA_NARROW_LANES];

    if (own.first >= 10 ||
        (ROUNDS > 1 && thread >= WARPRSA_NARROW_NUMBERS * WARPRSA_NARROW_LANES))
        return nullptr;
    return number + 2 * warprsa_narrow_pair(own.pair, 0);
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

/* The powers, by a choice for short items. */
static __device__ __forceinline__ warprsa_narrow_line
warprsa_narrow_line_of(const warprsa_fold_batch &launch, bool both)
{
    constexpr uint32_t stride = sizeof(warprsa_narrow_item) / sizeof(uint32_t);

    return {launch.items,
            launch.item_count,
            &warprsa_narrow_scratch(launch, 0)->shorts,
            stride,
            warprsa_narrow_windows(launch.batch.windows),
            both};
}

static __device__ __forceinline__ void
warprsa_narrow_put_left(const warprsa_narrow_share &left)
{
    volatile warprsa_narrow_share *to = &warprsa_narrow_current()->left;

    to->begin.power = left.begin.power;
    to->begin.ended = left.begin.ended;
    to->end.power = left.end.power;
    to->end.ended = left.end.ended;
}

/* Begins the block's work. Its number is how many have started before it: CUDA
 * starts blocks in no order that it promises. Whoever ends a power must have
 * started later than who began it, so loads are given in reverse. */
static __device__ __forceinline__ void
warprsa_narrow_first_work(const warprsa_fold_batch &launch)
{
    const uint32_t blocks = gridDim.x;

    if (threadIdx.x == 0) {
        const uint32_t block =
            atomicAdd(&warprsa_narrow_scratch(launch, 0)->blocks_started, 1u);
        warprsa_narrow_line line = warprsa_narrow_line_of(launch, false);

        if (SHORT > 0)
            warprsa_narrow_choose_both(&line, launch.all_items, blocks);
        warprsa_narrow_current()->short_items_have_both = line.both;
        warprsa_narrow_put_left(
            warprsa_narrow_share_of(&line, blocks, blocks - 1 - block));
    }
}

/* Sets the next part of the block's load; false if there is none. */
static __device__ __forceinline__ bool
warprsa_narrow_next_work(const warprsa_fold_batch &launch)
{
    volatile warprsa_narrow_work *work = warprsa_narrow_current();

    __syncthreads();
    if (threadIdx.x == 0) {
        const warprsa_narrow_line line =
            warprsa_narrow_line_of(launch, work->short_items_have_both != 0);
        warprsa_narrow_share left = {
            {work->left.begin.power, work->left.begin.ended},
            {work->left.end.power, work->left.end.ended}};
        warprsa_narrow_part part = {};

        work->done = !warprsa_narrow_take_part(&part, &left, &line);
        warprsa_narrow_put_left(left);
        work->power = part.power;
        work->low = (uint32_t)part.low;
        work->digits = (uint32_t)part.digits;
        work->both = warprsa_narrow_is_both(&line, part.power / 2);
    }
    __syncthreads();
    return WARPRSA_NARROW_CURRENT(done) == 0;
}

#endif
