/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "low_latency", for few requests. Each request has a warp. The work
 * is split into three CUDA kernels, so that the second one, which takes most of
 * the time, is small and has all the registers. Extra blocks of threads, beyond
 * those that the requests need, blind the exponents beside the first kernel, a
 * thread for each half.
 */
#ifndef WARPRSA_GPU_KERNELS_LOW_LATENCY_LOW_LATENCY_CUH
#define WARPRSA_GPU_KERNELS_LOW_LATENCY_LOW_LATENCY_CUH

#define WARPRSA_BLOCK_ARITH
#include "gpu/arith/block_modexp.h"
#include "gpu/kernels/load.cuh"
#include "gpu/kernels/request.cuh"

#define WARPRSA_LOW_LATENCY_BLOCK 128 /* threads, at most */

/* The file that includes this says the size class. */
static constexpr warprsa_shape warprsa_low_latency_shape =
    WARPRSA_LOW_LATENCY_SHAPE;
static constexpr int LIMBS = warprsa_low_latency_shape.limbs;
static constexpr int THREADS_PER_NUMBER =
    warprsa_low_latency_shape.threads_per_number;
static constexpr int LIMBS_PER_THREAD =
    warprsa_low_latency_shape.limbs_per_thread;

/* Blocks of the first and the last kernel that share an SM. Without a number
 * ptxas 13.0 gives a thread fewer registers than these leave it, and spills. */
static constexpr unsigned BLOCKS_PER_SM = 4;

/* Sizes in doubles: a request's exchange buffer, and the buffer with the
 * request's table behind it. */
static constexpr unsigned EXCHANGE =
    WARPRSA_EXCHANGE_DOUBLES(THREADS_PER_NUMBER, LIMBS_PER_THREAD);
static constexpr unsigned REQUEST =
    EXCHANGE + WARPRSA_TABLE_SIZE * 2 * THREADS_PER_NUMBER * LIMBS_PER_THREAD;

static_assert(2 * THREADS_PER_NUMBER == 32, "a warp for a request");

/* The share of a block of threads in the batch: the number of requests with a
 * warp each, the first request, and whether this block has one thread for each
 * half instead of a warp for each request. */
struct warprsa_low_latency_share {
    uint32_t requests, first;
    bool halves;
};

/* The share of this block of threads. */
static __device__ __forceinline__ warprsa_low_latency_share
warprsa_low_latency_share_of_block(const warprsa_batch &batch)
{
    const uint32_t requests = blockDim.x / 32;
    const uint32_t blocks = (batch.count + requests - 1) / requests;
    const bool halves = blockIdx.x >= blocks;

    return {requests,
            halves ? (blockIdx.x - blocks) * (blockDim.x / 2)
                   : blockIdx.x * requests,
            halves};
}

/* The request of this thread's warp, with its exchange buffer and its table in
 * shared memory. */
static __device__ __forceinline__ warprsa_operation
warprsa_low_latency_request(const warprsa_batch &batch, uint32_t first)
{
    const uint32_t warp = threadIdx.x / 32;
    warprsa_operation op = warprsa_request(batch, first + warp);

    op.exchange = warp * REQUEST;
    op.table = warprsa_shared + warp * REQUEST + EXCHANGE + threadIdx.x % 32;
    op.table_stride = 32;
    op.direct_table_reads = false;
    return op;
}

/* This thread's limbs of number `which` (0 or 1) that one of the three kernels
 * passes to the next, in global memory. */
static __device__ __forceinline__ double *
warprsa_low_latency_passed_on(const warprsa_batch &batch, uint32_t first,
                              int which)
{
    size_t index = first + threadIdx.x / 32;

    return batch.table + (2 * index + which) * LIMBS_PER_THREAD * 32 +
           threadIdx.x % 32;
}

static __device__ __forceinline__ void
warprsa_low_latency_put(const warprsa_number *x, const warprsa_batch &batch,
                        uint32_t first, int which)
{
    double *to = warprsa_low_latency_passed_on(batch, first, which);

    WARPRSA_UNROLL
    for (int i = 0; i < LIMBS_PER_THREAD; i++)
        to[32 * i] = x->of[0][i];
}

static __device__ __forceinline__ void
warprsa_low_latency_get(warprsa_number *x, const warprsa_batch &batch,
                        uint32_t first, int which)
{
    const double *from = warprsa_low_latency_passed_on(batch, first, which);

    WARPRSA_UNROLL
    for (int i = 0; i < LIMBS_PER_THREAD; i++)
        x->of[0][i] = from[32 * i];
}

/* Wipes the first `doubles` of the request's shared memory: no secret may be
 * left there for the next block. */
static __device__ __forceinline__ void
warprsa_low_latency_wipe(unsigned doubles)
{
    volatile double *of = warprsa_shared + threadIdx.x / 32 * REQUEST;

    __syncwarp();
    for (unsigned i = threadIdx.x % 32; i < doubles; i += 32)
        of[i] = 0;
}

