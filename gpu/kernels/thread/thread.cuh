/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "thread": the powers by one thread a half, everything before and
 * after them spread over lanes as in the kernel "cooperative". A block takes
 * half as many requests as it has threads (warprsa_thread_block()); for the
 * parts in lanes it takes WIDTH turns. Numbers change hands through the shared
 * memory of the powers.
 */
#ifndef WARPRSA_GPU_KERNELS_THREAD_THREAD_CUH
#define WARPRSA_GPU_KERNELS_THREAD_THREAD_CUH

#include "gpu/kernels/load.cuh"
#include "gpu/kernels/request.cuh"
#include "gpu/kernels/thread/thread_block.h"
#include "gpu/kernels/thread/thread_modexp.h"

template <int N> struct warprsa_starts {
    uint64_t of[4 * N];

    constexpr warprsa_starts() : of()
    {
        for (int square = 0; square < 2; square++)
            for (int c = 0; c < 2 * N; c++)
                of[square * 2 * N + c] = warprsa_thread_start(square, c, N);
    }
};

template <int N> __constant__ warprsa_starts<N> warprsa_start;

/* Bytes of shared memory that a block may have: from compute capability 9.0 on,
 * and with 8.0. */
#define WARPRSA_SHARED_BYTES_90 (227 * 1024)
#define WARPRSA_SHARED_BYTES_80 (163 * 1024)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define WARPRSA_SHARED_BYTES WARPRSA_SHARED_BYTES_80
#else
#define WARPRSA_SHARED_BYTES WARPRSA_SHARED_BYTES_90
#endif

/* What a block has in so many bytes of shared memory. */
template <int N, int BLOCK, int SHARED_BYTES> struct warprsa_thread_memory {
    /* Pairs of samples that fit beside a and P. */
    static constexpr int FIT = SHARED_BYTES / (16 * BLOCK) - N;
    static constexpr int NEAR = FIT < N / 2 ? FIT : N / 2;
    static constexpr unsigned BYTES =
        (2 * N + 2 * NEAR) * BLOCK * sizeof(double);
    static_assert(FIT >= 0, "a and P fit");
};

/* How a size class is spread. */
template <int N_, int THREADS_PER_NUMBER_, int LIMBS_PER_THREAD_, int BLOCK_,
          int IN_STEP_>
struct warprsa_thread_shape {
    static constexpr int N = N_, THREADS_PER_NUMBER = THREADS_PER_NUMBER_,
                         LIMBS_PER_THREAD = LIMBS_PER_THREAD_;
    static constexpr int W = N / WARPRSA_THREAD_BLOCKS;
    /* The most threads of a block, and how far apart a thread's values are in
     * shared memory and in its table. */
    static constexpr int BLOCK = BLOCK_;
    static constexpr int IN_STEP = IN_STEP_;
    /* For the code on the device; the host looks which it is. */
    using memory = warprsa_thread_memory<N, BLOCK, WARPRSA_SHARED_BYTES>;
    static constexpr int NEAR = memory::NEAR;
    static constexpr unsigned BYTES = memory::BYTES;
};

/* threadIdx.x, in a way that hides from the compiler what it is. Otherwise the
 * compiler would compute values from it once before the exponentiations and
 * keep them until after these, in registers that the exponentiations lack. */
static __device__ __forceinline__ uint32_t warprsa_thread_index(void)
{
    uint32_t index;

    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(index));
    return index;
}

/* A lane's samples to or from the operand of the thread that raises them. */
template <typename S, bool PUT>
static __device__ __forceinline__ void
warprsa_hand_over(warprsa_number *x, double *operands, uint32_t request)
{
    const int lane =
        (int)(warprsa_thread_index() % (2 * S::THREADS_PER_NUMBER));
    const int first = lane % S::THREADS_PER_NUMBER * S::LIMBS_PER_THREAD;
    double *of = operands + 2 * (2 * request + lane / S::THREADS_PER_NUMBER);

    WARPRSA_UNROLL
    for (int i = 0; i < S::LIMBS_PER_THREAD; i++) {
        double *at = of + (first + i) / 2 * 2 * S::BLOCK + (first + i) % 2;

        if (first + i < S::N) {
            if (PUT)
                *at = x->of[0][i];
            else
                x->of[0][i] = *at;
        } else if (!PUT) {
            x->of[0][i] = 0;
        }
    }
}

/* Each half by its thread: the blinded exponent; and then the first stage in
 * turns: x into a, R mod P into p. */
template <typename S>
static __device__ __forceinline__ void
warprsa_thread_blind(const warprsa_batch &batch, double *a, double *p)
{
    const uint32_t requests = blockDim.x / (2 * S::THREADS_PER_NUMBER);
    const uint32_t first = blockIdx.x * (blockDim.x / 2);
    const uint32_t own = first + threadIdx.x / 2;

    if (own < batch.count) {
        warprsa_operation op = warprsa_request(batch, own);

        warprsa_blind_exponent(&op, threadIdx.x % 2, S::N);
    }
    WARPRSA_ROLLED
    for (int turn = 0; turn < S::THREADS_PER_NUMBER; turn++) {
        uint32_t request =
            turn * requests + threadIdx.x / (2 * S::THREADS_PER_NUMBER);
        warprsa_operation op = warprsa_request(batch, first + request);
        warprsa_modulus modulus;
        warprsa_number x, one;

        warprsa_blind(&x, &one, &modulus, &op, S::N, S::THREADS_PER_NUMBER,
                      S::LIMBS_PER_THREAD);
        warprsa_hand_over<S, true>(&x, a, request);
        warprsa_hand_over<S, true>(&one, p, request);
    }
    __syncthreads();
}

