/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "fold" for RSA-2048 and RSA-3072: whole private operations of
 * requests that share a key, 64 to a warpgroup, by the program of program.h.
 * Blocks stay and take one item (plan.h) after the other. So the tables of all
 * that is under way are few enough for L2 to hold much of them.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_FOLD_CUH
#define WARPRSA_GPU_KERNELS_FOLD_FOLD_CUH

#include "gpu/kernels/fold/fold_operation.h"
#include "gpu/kernels/fold/matrix.h"
#include "gpu/kernels/fold_common/fold_kernel.h"
#include "gpu/kernels/load.cuh"

/* Scratch memory of a block in device memory: sizes in bytes. */
template <int LIMBS> struct warprsa_fold_scratch {
    static constexpr size_t THREADS = warprsa_fold_shared<LIMBS>::THREADS;
    static constexpr size_t REGISTERS =
        WARPRSA_FOLD_REGISTERS * LIMBS * THREADS * sizeof(double);
    static constexpr size_t TABLE = WARPRSA_FOLD_ENTRIES *
                                    WARPRSA_FOLD_WORDS(LIMBS) * THREADS *
                                    sizeof(uint32_t);
    static constexpr size_t SELECTED =
        WARPRSA_FOLD_WORDS(LIMBS) * THREADS * sizeof(uint32_t);
    static constexpr size_t QINV = WARPRSA_HALF_SAMPLES * sizeof(double);
    static constexpr size_t ALL = REGISTERS + TABLE + SELECTED + QINV;
};

/* By all threads of the block. `bytes` is a multiple of 8. */
static __device__ __forceinline__ void warprsa_fold_wipe(void *from,
                                                         size_t bytes)
{
    volatile uint64_t *word = (volatile uint64_t *)from;

    for (size_t i = threadIdx.x; i < bytes / sizeof(*word); i += blockDim.x)
        word[i] = 0;
}

/* e, which a warp has in common: this tells the compiler so. */
static __device__ __forceinline__ uint64_t
warprsa_fold_public_exponent(const warprsa_prepared_key *key)
{
    return (uint64_t)warprsa_largest_in_warp((uint32_t)(key->e >> 32)) << 32 |
           warprsa_largest_in_warp((uint32_t)key->e);
}

/* Initialises the barriers of the block, before anything else. */
static __device__ __forceinline__ void
warprsa_fold_new_barriers(const warprsa_fold_group *g)
{
    if (threadIdx.x % WARPRSA_FOLD_WARPGROUP == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(g->barrier),
                     "r"((uint32_t)WARPRSA_FOLD_WARPGROUP)
                     : "memory");
    if (threadIdx.x % 32 == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;\n"
                     "fence.mbarrier_init.release.cluster;" ::"r"(g->fetched)
                     : "memory");
    __syncthreads();
}

/* Makes the matrices, 1/q and the program of a key. By all threads. */
template <int LIMBS, int THREADS_PER_NUMBER, int LIMBS_PER_THREAD>
static __device__ __noinline__ void
warprsa_fold_load_key(uint8_t *shared, double *qinv,
                      const warprsa_prepared_key *key, bool roots)
{
    typedef warprsa_fold_shared<LIMBS> S;
    constexpr int bytes = WARPRSA_FOLD_MATRIX_BYTES(LIMBS);
    constexpr int groups = S::THREADS / (2 * THREADS_PER_NUMBER),
                  last = 8 * LIMBS - 1;
    uint8_t *matrix = shared + S::MATRIX;
    const uint64_t e = warprsa_fold_public_exponent(key);

    __syncthreads();
    for (int i = threadIdx.x; i < 2 * bytes / 16; i += S::THREADS)
        reinterpret_cast<uint4 *>(matrix)[i] = make_uint4(0, 0, 0, 0);
    for (int i = threadIdx.x; i < S::WARPGROUPS * S::ZEROS / 16;
         i += S::THREADS)
        reinterpret_cast<uint4 *>(
            shared + i / (S::DEPTH_STRIDE / 16) * S::WARPGROUP_BYTES +
            S::BYTES + 2 * S::TILE)[i % (S::DEPTH_STRIDE / 16)] =
            make_uint4(0, 0, 0, 0);
    __syncthreads();
    if (threadIdx.x == 0)
        warprsa_fold_program_make(
            reinterpret_cast<warprsa_fold_program *>(shared + S::PROGRAM), e,
            roots);
    __syncwarp();
    /* The last row is made in another way, so all groups of threads make it
     * together: lanes of a warp that diverge would wait for each other in their
     * exchanges. */
    WARPRSA_ROLLED
    for (int row = threadIdx.x / (2 * THREADS_PER_NUMBER); row < 8 * LIMBS;
         row += groups)
        warprsa_fold_make_row(matrix, matrix + bytes, key,
                              row == last ? 0 : row, LIMBS, THREADS_PER_NUMBER,
                              LIMBS_PER_THREAD);
    warprsa_fold_make_row(matrix, matrix + bytes, key, last, LIMBS,
                          THREADS_PER_NUMBER, LIMBS_PER_THREAD);
    warprsa_fold_put_qinv(qinv, key, LIMBS, THREADS_PER_NUMBER,
                          LIMBS_PER_THREAD);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
}