static __global__ void __launch_bounds__(WARPRSA_LOW_LATENCY_BLOCK,
                                         BLOCKS_PER_SM)
    warprsa_low_latency_blind(const warprsa_batch batch)
{
    WARPRSA_STAGE(REST);
    const warprsa_low_latency_share share =
        warprsa_low_latency_share_of_block(batch);

    if (share.halves) {
        const uint32_t index = share.first + threadIdx.x / 2;
        const warprsa_operation op = warprsa_request(batch, index);

        if (index < batch.count)
            warprsa_blind_exponent(&op, threadIdx.x % 2, LIMBS);
    } else if (share.first + threadIdx.x / 32 < batch.count) {
        const warprsa_operation op =
            warprsa_low_latency_request(batch, share.first);
        warprsa_modulus p;
        warprsa_number x, one;

        warprsa_blind(&x, &one, &p, &op, LIMBS, THREADS_PER_NUMBER,
                      LIMBS_PER_THREAD);
        warprsa_low_latency_put(&x, batch, share.first, 0);
        warprsa_low_latency_put(&one, batch, share.first, 1);
        warprsa_low_latency_wipe(EXCHANGE);
    }
}

static __global__ void __launch_bounds__(WARPRSA_LOW_LATENCY_BLOCK,
                                         LIMBS_PER_THREAD == 2 ? 4 : 2)
    warprsa_low_latency_modexp(const warprsa_batch batch)
{
    WARPRSA_STAGE(REST);
    const uint32_t first = blockIdx.x * (blockDim.x / 32);
    const warprsa_operation op = warprsa_low_latency_request(batch, first);
    const warprsa_operation_half *half = op.key->half;
    warprsa_modulus p;
    warprsa_number x, one;

    if (first + threadIdx.x / 32 >= batch.count)
        return;
    warprsa_use_primes(&p, &op, &half[0], &half[1], LIMBS, THREADS_PER_NUMBER,
                       LIMBS_PER_THREAD, 32);
    warprsa_low_latency_get(&x, batch, first, 0);
    warprsa_low_latency_get(&one, batch, first, 1);
    warprsa_block_modexp(&x, &one, &op, &p, LIMBS, THREADS_PER_NUMBER,
                         LIMBS_PER_THREAD, 32);
    warprsa_low_latency_put(&x, batch, first, 0);
    warprsa_low_latency_wipe(EXCHANGE);
}

static __global__ void __launch_bounds__(WARPRSA_LOW_LATENCY_BLOCK,
                                         BLOCKS_PER_SM)
    warprsa_low_latency_finish(const warprsa_batch batch)
{
    WARPRSA_STAGE(REST);
    const uint32_t first = blockIdx.x * (blockDim.x / 32);
    const warprsa_operation op = warprsa_low_latency_request(batch, first);
    const warprsa_number none = {};
    warprsa_number x;

    if (first + threadIdx.x / 32 >= batch.count)
        return;
    warprsa_low_latency_get(&x, batch, first, 0);
    warprsa_unblind_and_recombine(&x, &op, LIMBS, THREADS_PER_NUMBER,
                                  LIMBS_PER_THREAD);
    warprsa_low_latency_put(&none, batch, first, 0);
    warprsa_low_latency_put(&none, batch, first, 1);
    warprsa_low_latency_wipe(EXCHANGE);
}

/* A block of threads has one request as long as each request can have an SM of
 * its own. With more requests, several share the loading of a block. */
static cudaError_t warprsa_launch_low_latency(const warprsa_batch *batch,
                                              cudaStream_t stream)
{
    constexpr unsigned most = WARPRSA_LOW_LATENCY_BLOCK / 32;
    unsigned sms;
    cudaError_t error = warprsa_sm_count(&sms);
    const unsigned requests = batch->count <= sms ? 1 : most;
    const unsigned blocks = (batch->count + requests - 1) / requests;
    const unsigned halves =
        (2 * batch->count + 32 * requests - 1) / (32 * requests);
    const size_t memory = requests * REQUEST * sizeof(double);

    if (batch->count == 0)
        return warprsa_load_code(warprsa_low_latency_blind,
                                 warprsa_low_latency_modexp,
                                 warprsa_low_latency_finish);
    if (error != cudaSuccess)
        return error;
    for (const auto kernel :
         {warprsa_low_latency_blind, warprsa_low_latency_modexp,
          warprsa_low_latency_finish}) {
        error = cudaFuncSetAttribute(
            kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
            most * REQUEST * sizeof(double));
        if (error != cudaSuccess)
            return error;
    }
    warprsa_low_latency_blind<<<blocks + halves, 32 * requests, memory,
                                stream>>>(*batch);
    warprsa_low_latency_modexp<<<blocks, 32 * requests, memory, stream>>>(
        *batch);
    warprsa_low_latency_finish<<<blocks, 32 * requests, memory, stream>>>(
        *batch);
    return cudaGetLastError();
}

#endif
