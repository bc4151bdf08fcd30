/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "fold" for RSA-4096: 128 requests of a key to a block, first mod
 * q, then mod p, then the check mod q, by pair_operation.h. The matrices of
 * both primes are made once for a key, in the block's scratch memory, and the
 * one that a pass needs is copied to shared memory.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_PAIR_CUH
#define WARPRSA_GPU_KERNELS_FOLD_PAIR_CUH

#include "gpu/kernels/fold/fold.cuh"
#include "gpu/kernels/fold/pair_operation.h"

typedef warprsa_fold_shared<WARPRSA_FOLD_PAIR_LIMBS> warprsa_fold_pair_shared;

/* Scratch memory of a block in device memory: sizes in bytes. */
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
    static constexpr size_t INVERSION =
        THREADS * WARPRSA_HALF_SAMPLES * sizeof(double);
    static constexpr size_t QINV = WARPRSA_HALF_SAMPLES * sizeof(double);
    static constexpr size_t ALL =
        2 * MATRIX + REGISTERS + TABLE + INVERSION + QINV;
};

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
    g.memory.inversion = (double *)at;
    at += scratch::INVERSION;
    g.memory.qinv = (double *)at;
    return g;
}

template <int THREADS_PER_NUMBER, int LIMBS_PER_THREAD>
__global__ void __launch_bounds__(warprsa_fold_pair_shared::THREADS,
                                  warprsa_fold_pair_shared::BLOCKS)
    warprsa_fold_pair_operations(
        const __grid_constant__ warprsa_fold_batch batch)
{
    WARPRSA_STAGE(REST);
    typedef warprsa_fold_pair_shared S;
    extern __shared__ __align__(128) uint8_t shared[];
    const uint32_t local = threadIdx.x / 32 * WARPRSA_FOLD_GROUP +
                           threadIdx.x % WARPRSA_FOLD_GROUP;
    uint8_t *matrices = warprsa_fold_pair_matrices(batch);
    warprsa_fold_group g = warprsa_fold_pair_new_group(batch, shared);
    uint32_t loaded = 0xffffffffu;

    warprsa_fold_new_barriers(&g);
    WARPRSA_ROLLED
    for (uint32_t item = blockIdx.x; item < batch.item_count;
         item += gridDim.x) {
        const warprsa_fold_item own = batch.items[item];
        /* Public, and the same for all. */
        const uint32_t key =
            warprsa_largest_in_warp(batch.batch.key[own.first]);
        const warprsa_prepared_key *of = batch.batch.keys + key;

        g.request = own.first + (local < own.count ? local : own.count - 1);
        if (key != loaded)
            warprsa_fold_pair_load_key<THREADS_PER_NUMBER, LIMBS_PER_THREAD>(
                matrices, (double *)g.memory.qinv, of);
        loaded = key;
        warprsa_fold_pair_blinding(&g);
        WARPRSA_ROLLED
        for (int pass = 0; pass < WARPRSA_FOLD_PASSES; pass++) {
            g.prime = warprsa_fold_pass_prime(pass);
            warprsa_fold_pair_load_pass(shared, matrices,
                                        warprsa_fold_public_exponent(of), pass);
            warprsa_fold_pair_run(
                &g,
                reinterpret_cast<warprsa_fold_program *>(shared + S::PROGRAM),
                pass, (int)batch.batch.windows);
        }
    }
    __syncthreads();
    warprsa_fold_wipe(matrices, warprsa_fold_pair_scratch::ALL);
    warprsa_fold_wipe(shared, S::BARRIER / 16 * 16);
}

#endif