/* The group of a thread, but for what lies in the scratch memory of the
 * block. */
template <typename S>
static __device__ __forceinline__ warprsa_fold_group
warprsa_fold_group_in_smem(const warprsa_fold_batch &batch, uint8_t *shared)
{
    const uint32_t warpgroup = warprsa_fold_warpgroup<S>();
    const uint32_t base = (uint32_t)__cvta_generic_to_shared(shared);
    warprsa_fold_group g;

    g.memory.selected = (uint32_t *)(shared + S::SELECTED);
    g.memory.smem_pieces =
        (uint32_t *)(shared + warpgroup * S::WARPGROUP_BYTES + S::SUMS +
                     threadIdx.x / 32 % 4 * S::WARP);
    g.memory.stride = S::THREADS;
    g.batch = &batch.batch;
    g.warpgroup_smem = base + warpgroup * S::WARPGROUP_BYTES;
    g.matrix = base + S::MATRIX;
    g.barrier = base + S::BARRIER + S::BARRIERS * warpgroup;
    g.fetched = g.barrier + 8 + 8 * (threadIdx.x / 32 % 4);
    g.parity = 0;
    g.fetched_parity = 0;
    return g;
}

template <int LIMBS>
static __device__ __forceinline__ warprsa_fold_group
warprsa_fold_new_group(const warprsa_fold_batch &batch, uint8_t *shared)
{
    typedef warprsa_fold_shared<LIMBS> S;
    typedef warprsa_fold_scratch<LIMBS> scratch;
    uint8_t *at = (uint8_t *)batch.batch.table + blockIdx.x * scratch::ALL;
    warprsa_fold_group g = warprsa_fold_group_in_smem<S>(batch, shared);

    g.memory.registers = (double *)at;
    at += scratch::REGISTERS;
    g.memory.table = (uint32_t *)at;
    at += scratch::TABLE;
    /* If the selected entries are in shared memory, the block has one warpgroup
     * only, so no offset for others is needed. */
    if (!S::SELECTED_IN_SMEM)
        g.memory.selected = (uint32_t *)at;
    at += scratch::SELECTED;
    g.memory.qinv = (double *)at;
    return g;
}

/* With ROOTS a batch has the roots, and the rest of its operations is wanted.
 */
template <int LIMBS, int THREADS_PER_NUMBER, int LIMBS_PER_THREAD, bool ROOTS>
__global__ void __launch_bounds__(warprsa_fold_shared<LIMBS>::THREADS,
                                  warprsa_fold_shared<LIMBS>::BLOCKS)
    warprsa_fold_operations(const __grid_constant__ warprsa_fold_batch batch)
{
    WARPRSA_STAGE(REST);
    typedef warprsa_fold_shared<LIMBS> S;
    extern __shared__ __align__(128) uint8_t shared[];
    const uint32_t local = threadIdx.x / 32 * WARPRSA_FOLD_GROUP +
                           threadIdx.x % WARPRSA_FOLD_GROUP;
    warprsa_fold_group g = warprsa_fold_new_group<LIMBS>(batch, shared);
    uint32_t loaded = 0xffffffffu;

    warprsa_fold_new_barriers(&g);
    WARPRSA_ROLLED
    for (uint32_t item = blockIdx.x; item < batch.item_count;
         item += gridDim.x) {
        const warprsa_fold_item own = batch.items[item];
        /* Public, and equal in all threads. */
        const uint32_t key =
            warprsa_largest_in_warp(batch.batch.key[own.first]);

        g.request = own.first + (local < own.count ? local : own.count - 1);
        if (key != loaded)
            warprsa_fold_load_key<LIMBS, THREADS_PER_NUMBER, LIMBS_PER_THREAD>(
                shared, (double *)g.memory.qinv, batch.batch.keys + key, ROOTS);
        loaded = key;
        warprsa_fold_run(
            &g, reinterpret_cast<warprsa_fold_program *>(shared + S::PROGRAM),
            (int)batch.batch.windows, ROOTS, LIMBS);
        __syncthreads();
    }
    warprsa_fold_wipe(g.memory.registers, warprsa_fold_scratch<LIMBS>::ALL);
    warprsa_fold_wipe(shared, S::BARRIER / 16 * 16);
}

/* Launches a fold kernel with the shared memory of S. */
template <typename S, void (*KERNEL)(const warprsa_fold_batch)>
static cudaError_t warprsa_launch_fold(const warprsa_fold_batch *batch,
                                       uint32_t blocks, cudaStream_t stream)
{
    cudaError_t error = cudaFuncSetAttribute(
        KERNEL, cudaFuncAttributeMaxDynamicSharedMemorySize, S::ALL);

    if (error != cudaSuccess)
        return error;
    KERNEL<<<blocks, S::THREADS, S::ALL, stream>>>(*batch);
    return cudaGetLastError();
}

#endif