/* The same address, in a way that hides from the compiler how it was computed.
 * Otherwise the compiler would compute it again wherever it is used, and for
 * compute capability 8.0 RSA-4096 would spill registers. */
static __device__ __forceinline__ double *warprsa_opaque(double *address)
{
    asm volatile("" : "+l"(address));
    return address;
}

template <typename S>
static __device__ __forceinline__ void
warprsa_thread_modexp_halves(const warprsa_batch &batch, double *shared)
{
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    const warprsa_operation op = warprsa_request(batch, thread / 2);
    const int which = threadIdx.x % 2, lane = threadIdx.x % 32;
    const warprsa_prepared_half *half = &op.key->half[which];
    double *table =
        warprsa_opaque(batch.table +
                       (size_t)(thread / S::BLOCK) *
                           ((WARPRSA_TABLE_SIZE + 1) * S::N * S::BLOCK) +
                       2 * (thread % S::BLOCK));
    const warprsa_thread x = {
        .a = shared + 2 * threadIdx.x,
        .p = shared + S::N * S::BLOCK + 2 * threadIdx.x,
        .stride = S::BLOCK,
        .n0inv = half->n0inv,
        .table = table,
        .table_stride = S::BLOCK,
        .fetch = warprsa_opaque(const_cast<double *>(
            warprsa_fetch_from(table - 2 * lane, S::BLOCK, lane, S::N))),
        .chosen = shared + 2 * S::N * S::BLOCK + 2 * threadIdx.x,
        .near = S::NEAR,
        .exponent = op.exponent + which * WARPRSA_BLINDED_WORDS,
        .windows = op.windows,
        .start = warprsa_start<S::N>.of,
    };

    warprsa_balance(x.table, x.p, WARPRSA_TABLE_SIZE * S::BLOCK, S::BLOCK,
                    S::N);
    warprsa_balance(x.a, x.a, S::BLOCK, S::BLOCK, S::N);
    warprsa_balance(x.p, half->modulus, S::BLOCK, 1, S::N);
    warprsa_thread_modexp(&x, S::N, S::W, S::IN_STEP);
    warprsa_unbalance(&x, S::N);
    __syncthreads();
}

template <typename S>
static __device__ __forceinline__ void
warprsa_thread_finish(const warprsa_batch &batch, double *a)
{
    const uint32_t requests = blockDim.x / (2 * S::THREADS_PER_NUMBER);
    const uint32_t thread = warprsa_thread_index();

    WARPRSA_ROLLED
    for (int turn = 0; turn < S::THREADS_PER_NUMBER; turn++) {
        uint32_t request =
            turn * requests + thread / (2 * S::THREADS_PER_NUMBER);
        warprsa_operation op =
            warprsa_request(batch, blockIdx.x * (blockDim.x / 2) + request);
        warprsa_number x;

        warprsa_hand_over<S, false>(&x, a, request);
        warprsa_unblind_and_recombine(&x, &op, S::N, S::THREADS_PER_NUMBER,
                                      S::LIMBS_PER_THREAD);
    }
}

template <typename S>
__global__ void __launch_bounds__(S::BLOCK, 1)
    warprsa_thread_kernel(const warprsa_batch batch)
{
    WARPRSA_STAGE(REST);
    extern __shared__ __align__(16) double shared[];

    warprsa_thread_blind<S>(batch, shared, shared + S::N * S::BLOCK);
    warprsa_thread_modexp_halves<S>(batch, shared);
    warprsa_thread_finish<S>(batch, shared);
    __syncthreads();
    for (int i = threadIdx.x; i < (int)(S::BYTES / sizeof(double));
         i += (int)blockDim.x)
        ((volatile double *)shared)[i] = 0;
}

/* The bytes of shared memory for a block on the device that is current. With
 * less than 9.0 has, the code is that for 8.0. Code for 8.0 on a device with
 * more leaves the rest alone. */
template <typename S>
static cudaError_t warprsa_thread_shared_bytes(unsigned *bytes)
{
    int device = 0, most = 0;
    cudaError_t error = cudaGetDevice(&device);

    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(
            &most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    *bytes = most < WARPRSA_SHARED_BYTES_90
                 ? warprsa_thread_memory<S::N, S::BLOCK,
                                         WARPRSA_SHARED_BYTES_80>::BYTES
                 : warprsa_thread_memory<S::N, S::BLOCK,
                                         WARPRSA_SHARED_BYTES_90>::BYTES;
    return error;
}

template <typename S>
static cudaError_t warprsa_launch_thread(const warprsa_batch *batch,
                                         cudaStream_t stream)
{
    unsigned sms, threads, blocks, bytes = 0;
    cudaError_t error = warprsa_sm_count(&sms);

    if (batch->count == 0)
        return warprsa_load_code(warprsa_thread_kernel<S>);
    if (error == cudaSuccess)
        error = warprsa_thread_shared_bytes<S>(&bytes);
    if (error != cudaSuccess)
        return error;
    threads = warprsa_thread_block(batch->under_way, sms, S::BLOCK);
    blocks = (2 * batch->count + threads - 1) / threads;
    error = cudaFuncSetAttribute(warprsa_thread_kernel<S>,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)bytes);

    if (error != cudaSuccess)
        return error;
    warprsa_thread_kernel<S><<<blocks, threads, bytes, stream>>>(*batch);
    return cudaGetLastError();
}

#endif
