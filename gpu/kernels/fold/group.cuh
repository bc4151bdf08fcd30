/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The device's part of fold_operation.h: the memory of a block, and the fold by
 * tensor cores where one thread has one message.
 *
 * Lanes 0..15 of a warp have the halves mod p of 16 requests, lanes 16..31 the
 * halves mod q. The four warps of a warpgroup fold together. Tile 0 is their
 * lanes 0..15, which are 64 messages mod p, tile 1 is the others, mod q. wgmma
 * gives each warp the sums of 16 messages of a tile, so with these tiles each
 * warp gets the sums of its own messages.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_GROUP_CUH
#define WARPRSA_GPU_KERNELS_FOLD_GROUP_CUH

#include "gpu/kernels/fold/mma.cuh"
#include "gpu/kernels/fold/table.h"
#include "gpu/kernels/request.cuh"

enum {
    WARPRSA_FOLD_WARPGROUP = 128,
};

/* What a block has in shared memory: offsets and sizes in bytes. */
template <int LIMBS> struct warprsa_fold_shared {
    static constexpr int LIMBS_PER_LANE = WARPRSA_FOLD_LIMBS_PER_LANE(LIMBS);
    static constexpr int CHUNKS = WARPRSA_FOLD_CHUNKS(LIMBS);
    static constexpr int COLUMNS = WARPRSA_FOLD_COLUMNS(LIMBS);
    static constexpr int DEPTH = WARPRSA_FOLD_DEPTH(LIMBS);
    /* Upper columns as bytes: 16 of each of 64 messages side by side, and the
     * next 16 of each DEPTH_STRIDE further. */
    static constexpr int DEPTH_STRIDE = 64 * 16;
    static constexpr int TILE = DEPTH / 16 * DEPTH_STRIDE;
    /* Zeros behind both tiles. The tensor cores read them with the last 16
     * bytes of a message where these do not make 32. */
    static constexpr int ZEROS = DEPTH % 32 != 0 ? DEPTH_STRIDE : 0;
    /* Joined digits of a chunk, of a warp: four planes of two samples of 32
     * messages each, and one more plane of single samples where a lane has 5.
     * Each has a little room more, so that no two lanes that store at once meet
     * in a bank. */
    static constexpr int PAIRS = 34 * 16, SINGLES = 36 * 8;
    static constexpr int JOINED =
        4 * (2 * PAIRS + (LIMBS_PER_LANE == 5 ? SINGLES : 0));
    /* At other times the same memory has pieces of the table. */
    static constexpr int SMEM_PIECES = WARPRSA_FOLD_SMEM_WORDS(LIMBS) * 4;
    static constexpr int WARP = JOINED > SMEM_PIECES ? JOINED : SMEM_PIECES;
    /* Whether the selected entries are in shared memory: if it has room. */
    static constexpr bool SELECTED_IN_SMEM = LIMBS == 20;
    static constexpr int SELECTED_BYTES =
        WARPRSA_FOLD_WORDS(LIMBS) * 4 * WARPRSA_FOLD_WARPGROUP;

    /* Warpgroups of a block, which share the matrices, and blocks that share an
     * SM. */
    static constexpr int WARPGROUPS = LIMBS == 20 ? 1 : 2;
    static constexpr int BLOCKS = LIMBS == 20 ? 2 : 1;
    static constexpr int THREADS = WARPGROUPS * WARPRSA_FOLD_WARPGROUP;

    /* Of a warpgroup. */
    static constexpr int BYTES = 0;
    static constexpr int SUMS = BYTES + 2 * TILE + ZEROS;
    static constexpr int SELECTED = SUMS + 4 * WARP;
    static constexpr int WARPGROUP_BYTES =
        SELECTED + (SELECTED_IN_SMEM ? SELECTED_BYTES : 0);
    /* Of the block. */
    static constexpr int MATRIX = WARPGROUPS * WARPGROUP_BYTES;
    static constexpr int PROGRAM =
        MATRIX + 2 * WARPRSA_FOLD_MATRIX_BYTES(LIMBS);
    static constexpr int BARRIER =
        PROGRAM + (sizeof(warprsa_fold_program) + 7) / 8 * 8;
    static constexpr int BARRIERS = 8 * (1 + 4); /* of a warpgroup */
    static constexpr int ALL = BARRIER + BARRIERS * WARPGROUPS;
};

