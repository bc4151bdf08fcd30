/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The device's part of pair_operation.h: the fold by tensor cores where two
 * threads share a number. Lanes 0..15 of a warp have the lower samples of the
 * numbers of 16 requests modulo one prime, lanes 16..31 the upper samples. The
 * four warps of a warpgroup fold 64 numbers together.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_PAIR_GROUP_CUH
#define WARPRSA_GPU_KERNELS_FOLD_PAIR_GROUP_CUH

#include "gpu/kernels/fold/pair.h"

static __device__ __forceinline__ const double *
warprsa_fold_pair_prime(const warprsa_fold_group *g)
{
    return g->batch->keys[g->batch->key[g->request]].half[g->prime].modulus;
}

static __device__ __forceinline__ const uint32_t *
warprsa_fold_pair_exponent(const warprsa_fold_group *g, int)
{
    return g->batch->exponent +
           ((size_t)g->request * 2 + g->prime) * WARPRSA_BLINDED_WORDS;
}

/* Offset, in the shared memory of the warpgroup, of the bytes of the part that
 * this thread has: half of those of its number. */
static __device__ __forceinline__ uint32_t warprsa_fold_pair_bytes_offset()
{
    typedef warprsa_fold_shared<WARPRSA_FOLD_PAIR_LIMBS> S;
    const int message = threadIdx.x / 32 % 4 * 16 + threadIdx.x % 16;

    return S::BYTES + warprsa_fold_part(0) * (S::TILE / 2) + message / 8 * 128 +
           message % 8 * 16;
}

/* The stash of this thread, see warprsa_fold_own_stash(). */
static __device__ __forceinline__ warprsa_fold_pair_smem_stash
warprsa_fold_pair_own_stash(const warprsa_fold_group *g)
{
    warprsa_fold_pair_smem_stash stash;

    warprsa_fold_wait_bytes_read(g);
    stash.of[0].address = g->warpgroup_smem + warprsa_fold_pair_bytes_offset();
    stash.of[0].stride =
        warprsa_fold_shared<WARPRSA_FOLD_PAIR_LIMBS>::DEPTH_STRIDE;
    return stash;
}

/* a = the columns folded. The matrix products of both chunks run one behind the
 * other; the first is joined while the second is under way. */
static __device__ __forceinline__ void
warprsa_fold_pair_fold(warprsa_fold_number *a, const warprsa_fold_group *g,
                       warprsa_fold_columns *s,
                       const warprsa_fold_table_work *work, uint32_t *digit)
{
    constexpr int LIMBS = WARPRSA_FOLD_PAIR_LIMBS;
    typedef warprsa_fold_shared<LIMBS> S;
    uint32_t d[2][S::COLUMNS / 2], over[2] = {0, 0}, carry = 0;

    warprsa_fold_pair_top(s);
    /* The upper columns of a part are half of the bytes of the number. */
    warprsa_fold_put_columns<S>(g, warprsa_fold_pair_bytes_offset(),
                                s->of[0] + WARPRSA_FOLD_PART_LIMBS,
                                WARPRSA_FOLD_PART_LIMBS);
    const uint64_t messages =
        warprsa_fold_descriptor(g->warpgroup_smem + S::BYTES, S::DEPTH_STRIDE);
    const uint64_t matrix = warprsa_fold_descriptor(g->matrix, 16 * S::COLUMNS);
#pragma unroll
    for (int chunk = 0; chunk < 2; chunk++)
        warprsa_fold_mma_start<S::DEPTH, S::COLUMNS>(
            d[chunk], messages,
            matrix + chunk * (WARPRSA_FOLD_CHUNK_BYTES(LIMBS) >> 4),
            S::DEPTH_STRIDE, 0);
    if (work->select >= 0) {
        warprsa_fold_wait_fetched(g);
        warprsa_fold_pair_select_pieces(&g->memory, work->select, *digit, 0);
        /* Sums will be stored there. */
        __syncwarp();
    }
    warprsa_fold_mma_wait<S::COLUMNS, 1>(d[0]);
    warprsa_fold_join_chunk<LIMBS>(g, d[0], 0, over);
    warprsa_fold_mma_wait<S::COLUMNS, 0>(d[1]);
    warprsa_fold_signal_bytes_read(g);
    warprsa_fold_join_chunk<LIMBS>(g, d[1], 1, over);
    if (work->digit >= 0)
        *digit =
            warprsa_fold_digit(warprsa_fold_pair_exponent(g, 0), work->digit);
    __syncwarp();
    warprsa_fold_carries<LIMBS>(a->of[0], g, s->of[0], 0, &carry);
    warprsa_fold_pair_carry(a, &carry);
    __syncwarp();
    if (work->fetch >= 0)
        warprsa_fold_fetch(g, work->fetch, 0, WARPRSA_FOLD_PART_LIMBS);
}

#endif
