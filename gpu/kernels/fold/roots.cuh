/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The roots of few requests, by pairs of threads (pair_operation.h). Where so
 * few items are to be folded that most SMs would idle, items are cut: the roots
 * mod p and mod q are made by different blocks, and those of each 64 requests.
 * They are put together by a second launch. What a block of pairs has, whether
 * it makes roots or whole operations of RSA-4096 (pair.cuh), is here, too.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_ROOTS_CUH
#define WARPRSA_GPU_KERNELS_FOLD_ROOTS_CUH

#include "gpu/kernels/fold/fold.cuh"
#include "gpu/kernels/fold/pair_operation.h"

/* Scratch memory of a block of pairs in device memory: sizes in bytes. */
struct warprsa_fold_pair_scratch {
    static constexpr size_t THREADS = warprsa_fold_pair_shared::THREADS;
    static constexpr size_t MATRIX =
        WARPRSA_FOLD_MATRIX_BYTES(WARPRSA_FOLD_PAIR_LIMBS);
    static constexpr size_t REGISTERS = WARPRSA_FOLD_REGISTERS *
                                        WARPRSA_FOLD_PART_LIMBS * THREADS *
                                        sizeof(double);
    static constexpr size_t TABLE =
        WARPRSA_FOLD_ENTRIES * WARPRSA_FOLD_WORDS(WARPRSA_FOLD_PART_LIMBS) *
        THREADS * sizeof(uint32_t);
    static constexpr size_t QINV = WARPRSA_HALF_SAMPLES * sizeof(double);
    static constexpr size_t ALL = 2 * MATRIX + REGISTERS + TABLE + QINV;
};

/* The block's scratch memory begins with the matrices. */
static __device__ __forceinline__ uint8_t *
warprsa_fold_pair_matrices(const warprsa_fold_batch &batch)
{
    return (uint8_t *)batch.batch.table +
           blockIdx.x * warprsa_fold_pair_scratch::ALL;
}

/* Makes the matrices of a key in the scratch memory, and 1/q. By all
 * threads. */
template <int THREADS_PER_NUMBER, int LIMBS_PER_THREAD>
static __device__ __noinline__ void
warprsa_fold_pair_load_key(uint8_t *matrices, double *qinv,
                           const warprsa_prepared_key *key)
{
    constexpr int LIMBS = WARPRSA_FOLD_PAIR_LIMBS, last = 8 * LIMBS - 1;
    constexpr int bytes = WARPRSA_FOLD_MATRIX_BYTES(LIMBS);
    constexpr int threads = warprsa_fold_pair_shared::THREADS;
    constexpr int groups = threads / (2 * THREADS_PER_NUMBER);

    __syncthreads();
    for (int i = threadIdx.x; i < 2 * bytes / 16; i += threads)
        reinterpret_cast<uint4 *>(matrices)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();
    /* The last row apart, as in warprsa_fold_load_key(). */
    WARPRSA_ROLLED
    for (int row = threadIdx.x / (2 * THREADS_PER_NUMBER); row < 8 * LIMBS;
         row += groups)
        warprsa_fold_make_row(matrices, matrices + bytes, key,
                              row == last ? 0 : row, LIMBS, THREADS_PER_NUMBER,
                              LIMBS_PER_THREAD);
    warprsa_fold_make_row(matrices, matrices + bytes, key, last, LIMBS,
                          THREADS_PER_NUMBER, LIMBS_PER_THREAD);
    warprsa_fold_put_qinv(qinv, key, LIMBS, THREADS_PER_NUMBER,
                          LIMBS_PER_THREAD);
    __syncthreads();
}

/* Makes the program of a pass and copies the matrix of its prime, once all
 * threads are done with those of the pass before. By all threads. */
static __device__ __noinline__ void
warprsa_fold_pair_load_pass(uint8_t *shared, const uint8_t *matrices,
                            uint64_t e, int pass)
{
    typedef warprsa_fold_pair_shared S;
    constexpr int bytes = WARPRSA_FOLD_MATRIX_BYTES(WARPRSA_FOLD_PAIR_LIMBS);
    const uint4 *from = reinterpret_cast<const uint4 *>(
        matrices + warprsa_fold_pass_prime(pass) * bytes);

    __syncthreads();
    for (int i = threadIdx.x; i < bytes / 16; i += S::THREADS)
        reinterpret_cast<uint4 *>(shared + S::MATRIX)[i] = from[i];
    if (threadIdx.x == 0)
        warprsa_fold_pass_program(
            reinterpret_cast<warprsa_fold_program *>(shared + S::PROGRAM), e,
            pass);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
}

static __device__ __forceinline__ warprsa_fold_group
warprsa_fold_pair_new_group(const warprsa_fold_batch &batch, uint8_t *shared)
{
    typedef warprsa_fold_pair_scratch scratch;
    /* Before the addresses of the scratch memory: ptxas 13.0 spills 44 bytes in
     * the other order. */
    warprsa_fold_group g =
        warprsa_fold_group_in_smem<warprsa_fold_pair_shared>(batch, shared);
    uint8_t *at = warprsa_fold_pair_matrices(batch) + 2 * scratch::MATRIX;

    g.memory.registers = (double *)at;
    at += scratch::REGISTERS;
    g.memory.table = (uint32_t *)at;
    at += scratch::TABLE;
    g.memory.qinv = (double *)at;
    return g;
}