/*
 * The same for RSA-4096, whose numbers are shared by two threads (pair.h). A
 * warpgroup has one tile: 64 numbers modulo one prime. The joined digits of
 * its two chunks are for lanes 0..15 and for lanes 16..31. What a thread has is
 * as much as with 20 samples.
 */
template <> struct warprsa_fold_shared<40> {
    typedef warprsa_fold_shared<20> half;
    static constexpr int LIMBS_PER_LANE = half::LIMBS_PER_LANE;
    static constexpr int CHUNKS = WARPRSA_FOLD_CHUNKS(40);
    static constexpr int COLUMNS = WARPRSA_FOLD_COLUMNS(40);
    static constexpr int DEPTH = WARPRSA_FOLD_DEPTH(40);
    static constexpr int DEPTH_STRIDE = half::DEPTH_STRIDE;
    static constexpr int TILE = DEPTH / 16 * DEPTH_STRIDE;
    static constexpr int PAIRS = half::PAIRS, SINGLES = half::SINGLES;
    static constexpr int WARP = half::WARP;

    static constexpr int WARPGROUPS = 2, BLOCKS = 1;
    static constexpr int THREADS = WARPGROUPS * WARPRSA_FOLD_WARPGROUP;

    /* Of a warpgroup. */
    static constexpr int BYTES = 0;
    static constexpr int SUMS = BYTES + TILE;
    static constexpr int WARPGROUP_BYTES = SUMS + 4 * WARP;
    /* Of the block; it has the matrix of one prime at a time. */
    static constexpr int SELECTED = WARPGROUPS * WARPGROUP_BYTES;
    static constexpr int MATRIX =
        SELECTED + WARPRSA_FOLD_WORDS(20) * 4 * THREADS;
    static constexpr int PROGRAM = MATRIX + WARPRSA_FOLD_MATRIX_BYTES(40);
    static constexpr int BARRIER =
        PROGRAM + (sizeof(warprsa_fold_program) + 7) / 8 * 8;
    static constexpr int BARRIERS = half::BARRIERS;
    static constexpr int ALL = BARRIER + BARRIERS * WARPGROUPS;
};

/* What a thread knows of its group. */
typedef struct warprsa_fold_group {
    warprsa_fold_memory memory;
    const warprsa_batch *batch;
    uint32_t request;                /* position in the batch */
    uint32_t warpgroup_smem, matrix; /* addresses in shared memory */
    uint32_t barrier; /* the warpgroup's: all have read the bytes */
    uint32_t fetched; /* the warp's: pieces of the table are here */
    int prime;        /* of pairs: 0 for p, 1 for q */
    /* Parities of the phases that the barriers complete next. */
    mutable uint32_t parity, fetched_parity;
} warprsa_fold_group;

/* Which warpgroup of the block this is. The shuffle tells the compiler that all
 * threads of a warp have one number, so that it makes descriptors once for all.
 * */
template <typename S>
static __device__ __forceinline__ uint32_t warprsa_fold_warpgroup()
{
    return S::WARPGROUPS == 1
               ? 0
               : __shfl_sync(0xffffffffu, threadIdx.x / WARPRSA_FOLD_WARPGROUP,
                             0);
}

static __device__ __forceinline__ int warprsa_fold_index(int)
{
    return threadIdx.x;
}

static __device__ __forceinline__ int warprsa_fold_half(int)
{
    return threadIdx.x / WARPRSA_FOLD_GROUP % 2;
}

/* Word i of the thread that has the other part of the number of this one
 * (pair.h). */
static __device__ __forceinline__ uint64_t
warprsa_fold_other_part(const uint64_t *from, int, int, int i)
{
    return __shfl_xor_sync(0xffffffffu, (unsigned long long)from[i],
                           WARPRSA_FOLD_GROUP);
}

