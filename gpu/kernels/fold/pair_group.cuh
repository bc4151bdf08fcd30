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

/*
 * What a block has in shared memory, as warprsa_fold_shared. With 20 and 30
 * samples a block is one warpgroup, with the matrix of one prime. Two such
 * blocks share an SM with 30 samples; with 20, whole operations (fold.cuh) are
 * faster than that.
 */
#if WARPRSA_FOLD_PAIR_LIMBS == 40
typedef warprsa_fold_shared<40> warprsa_fold_pair_shared;
#else
struct warprsa_fold_pair_shared {
    typedef warprsa_fold_shared<WARPRSA_FOLD_PAIR_LIMBS> whole;
    static constexpr int LIMBS_PER_LANE = whole::LIMBS_PER_LANE;
    static constexpr int CHUNKS = whole::CHUNKS;
    static constexpr int COLUMNS = whole::COLUMNS;
    static constexpr int DEPTH = whole::DEPTH;
    static constexpr int DEPTH_STRIDE = whole::DEPTH_STRIDE;
    static constexpr int TILE = whole::TILE;
    static constexpr int ZEROS = whole::ZEROS;
    static constexpr int PAIRS = whole::PAIRS, SINGLES = whole::SINGLES;
    static constexpr int SMEM_PIECES =
        WARPRSA_FOLD_SMEM_WORDS(WARPRSA_FOLD_PART_LIMBS) * 4;
    static constexpr int WARP =
        whole::JOINED > SMEM_PIECES ? whole::JOINED : SMEM_PIECES;

    static constexpr int WARPGROUPS = 1;
    static constexpr int BLOCKS = WARPRSA_FOLD_PAIR_LIMBS == 20 ? 1 : 2;
    static constexpr int THREADS = WARPRSA_FOLD_WARPGROUP;

    static constexpr int BYTES = 0;
    static constexpr int SUMS = BYTES + TILE + ZEROS;
    static constexpr int WARPGROUP_BYTES = SUMS + 4 * WARP;
    static constexpr int SELECTED = WARPGROUP_BYTES;
    static constexpr int MATRIX =
        SELECTED + WARPRSA_FOLD_WORDS(WARPRSA_FOLD_PART_LIMBS) * 4 * THREADS;
    static constexpr int PROGRAM =
        MATRIX + WARPRSA_FOLD_MATRIX_BYTES(WARPRSA_FOLD_PAIR_LIMBS);
    static constexpr int BARRIER =
        PROGRAM + (sizeof(warprsa_fold_program) + 7) / 8 * 8;
    static constexpr int BARRIERS = whole::BARRIERS;
    static constexpr int ALL = BARRIER + BARRIERS;
};
#endif

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

#if WARPRSA_FOLD_PAIR_LIMBS == 40

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

#else /* 20 or 30 */

/* Address of the bytes of column i, even or odd, of the part that this thread
 * has, but for i / 2 times DEPTH_STRIDE. An odd number of columns of part 0
 * leaves room for the first of part 1 beside its last. */
static __device__ __forceinline__ uint32_t
warprsa_fold_pair_bytes_address(const warprsa_fold_group *g, const int odd)
{
    typedef warprsa_fold_pair_shared S;
    const int message = threadIdx.x / 32 % 4 * 16 + threadIdx.x % 16;
    const int first = WARPRSA_FOLD_PART_LIMBS + odd; /* of part 1 */

    return g->warpgroup_smem + S::BYTES + message / 8 * 128 + message % 8 * 16 +
           (warprsa_fold_part(0) != 0
                ? first / 2 * S::DEPTH_STRIDE + first % 2 * 8
                : odd * 8);
}

/* Nothing is stashed: its address is for warprsa_fold_schedule_barrier(). */
static __device__ __forceinline__ warprsa_fold_pair_smem_stash
warprsa_fold_pair_own_stash(const warprsa_fold_group *g)
{
    warprsa_fold_pair_smem_stash stash;

    stash.of[0].address = warprsa_fold_pair_bytes_address(g, 0);
    stash.of[0].stride = warprsa_fold_pair_shared::DEPTH_STRIDE;
    return stash;
}

/* The upper columns of a part are half of the bytes of the number. */
static __device__ __forceinline__ void
warprsa_fold_pair_put_columns(const warprsa_fold_group *g,
                              const uint64_t *upper)
{
    typedef warprsa_fold_pair_shared S;
    const uint32_t even = warprsa_fold_pair_bytes_address(g, 0);

    if (WARPRSA_FOLD_PART_LIMBS % 2 == 0) {
        warprsa_fold_put_columns<S>(g, even - g->warpgroup_smem, upper,
                                    WARPRSA_FOLD_PART_LIMBS);
    } else {
        const uint32_t odd = warprsa_fold_pair_bytes_address(g, 1);

        warprsa_fold_wait_bytes_read(g);
#pragma unroll
        for (int i = 0; i < WARPRSA_FOLD_PART_LIMBS; i++)
            asm volatile(
                "st.shared.u64 [%0], %1;" ::"r"((i % 2 != 0 ? odd : even) +
                                                i / 2 * S::DEPTH_STRIDE),
                "l"(upper[i])
                : "memory");
        warprsa_fold_bytes_barrier<S>();
    }
}

