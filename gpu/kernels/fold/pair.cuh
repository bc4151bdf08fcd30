/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "fold" for RSA-4096: 128 requests of a key to a block, first mod
 * q, then mod p, then the check mod q, by pair_operation.h. The matrices of
 * both primes are made once for a key, in the block's scratch memory, and the
 * one that a pass needs is copied to shared memory. With few items the roots
 * are made by more blocks (roots.cuh), and another kernel puts them together.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_PAIR_CUH
#define WARPRSA_GPU_KERNELS_FOLD_PAIR_CUH

#include "gpu/kernels/fold/roots.cuh"

template <int THREADS_PER_NUMBER, int LIMBS_PER_THREAD>
__global__ void __launch_bounds__(warprsa_fold_pair_shared::THREADS,
                                  warprsa_fold_pair_shared::BLOCKS)
    warprsa_fold_pair_operations(
        const __grid_constant__ warprsa_fold_batch batch)
{
    WARPRSA_STAGE(REST);
    typedef warprsa_fold_pair_shared S;
    extern __shared__ __align__(128) uint8_t shared[];
    const uint32_t local = warprsa_fold_pair_local();
    uint8_t *matrices = warprsa_fold_pair_matrices(batch);
    warprsa_fold_group g = warprsa_fold_pair_new_group(batch, shared);
    uint32_t loaded = 0xffffffffu;

    warprsa_fold_new_barriers(&g);
    WARPRSA_ROLLED
    for (uint32_t item = blockIdx.x; item < batch.item_count;
         item += gridDim.x) {
        const warprsa_fold_item own = batch.items[item];
        /* Public, and equal in all threads. */
        const uint32_t key =
            warprsa_largest_in_warp(batch.batch.key[own.first]);
        const warprsa_prepared_key *of = batch.batch.keys + key;

        g.request = own.first + (local < own.count ? local : own.count - 1);
        if (key != loaded)
            warprsa_fold_pair_load_key<THREADS_PER_NUMBER, LIMBS_PER_THREAD>(
                matrices, (double *)g.memory.qinv, of);
        loaded = key;
        warprsa_fold_pair_blind_exponents(&g);
        WARPRSA_ROLLED
        for (int pass = 0; pass < WARPRSA_FOLD_PASSES; pass++) {
            g.prime = warprsa_fold_pass_prime(pass);
            warprsa_fold_pair_load_pass(shared, matrices,
                                        warprsa_fold_public_exponent(of), pass);
            warprsa_fold_pair_run(
                &g,
                reinterpret_cast<warprsa_fold_program *>(shared + S::PROGRAM),
                pass, false, (int)batch.batch.windows);
        }
    }
    __syncthreads();
    warprsa_fold_wipe(matrices, warprsa_fold_pair_scratch::ALL);
    warprsa_fold_wipe(shared, S::BARRIER / 16 * 16);
}

/* Puts the roots of an item together; a block for each. */
template <int THREADS_PER_NUMBER, int LIMBS_PER_THREAD>
__global__ void __launch_bounds__(warprsa_fold_pair_shared::THREADS,
                                  warprsa_fold_pair_shared::BLOCKS)
    warprsa_fold_pair_rest(const __grid_constant__ warprsa_fold_batch batch)
{
    WARPRSA_STAGE(REST);
    typedef warprsa_fold_pair_shared S;
    extern __shared__ __align__(128) uint8_t shared[];
    const uint32_t local = warprsa_fold_pair_local();
    const warprsa_fold_item own = batch.items[blockIdx.x];
    const warprsa_prepared_key *key =
        batch.batch.keys + warprsa_largest_in_warp(batch.batch.key[own.first]);
    uint8_t *matrices = warprsa_fold_pair_matrices(batch);
    warprsa_fold_group g = warprsa_fold_pair_new_group(batch, shared);

    warprsa_fold_new_barriers(&g);
    g.request = own.first + (local < own.count ? local : own.count - 1);
    warprsa_fold_pair_load_key<THREADS_PER_NUMBER, LIMBS_PER_THREAD>(
        matrices, (double *)g.memory.qinv, key);
    warprsa_fold_pair_take_roots(&g);
    WARPRSA_ROLLED
    for (int prime = 0; prime < 2; prime++) {
        const int pass =
            prime == 0 ? WARPRSA_FOLD_PASS_RECOMBINE : WARPRSA_FOLD_PASS_CHECK;

        g.prime = prime;
        warprsa_fold_pair_load_pass(shared, matrices,
                                    warprsa_fold_public_exponent(key), pass);
        warprsa_fold_pair_run(
            &g, reinterpret_cast<warprsa_fold_program *>(shared + S::PROGRAM),
            pass, false, (int)batch.batch.windows);
    }
    __syncthreads();
    warprsa_fold_wipe(matrices, warprsa_fold_pair_scratch::ALL);
    warprsa_fold_wipe(shared, S::BARRIER / 16 * 16);
}

#endif