static __device__ __forceinline__ warprsa_operation
warprsa_fold_operation(const warprsa_fold_group *g, int)
{
    return warprsa_request(*g->batch, g->request);
}

static __device__ __forceinline__ const double *
warprsa_fold_prime(const warprsa_fold_group *g, int)
{
    return g->batch->keys[g->batch->key[g->request]]
        .half[warprsa_fold_half(0)]
        .modulus;
}

static __device__ __forceinline__ const double *
warprsa_fold_second_prime(const warprsa_fold_group *g, int)
{
    return g->batch->keys[g->batch->key[g->request]].half[1].modulus;
}

static __device__ __forceinline__ const uint32_t *
warprsa_fold_exponent(const warprsa_fold_group *g, int)
{
    return g->batch->exponent +
           ((size_t)g->request * 2 + warprsa_fold_half(0)) *
               WARPRSA_BLINDED_WORDS;
}

/* Where a batch keeps the roots of this thread's request, mod p and then mod q,
 * if it is computed by several launches. */
static __device__ __forceinline__ double *
warprsa_fold_roots(const warprsa_fold_group *g, int)
{
    return g->batch->unblinding + (size_t)g->request * 2 * WARPRSA_HALF_SAMPLES;
}

static __device__ __forceinline__ void
warprsa_fold_store_shared(uint32_t at, uint64_t a, uint64_t b)
{
    asm volatile("st.shared.v2.u64 [%0], {%1, %2};" ::"r"(at), "l"(a), "l"(b)
                 : "memory");
}

/* Shared-memory address of two joined samples of a message of this warp. Plane
 * i has the samples of lane i of four. */
template <typename S>
static __device__ __forceinline__ uint32_t warprsa_fold_two_limbs_address(
    const warprsa_fold_group *g, int plane, int message)
{
    return g->warpgroup_smem + S::SUMS + threadIdx.x / 32 % 4 * S::WARP +
           plane * 2 * S::PAIRS + message * 16;
}

template <typename S>
static __device__ __forceinline__ uint32_t warprsa_fold_single_limb_address(
    const warprsa_fold_group *g, int plane, int message)
{
    return g->warpgroup_smem + S::SUMS + threadIdx.x / 32 % 4 * S::WARP +
           8 * S::PAIRS + plane * S::SINGLES + message * 8;
}

/* Makes the samples of a chunk of the message of this thread, from the joined
 * digits of its warp. */
template <int LIMBS>
static __device__ __forceinline__ void
warprsa_fold_carries(double *a, const warprsa_fold_group *g, const uint64_t *s,
                     int chunk, uint32_t *carry)
{
    typedef warprsa_fold_shared<LIMBS> S;
    const int message = threadIdx.x % 32;

#pragma unroll
    for (int plane = 0; plane < 4; plane++) {
        const uint32_t at =
            warprsa_fold_two_limbs_address<S>(g, plane, message);
        uint64_t x[5];

#pragma unroll
        for (int i = 0; i < 4; i += 2)
            asm volatile("ld.shared.v2.u64 {%0, %1}, [%2];"
                         : "=l"(x[i]), "=l"(x[i + 1])
                         : "r"(at + i / 2 * S::PAIRS));
        if (S::LIMBS_PER_LANE == 5)
            asm volatile(
                "ld.shared.u64 %0, [%1];"
                : "=l"(x[4])
                : "r"(warprsa_fold_single_limb_address<S>(g, plane, message)));
        const int first = (4 * chunk + plane) * S::LIMBS_PER_LANE;
        const int count = LIMBS - first < S::LIMBS_PER_LANE ? LIMBS - first
                                                            : S::LIMBS_PER_LANE;

        if (count > 0)
            warprsa_fold_carry(a + first, x, s + first, count, carry);
    }
}

/*
 * Joins the digits of one chunk of a tile. This lane has, of messages g and
 * g + 8 of the warp (g = lane / 4), the digit sums of LIMBS_PER_LANE samples.
 * What the last sample of a lane gives to the next sample goes to the lane
 * above, and from the fourth lane to the first one of the next chunk: *over, by
 * message, in and out.
 */