/* Address of the joined digits of sample i of a number, 0..N - 1, of the
 * message of this thread. */
static __device__ __forceinline__ uint32_t
warprsa_fold_pair_joined_address(const warprsa_fold_group *g, const int i)
{
    typedef warprsa_fold_pair_shared S;
    const int chunk = i / (4 * S::LIMBS_PER_LANE);
    const int plane = i / S::LIMBS_PER_LANE % 4, at = i % S::LIMBS_PER_LANE;
    const int message = threadIdx.x % 16 + 16 * chunk;

    return at == 4 ? warprsa_fold_single_limb_address<S>(g, plane, message)
                   : warprsa_fold_two_limbs_address<S>(g, plane, message) +
                         at / 2 * S::PAIRS + at % 2 * 8;
}

/* Makes the samples of the part that this thread has, from the joined digits of
 * its warp. */
static __device__ __forceinline__ void
warprsa_fold_pair_carries(double *a, const warprsa_fold_group *g,
                          const uint64_t *s, uint32_t *carry)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;
    const bool is_upper = warprsa_fold_part(0) != 0;
    uint64_t x[WARPRSA_FOLD_PART_LIMBS];

#if WARPRSA_FOLD_PAIR_LIMBS == 20
#pragma unroll
    for (int i = 0; i < part_limbs; i++) {
        const uint32_t at =
            is_upper ? warprsa_fold_pair_joined_address(g, part_limbs + i)
                     : warprsa_fold_pair_joined_address(g, i);

        if (i % 5 == 4)
            asm volatile("ld.shared.u64 %0, [%1];" : "=l"(x[i]) : "r"(at));
        else if (i % 5 % 2 == 0)
            asm volatile("ld.shared.v2.u64 {%0, %1}, [%2];"
                         : "=l"(x[i]), "=l"(x[i + 1])
                         : "r"(at));
    }
#else
#pragma unroll
    for (int i = 0; i < part_limbs; i++)
        asm volatile(
            "ld.shared.u64 %0, [%1];"
            : "=l"(x[i])
            : "r"(is_upper ? warprsa_fold_pair_joined_address(g, part_limbs + i)
                           : warprsa_fold_pair_joined_address(g, i)));
#endif
#pragma unroll
    for (int i = 0; i < part_limbs; i += 5)
        warprsa_fold_carry(a + i, x + i, s + i, 5, carry);
}

/* a = the columns folded. If there are two chunks, their matrix products run
 * one behind the other; the first is joined while the second is under way. */
static __device__ __forceinline__ void
warprsa_fold_pair_fold(warprsa_fold_number *a, const warprsa_fold_group *g,
                       warprsa_fold_columns *s,
                       const warprsa_fold_table_work *work, uint32_t *digit)
{
    constexpr int LIMBS = WARPRSA_FOLD_PAIR_LIMBS;
    typedef warprsa_fold_pair_shared S;
    uint32_t d[S::CHUNKS][S::COLUMNS / 2], over[2] = {0, 0}, carry = 0;

    warprsa_fold_pair_top(s);
    warprsa_fold_pair_put_columns(g, s->of[0] + WARPRSA_FOLD_PART_LIMBS);
    const uint64_t messages =
        warprsa_fold_descriptor(g->warpgroup_smem + S::BYTES, S::DEPTH_STRIDE);
    const uint64_t last = warprsa_fold_descriptor(g->warpgroup_smem + S::BYTES +
                                                      S::TILE - S::DEPTH_STRIDE,
                                                  S::DEPTH_STRIDE);
    const uint64_t matrix = warprsa_fold_descriptor(g->matrix, 16 * S::COLUMNS);
#pragma unroll
    for (int chunk = 0; chunk < S::CHUNKS; chunk++)
        warprsa_fold_mma_start<S::DEPTH, S::COLUMNS>(
            d[chunk], messages,
            matrix + chunk * (WARPRSA_FOLD_CHUNK_BYTES(LIMBS) >> 4),
            S::DEPTH_STRIDE, last);
    if (work->select >= 0) {
        warprsa_fold_wait_fetched(g);
        warprsa_fold_pair_select_pieces(&g->memory, work->select, *digit, 0);
        /* Sums will be stored there. */
        __syncwarp();
    }
#pragma unroll
    for (int chunk = 0; chunk < S::CHUNKS; chunk++) {
        if (chunk < S::CHUNKS - 1) {
            warprsa_fold_mma_wait<S::COLUMNS, 1>(d[chunk]);
        } else {
            warprsa_fold_mma_wait<S::COLUMNS, 0>(d[chunk]);
            warprsa_fold_signal_bytes_read(g);
        }
        warprsa_fold_join_chunk<LIMBS, S>(g, d[chunk], chunk, over);
    }
    if (work->digit >= 0)
        *digit =
            warprsa_fold_digit(warprsa_fold_pair_exponent(g, 0), work->digit);
    __syncwarp();
    warprsa_fold_pair_carries(a->of[0], g, s->of[0], &carry);
    warprsa_fold_pair_carry(a, &carry);
    __syncwarp();
    if (work->fetch >= 0)
        warprsa_fold_fetch(g, work->fetch, 0, WARPRSA_FOLD_PART_LIMBS);
}

#endif

#endif