/* Which request of its item, or of its part of it, a thread has. */
static __device__ __forceinline__ uint32_t warprsa_fold_pair_local()
{
    return threadIdx.x / 32 * WARPRSA_FOLD_GROUP +
           threadIdx.x % WARPRSA_FOLD_GROUP;
}

/* Items that are cut into 2 * parts blocks each: those mod p, then those mod q.
 * The matrix of a block's prime is in its place of the scratch memory. */
struct warprsa_fold_roots_launch {
    warprsa_fold_batch batch;
    uint32_t parts;
};

/* The first request, of its item, of a block with one warpgroup. */
static __device__ __forceinline__ uint32_t
warprsa_fold_roots_first(const warprsa_fold_roots_launch &launch)
{
    return warprsa_fold_pair_shared::WARPGROUPS > 1
               ? 0
               : blockIdx.x % launch.parts * (WARPRSA_FOLD_WARPGROUP / 2);
}

/* Whether this warpgroup has requests of the item's `count`. With two to a
 * block and two parts, each part is one warpgroup's, and the other only helps
 * to make matrices. Public, and the same for all of a warp. */
static __device__ __forceinline__ bool
warprsa_fold_roots_active(const warprsa_fold_roots_launch &launch,
                          uint32_t count)
{
    typedef warprsa_fold_pair_shared S;
    const uint32_t warpgroup = warprsa_fold_warpgroup<S>();
    const uint32_t first = warprsa_fold_roots_first(launch) +
                           warpgroup * (WARPRSA_FOLD_WARPGROUP / 2);

    return first < warprsa_largest_in_warp(count) &&
           (S::WARPGROUPS == 1 || launch.parts == 1 ||
            warpgroup == blockIdx.x % launch.parts);
}

/* Zeros that the tensor cores read behind the bytes. */
static __device__ __forceinline__ void warprsa_fold_roots_clear(uint8_t *shared)
{
#if WARPRSA_FOLD_PAIR_LIMBS != 40
    typedef warprsa_fold_pair_shared S;

    for (int i = threadIdx.x; i < S::ZEROS / 16; i += S::THREADS)
        reinterpret_cast<uint4 *>(shared + S::BYTES + S::TILE)[i] =
            make_uint4(0, 0, 0, 0);
#else
    (void)shared;
#endif
}

template <int THREADS_PER_NUMBER, int LIMBS_PER_THREAD>
__global__ void __launch_bounds__(warprsa_fold_pair_shared::THREADS,
                                  warprsa_fold_pair_shared::BLOCKS)
    warprsa_fold_make_roots(
        const __grid_constant__ warprsa_fold_roots_launch launch)
{
    WARPRSA_STAGE(REST);
    typedef warprsa_fold_pair_shared S;
    extern __shared__ __align__(128) uint8_t shared[];
    const uint32_t local =
        warprsa_fold_roots_first(launch) + warprsa_fold_pair_local();
    const int pass =
        WARPRSA_FOLD_PASS_ROOT_P + (int)(blockIdx.x / launch.parts % 2);
    const warprsa_batch &batch = launch.batch.batch;
    const warprsa_fold_item own =
        launch.batch.items[blockIdx.x / (2 * launch.parts)];
    const warprsa_prepared_key *key =
        batch.keys + warprsa_largest_in_warp(batch.key[own.first]);
    uint8_t *matrices = warprsa_fold_pair_matrices(launch.batch);
    warprsa_fold_group g = warprsa_fold_pair_new_group(launch.batch, shared);

    warprsa_fold_new_barriers(&g);
    warprsa_fold_roots_clear(shared);
    g.request = own.first + (local < own.count ? local : own.count - 1);
    g.prime = warprsa_fold_pass_prime(pass);
    warprsa_fold_pair_load_key<THREADS_PER_NUMBER, LIMBS_PER_THREAD>(
        matrices, (double *)g.memory.qinv, key);
    warprsa_fold_pair_load_pass(shared, matrices,
                                warprsa_fold_public_exponent(key), pass);
    if (warprsa_fold_roots_active(launch, own.count)) {
        warprsa_fold_pair_blind_exponents(&g);
        warprsa_fold_pair_run(
            &g, reinterpret_cast<warprsa_fold_program *>(shared + S::PROGRAM),
            pass, true, (int)batch.windows);
        warprsa_fold_pair_put_root(&g);
    }
    __syncthreads();
    warprsa_fold_wipe(matrices, warprsa_fold_pair_scratch::ALL);
    warprsa_fold_wipe(shared, S::BARRIER / 16 * 16);
}

/* Queues what makes the roots of all items, each by `parts` blocks for each
 * prime. */
template <int THREADS_PER_NUMBER, int LIMBS_PER_THREAD>
static cudaError_t warprsa_launch_fold_roots(const warprsa_fold_batch *batch,
                                             uint32_t parts,
                                             cudaStream_t stream)
{
    typedef warprsa_fold_pair_shared S;
    void (*const kernel)(const warprsa_fold_roots_launch) =
        warprsa_fold_make_roots<THREADS_PER_NUMBER, LIMBS_PER_THREAD>;
    const warprsa_fold_roots_launch launch = {*batch, parts};
    cudaError_t error = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::ALL);

    if (error != cudaSuccess)
        return error;
    kernel<<<2 * parts * batch->item_count, S::THREADS, S::ALL, stream>>>(
        launch);
    return cudaGetLastError();
}

#endif