template <int LIMBS, typename S = warprsa_fold_shared<LIMBS>>
static __device__ __forceinline__ void
warprsa_fold_join_chunk(const warprsa_fold_group *g, const uint32_t *d,
                        int tile, uint32_t *over)
{
    const int lane = threadIdx.x % 32, i = lane % 4;

#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int message = 16 * tile + 8 * r + lane / 4;
        const uint32_t at = warprsa_fold_two_limbs_address<S>(g, i, message);
        /* The seventh digit of the last sample of the lane. */
        constexpr int top = WARPRSA_FOLD_DIGITS * S::LIMBS_PER_LANE - 1;
        const uint32_t give =
            d[4 * (top / 2) + 2 * r + top % 2] >> (LIMBS <= 30 ? 4 : 7);
        uint32_t sums[WARPRSA_FOLD_DIGITS], up;
        uint64_t x[5];

        if (S::CHUNKS == 1)
            /* The top sample of a prime has nothing in its seventh digit. */
            up = __shfl_sync(0xffffffffu, give, (i + 3) % 4, 4);
        else {
            up = __shfl_sync(0xffffffffu, i == 3 ? over[r] : give, (i + 3) % 4,
                             4);
            over[r] = give;
        }
#pragma unroll
        for (int sample = 0; sample < S::LIMBS_PER_LANE; sample++) {
#pragma unroll
            for (int k = 0; k < WARPRSA_FOLD_DIGITS; k++)
                sums[k] = d[4 * ((7 * sample + k) / 2) + 2 * r +
                            (7 * sample + k) % 2];
            x[sample] = warprsa_fold_join(sums, &up, LIMBS);
        }
        warprsa_fold_store_shared(at, x[0], x[1]);
        warprsa_fold_store_shared(at + S::PAIRS, x[2], x[3]);
        if (S::LIMBS_PER_LANE == 5)
            asm volatile(
                "st.shared.u64 [%0], %1;" ::"r"(
                    warprsa_fold_single_limb_address<S>(g, i, message)),
                "l"(x[4])
                : "memory");
    }
}

/* Waits until the phase of this parity of a barrier in shared memory is
 * complete. */
static __device__ __forceinline__ void warprsa_fold_wait(uint32_t barrier,
                                                         uint32_t parity)
{
    asm volatile("{ .reg .pred p;\n"
                 "again%=: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n"
                 "@!p bra again%=; }" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

/* Waits until the tensor cores have read the bytes of the last fold for all
 * four warps: they may be overwritten then. */
static __device__ __forceinline__ void
warprsa_fold_wait_bytes_read(const warprsa_fold_group *g)
{
    warprsa_fold_wait(g->barrier, g->parity ^ 1);
}

static __device__ __forceinline__ void
warprsa_fold_signal_bytes_read(const warprsa_fold_group *g)
{
    asm volatile(
        "{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(
            g->barrier)
        : "memory");
    g->parity ^= 1;
}

/* Waits until the pieces that were fetched last are in shared memory, and this
 * thread sees them. */
static __device__ __forceinline__ void
warprsa_fold_wait_fetched(const warprsa_fold_group *g)
{
    warprsa_fold_wait(g->fetched, g->fetched_parity);
    g->fetched_parity ^= 1;
}

/* Orders what the threads of the warp have stored in the table, and read in
 * shared memory, before the copies that are started after this. Copies are made
 * by the asynchronous proxy, so each thread has a fence of its own, and the
 * barrier of the warp follows. */
static __device__ __forceinline__ void
warprsa_fold_sync_table(const warprsa_fold_group *)
{
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncwarp();
}

/* Starts to copy `bytes`, a multiple of 16, to shared memory. The barrier
 * counts them when they are there. */
static __device__ __forceinline__ void warprsa_fold_copy(uint32_t to,
                                                         const uint32_t *from,
                                                         uint32_t bytes,
                                                         uint32_t barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
                 "bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

/* By one thread of a warp: starts to copy the pieces of a phase, of all
 * messages of the warp in one copy. */
static __device__ __forceinline__ void
warprsa_fold_start_copy(const warprsa_fold_group *g, int phase, const int limbs)
{
    const uint32_t bytes = WARPRSA_FOLD_SMEM_WORDS(limbs) * 4;

    asm volatile(
        "mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(g->fetched),
        "r"(bytes)
        : "memory");
    warprsa_fold_copy(
        (uint32_t)__cvta_generic_to_shared(g->memory.smem_pieces),
        warprsa_fold_table_piece(&g->memory, phase, 0, 1, threadIdx.x, limbs),
        bytes, g->fetched);
}

/* Fetches the pieces of a phase to where the sums of the warp are at other
 * times. The warp has read its sums, and __syncwarp() came after that. The
 * fence orders what its threads have stored there before the copy, which the
 * asynchronous proxy makes. */
static __device__ __forceinline__ void
warprsa_fold_fetch(const warprsa_fold_group *g, int phase, int, const int limbs)
{
    if (threadIdx.x % 32 == 0) {
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        warprsa_fold_start_copy(g, phase, limbs);
    }
}

/* The same where no thread has stored anything there since the last copy, and
 * all have read what that brought: no fence is needed. */
static __device__ __forceinline__ void
warprsa_fold_fetch_next(const warprsa_fold_group *g, int phase, int,
                        const int limbs)
{
    if (threadIdx.x % 32 == 0)
        warprsa_fold_start_copy(g, phase, limbs);
}

/* Offset, in the shared memory of the warpgroup, of the bytes of the message of
 * this thread: 16 of them, and the next DEPTH_STRIDE bytes further. */
template <typename S>
static __device__ __forceinline__ uint32_t warprsa_fold_bytes_offset()
{
    const int message = threadIdx.x / 32 % 4 * 16 + threadIdx.x % 16;

    return S::BYTES + threadIdx.x / 16 % 2 * S::TILE + message / 8 * 128 +
           message % 8 * 16;
}

/* The stash of this thread, if it needs one. It is where the bytes of the
 * thread will be, 16 for each two columns like these, and may be used once the
 * tensor cores have read the bytes that are there. No other thread reads or
 * writes it without a barrier that warprsa_fold_put_columns() ends with. */
template <int LIMBS>
static __device__ __forceinline__ warprsa_fold_smem_stash
warprsa_fold_own_stash_of(const warprsa_fold_group *g)
{
    typedef warprsa_fold_shared<LIMBS> S;
    warprsa_fold_smem_stash stash;

    if (WARPRSA_FOLD_STASHES(LIMBS))
        warprsa_fold_wait_bytes_read(g);
    stash.address = g->warpgroup_smem + warprsa_fold_bytes_offset<S>();
    stash.stride = S::DEPTH_STRIDE;
    return stash;
}

static __device__ __forceinline__ warprsa_fold_smem_stash
warprsa_fold_own_stash(const warprsa_fold_group *g, const int limbs)
{
    return limbs == 20 ? warprsa_fold_own_stash_of<20>(g)
                       : warprsa_fold_own_stash_of<30>(g);
}

/* Ends the storing of bytes: makes them visible to the tensor cores, that is
 * the asynchronous proxy, before the barrier of the warpgroup. */
template <typename S>
static __device__ __forceinline__ void warprsa_fold_bytes_barrier()
{
    asm volatile("fence.proxy.async.shared::cta;\n"
                 "bar.sync %0, %1;" ::"r"(1 + warprsa_fold_warpgroup<S>()),
                 "n"((int)WARPRSA_FOLD_WARPGROUP)
                 : "memory");
}

/* Stores `count` columns as bytes for the tensor cores, 16 for each two, at
 * offset `to` of the warpgroup. */
template <typename S>
static __device__ __forceinline__ void
warprsa_fold_put_columns(const warprsa_fold_group *g, uint32_t to,
                         const uint64_t *upper, const int count)
{
    const uint32_t at = g->warpgroup_smem + to;

    warprsa_fold_wait_bytes_read(g);
#pragma unroll
    for (int i = 0; i < count; i += 2)
        warprsa_fold_store_shared(at + i / 2 * S::DEPTH_STRIDE, upper[i],
                                  upper[i + 1]);
    warprsa_fold_bytes_barrier<S>();
}

/* Waits for the pieces and selects from them. The threads of the warp have to
 * meet before sums may be stored there. */
static __device__ __forceinline__ void
warprsa_fold_select_fetched(const warprsa_fold_group *g, int phase,
                            uint32_t digit, int, const int limbs)
{
    warprsa_fold_wait_fetched(g);
    warprsa_fold_select_pieces(&g->memory, phase, digit, threadIdx.x, limbs);
}

/* Folds. The matrix products of both tiles run one behind the other; each is
 * joined while the next is under way. */
template <int LIMBS>
static __device__ __forceinline__ void
warprsa_fold_fold_of(double *a, const warprsa_fold_group *g, uint64_t *s,
                     const warprsa_fold_table_work *work, uint32_t *digit)
{
    typedef warprsa_fold_shared<LIMBS> S;
    uint64_t messages[2], last[2], matrix[2];
    uint32_t d[2][S::COLUMNS / 2], over[2][2] = {{0, 0}, {0, 0}}, carry = 0;

    warprsa_fold_top(s, LIMBS);
    warprsa_fold_put_columns<S>(g, warprsa_fold_bytes_offset<S>(), s + LIMBS,
                                LIMBS);
#pragma unroll
    for (int tile = 0; tile < 2; tile++) {
        messages[tile] = warprsa_fold_descriptor(
            g->warpgroup_smem + S::BYTES + tile * S::TILE, S::DEPTH_STRIDE);
        last[tile] =
            warprsa_fold_descriptor(g->warpgroup_smem + S::BYTES +
                                        (tile + 1) * S::TILE - S::DEPTH_STRIDE,
                                    S::DEPTH_STRIDE + (1 - tile) * S::TILE);
        matrix[tile] = warprsa_fold_descriptor(
            g->matrix + tile * WARPRSA_FOLD_MATRIX_BYTES(LIMBS),
            16 * S::COLUMNS);
        warprsa_fold_mma_start<S::DEPTH, S::COLUMNS>(
            d[tile], messages[tile], matrix[tile], S::DEPTH_STRIDE, last[tile]);
    }
    if (work->select >= 0) {
        warprsa_fold_select_fetched(g, work->select, *digit, 0, LIMBS);
        __syncwarp();
    }
#pragma unroll
    for (int chunk = 0; chunk < S::CHUNKS; chunk++) {
        const bool final = chunk == S::CHUNKS - 1;

#pragma unroll
        for (int tile = 0; tile < 2; tile++) {
            if (final && tile == 1) {
                warprsa_fold_mma_wait<S::COLUMNS, 0>(d[tile]);
                warprsa_fold_signal_bytes_read(g);
            } else {
                warprsa_fold_mma_wait<S::COLUMNS, 1>(d[tile]);
            }
            warprsa_fold_join_chunk<LIMBS>(g, d[tile], tile, over[tile]);
            if (!final)
                warprsa_fold_mma_start<S::DEPTH, S::COLUMNS>(
                    d[tile], messages[tile],
                    matrix[tile] + (WARPRSA_FOLD_CHUNK_BYTES(LIMBS) >> 4),
                    S::DEPTH_STRIDE, last[tile]);
        }
        if (final && work->digit >= 0)
            *digit =
                warprsa_fold_digit(warprsa_fold_exponent(g, 0), work->digit);
        __syncwarp();
        warprsa_fold_carries<LIMBS>(a, g, s, chunk, &carry);
        __syncwarp();
    }
    if (work->fetch >= 0)
        warprsa_fold_fetch(g, work->fetch, 0, LIMBS);
}

/* a = the columns folded. */
static __device__ __forceinline__ void
warprsa_fold_fold(warprsa_fold_number *a, const warprsa_fold_group *g,
                  warprsa_fold_columns *s, const warprsa_fold_table_work *work,
                  uint32_t *digit, const int limbs)
{
    if (limbs == 20)
        warprsa_fold_fold_of<20>(a->of[0], g, s->of[0], work, digit);
    else
        warprsa_fold_fold_of<30>(a->of[0], g, s->of[0], work, digit);
}

#endif
