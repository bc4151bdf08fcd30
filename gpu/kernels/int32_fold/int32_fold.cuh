/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "int32_fold": whole private operations of requests that share a
 * key, in integers. A thread has one number. A batch takes three launches: the
 * beginning and the secret power, each modulo both primes apart, and the end.
 *
 * Blocks stay and take one unit of work after the other: so many requests of an
 * item (plan.h) as a block has threads and, but for the end, one prime. So the
 * matrix of one prime at a time is in shared memory, and the tables of all that
 * is under way are few enough for L2 to hold much of them.
 */
#ifndef WARPRSA_GPU_KERNELS_INT32_FOLD_INT32_FOLD_CUH
#define WARPRSA_GPU_KERNELS_INT32_FOLD_INT32_FOLD_CUH

#include <cuda_runtime.h>

#include "gpu/kernels/fold_common/fold_kernel.h"
#include "gpu/kernels/int32_fold/request.h"
#include "gpu/kernels/load.cuh"

/* What a launch is for. */
enum warprsa_int_fold_stage {
    WARPRSA_INT_FOLD_BEGINS,
    WARPRSA_INT_FOLD_RAISES,
    WARPRSA_INT_FOLD_ENDS,
    WARPRSA_INT_FOLD_LAUNCHES,
};

typedef struct warprsa_int_fold_launch {
    warprsa_batch batch;
    const warprsa_fold_item *items;
    uint32_t item_count;
    uint32_t pieces; /* that an item is cut into, for as many blocks */
    uint32_t *next;  /* the unit of work that is taken next */
    uint8_t *memory; /* of all blocks */
} warprsa_int_fold_launch;

/* A block: threads at most, and offsets in its shared memory in bytes. Blocks
 * have less than an SM where matrices for several fit: requests of many keys
 * leave fewer threads without a number then (doc/log has what it gains). */
template <int N> struct warprsa_int_fold_block {
    static constexpr uint32_t THREADS = N == 32 ? 128 : 256;
    static constexpr uint32_t BLOCKS =
        N == 32 ? 3 : 1; /* that registers fill */
    static constexpr uint32_t KEY = WARPRSA_INT_FOLD_MATRIX_BYTES(N);
    static constexpr uint32_t UNIT = KEY + sizeof(warprsa_int_fold_shared_key);
    static constexpr uint32_t WARPS = (UNIT + 20 + 255) / 256 * 256;

    static __host__ __device__ constexpr uint32_t bytes(uint32_t threads)
    {
        return WARPS + threads / 32 * WARPRSA_INT_FOLD_WARP_BYTES(N);
    }
    /* Of memory on the device. */
    static __host__ __device__ constexpr size_t memory_bytes(uint32_t threads)
    {
        return sizeof(uint32_t) * WARPRSA_INT_FOLD_MEMORY_WORDS(N) * threads;
    }
};

/* The chunks of a warp's numbers in memory lie side by side. */
static constexpr int WARPRSA_INT_FOLD_STRIDE = 32;

/* A unit of work: requests first to first + count - 1, of one key. It lies in
 * shared memory and is read again where it is needed, for in registers it would
 * live through the powers. */
typedef struct warprsa_int_fold_unit {
    uint32_t more; /* 0: there is none left */
    uint32_t first, count, which;
    uint32_t loaded; /* twice the key that the block has, and the prime */
} warprsa_int_fold_unit;

/* Takes the next unit, by a warp. One of the end is taken twice, for p and then
 * for q. `count` may become 0. */
template <bool BOTH_PRIMES>
static __device__ __forceinline__ void
warprsa_int_fold_take(volatile warprsa_int_fold_unit *unit,
                      const warprsa_int_fold_launch &l)
{
    const uint32_t parts = BOTH_PRIMES ? l.pieces : 2 * l.pieces;
    uint32_t at = 0, part = 0;

    if (BOTH_PRIMES) {
        const uint32_t had = warprsa_largest_in_warp(unit->which);

        __syncwarp(); /* all lanes have read what is written now */
        if (had == 0) {
            if (warprsa_int_fold_thread() == 0)
                unit->which = 1;
            return;
        }
    }
    if (warprsa_int_fold_thread() == 0)
        at = atomicAdd(l.next, 1);
    at = warprsa_largest_in_warp(at);
    for (; at >= l.item_count && part < parts; part++)
        at -= l.item_count;
    unit->more = part < parts;
    if (part < parts) {
        const uint32_t which = part >= l.pieces;
        const uint32_t skipped = (part - which * l.pieces) * blockDim.x;
        const warprsa_fold_item item = l.items[at];
        const uint32_t count = item.count < skipped ? 0 : item.count - skipped;

        unit->which = which; /* 0, if the unit has both */
        unit->first = item.first + skipped;
        unit->count = count < blockDim.x ? count : blockDim.x;
    }
}

static __device__ __forceinline__ const warprsa_prepared_key *
warprsa_int_fold_key_of_request(const warprsa_batch &batch, uint32_t request)
{
    return batch.keys + warprsa_largest_in_warp(batch.key[request]);
}

static __device__ __forceinline__ warprsa_int_fold_key warprsa_int_fold_key_at(
    const warprsa_prepared_key *key, uint32_t limbs, uint32_t which)
{
    return limbs ? warprsa_int_fold_key_of_limbs(
                       reinterpret_cast<const warprsa_int32_key *>(key),
                       (int)which)
                 : warprsa_int_fold_key_of_samples(key, (int)which);
}

static __device__ __forceinline__ warprsa_int_fold_key warprsa_int_fold_key_in(
    const warprsa_batch &batch, uint32_t request, uint32_t which)
{
    return warprsa_int_fold_key_at(
        warprsa_int_fold_key_of_request(batch, request), batch.int32_keys,
        which);
}

/* Makes what the block shares of a key. By all threads. */
template <int N, int STAGE>
static __device__ __noinline__ void
warprsa_int_fold_load_key(uint8_t *shared, const warprsa_prepared_key *from,
                          uint32_t limbs, uint32_t which)
{
    constexpr int rows =
        WARPRSA_INT_FOLD_BYTES(N) + (STAGE == WARPRSA_INT_FOLD_ENDS);
    const warprsa_int_fold_key key = warprsa_int_fold_key_at(
        from, warprsa_largest_in_warp(limbs), warprsa_largest_in_warp(which));
    warprsa_int_fold_shared_key *to =
        reinterpret_cast<warprsa_int_fold_shared_key *>(
            shared + warprsa_int_fold_block<N>::KEY);

    for (int i = threadIdx.x; i < N; i += blockDim.x)
        warprsa_int_fold_make_limb(to, &key, i);
    if (threadIdx.x == blockDim.x - 1) {
        if (STAGE == WARPRSA_INT_FOLD_BEGINS)
            warprsa_int_fold_begin(&to->program, key.e);
        if (STAGE == WARPRSA_INT_FOLD_ENDS)
            warprsa_int_fold_end(&to->program, key.e);
    }
    __syncthreads();
    WARPRSA_ROLLED
    for (int k = threadIdx.x; k < rows; k += blockDim.x)
        warprsa_int_fold_make_row(shared, to, &key, k, N);
    __syncthreads();
}

/* Request `index` of the batch. */
static __device__ __forceinline__ warprsa_int_fold_request
warprsa_int_fold_request_of(const warprsa_batch &batch, uint32_t index)
{
    warprsa_int_fold_request r;

    static_assert(2 * WARPRSA_HALF_SAMPLES == WARPRSA_FULL_SAMPLES &&
                      WARPRSA_HALF_SAMPLES * sizeof(double) >=
                          WARPRSA_INT_FOLD_LIMBS_MAX * sizeof(uint32_t) &&
                      WARPRSA_HALF_SAMPLES * sizeof(double) % 16 == 0,
                  "numbers are stored where samples would be");
    r.input = batch.input + (size_t)index * batch.bytes_stride;
    r.output = batch.output + (size_t)index * batch.bytes_stride;
    r.random = batch.random + (size_t)index * WARPRSA_RANDOM_WORDS;
    r.exponent = batch.exponent + (size_t)index * (2 * WARPRSA_BLINDED_WORDS);
    r.factor = reinterpret_cast<uint32_t *>(
        batch.unblinding + (size_t)index * (2 * WARPRSA_HALF_SAMPLES));
    r.root = reinterpret_cast<uint32_t *>(batch.result +
                                          (size_t)index * WARPRSA_FULL_SAMPLES);
    r.apart = 2 * WARPRSA_HALF_SAMPLES;
    r.status = batch.status + index;
    return r;
}

template <int N>
static __device__ __forceinline__ warprsa_int_fold_group
warprsa_int_fold_new_group(uint8_t *shared, uint8_t *memory)
{
    typedef warprsa_int_fold_block<N> block;
    const uint32_t base = (uint32_t)__cvta_generic_to_shared(shared);
    const uint32_t warp = warprsa_int_fold_thread() / 32,
                   lane = warprsa_int_fold_thread() % 32;
    warprsa_int_fold_group g;

    g.prime =
        &reinterpret_cast<warprsa_int_fold_shared_key *>(shared + block::KEY)
             ->prime;
    g.prime_at = base + block::KEY;
    g.matrix = base;
    g.warp = base + block::WARPS + warp * WARPRSA_INT_FOLD_WARP_BYTES(N);
    g.row = warprsa_int_fold_row_of(g.warp, lane, N);
    g.stage = g.warp + 32 * WARPRSA_INT_FOLD_ROW(N) + 16 * lane;
    g.registers = g.table = reinterpret_cast<uint32_t *>(
        memory + blockIdx.x * block::memory_bytes(blockDim.x) +
        warp * block::memory_bytes(32) + 16 * lane);
    g.stride = WARPRSA_INT_FOLD_STRIDE;
    return g;
}

/* By all threads of the block. `bytes` is a multiple of 4. */
static __device__ __forceinline__ void warprsa_int_fold_wipe(void *from,
                                                             size_t bytes)
{
    volatile uint32_t *word = (volatile uint32_t *)from;

    for (size_t i = warprsa_int_fold_thread(); i < bytes / sizeof(*word);
         i += blockDim.x)
        word[i] = 0;
}

/* The request of this thread in a unit of work. A thread that has none does
 * what the last one does. */
static __device__ __forceinline__ warprsa_int_fold_request
warprsa_int_fold_own_request(const warprsa_batch &batch,
                             const volatile warprsa_int_fold_unit *unit)
{
    const uint32_t last = unit->count - 1, thread = warprsa_int_fold_thread();

    return warprsa_int_fold_request_of(
        batch, unit->first + (thread < last ? thread : last));
}

/* What comes before the products of a unit, and after them. Both find out anew
 * where the request is. */
template <int N, int STAGE>
static __device__ __forceinline__ void
warprsa_int_fold_before(const warprsa_int_fold_group *g,
                        const warprsa_batch &batch,
                        const volatile warprsa_int_fold_unit *unit)
{
    const warprsa_int_fold_request r =
        warprsa_int_fold_own_request(batch, unit);
    const warprsa_int_fold_key key =
        warprsa_int_fold_key_in(batch, unit->first, unit->which);

    if (STAGE == WARPRSA_INT_FOLD_BEGINS)
        warprsa_int_fold_put_begin(g, &r, &key, N);
    else if (STAGE == WARPRSA_INT_FOLD_RAISES)
        warprsa_int_fold_put_power(g, &r, key.which, N);
    else if (warprsa_largest_in_warp(unit->which) == 0)
        warprsa_int_fold_put_end(g, &r, &key, N);
}

template <int N, int STAGE>
static __device__ __forceinline__ void
warprsa_int_fold_after(const warprsa_int_fold_group *g, uint32_t *x,
                       const warprsa_batch &batch,
                       const volatile warprsa_int_fold_unit *unit)
{
    const warprsa_int_fold_request r =
        warprsa_int_fold_own_request(batch, unit);
    const warprsa_int_fold_key key =
        warprsa_int_fold_key_in(batch, unit->first, unit->which);

    if (STAGE == WARPRSA_INT_FOLD_BEGINS)
        warprsa_int_fold_put_begun(g, &r, key.which, N);
    else if (STAGE == WARPRSA_INT_FOLD_RAISES)
        warprsa_int_fold_put_root(&r, x, key.which, N);
    else
        warprsa_int_fold_compare(g, N);
    if (STAGE == WARPRSA_INT_FOLD_ENDS &&
        warprsa_largest_in_warp(unit->which) == 1)
        warprsa_int_fold_put_bytes(g, &r, &key, N);
}

/* Computes a unit of work, by a warp. */
template <int N, int STAGE>
static __device__ __forceinline__ void
warprsa_int_fold_compute(uint8_t *shared, const warprsa_int_fold_launch &l,
                         const volatile warprsa_int_fold_unit *unit)
{
    const warprsa_int_fold_group g =
        warprsa_int_fold_new_group<N>(shared, l.memory);
    const warprsa_int_fold_shared_key *key =
        reinterpret_cast<const warprsa_int_fold_shared_key *>(
            shared + warprsa_int_fold_block<N>::KEY);
    uint32_t x[WARPRSA_INT_FOLD_LIMBS_MAX];

    warprsa_int_fold_before<N, STAGE>(&g, l.batch, unit);
    if (STAGE == WARPRSA_INT_FOLD_RAISES) {
        warprsa_int_fold_power(
            x, &g, warprsa_int_fold_digits_of((int)l.batch.windows, N), N);
    } else {
        const uint32_t from =
            STAGE == WARPRSA_INT_FOLD_BEGINS || unit->which == 0
                ? 0
                : key->program.check;

        warprsa_int_fold_run(&g, key, warprsa_largest_in_warp(from), N);
    }
    warprsa_int_fold_after<N, STAGE>(&g, x, l.batch, unit);
}

/* Has the numbers of the unit's key in shared memory. By all threads. */
template <int N, int STAGE>
static __device__ __forceinline__ void
warprsa_int_fold_use_key(uint8_t *shared, const warprsa_int_fold_launch &l,
                         volatile warprsa_int_fold_unit *unit)
{
    const uint32_t own = 2 * l.batch.key[unit->first] + unit->which;

    if (warprsa_largest_in_warp(own != unit->loaded)) {
        __syncthreads();
        warprsa_int_fold_load_key<N, STAGE>(
            shared, warprsa_int_fold_key_of_request(l.batch, unit->first),
            l.batch.int32_keys, unit->which);
        if (warprsa_int_fold_thread() == 0)
            unit->loaded = own;
    }
}

template <int N, int STAGE>
__global__ void __launch_bounds__(warprsa_int_fold_block<N>::THREADS,
                                  warprsa_int_fold_block<N>::BLOCKS)
    warprsa_int_fold_kernel(const __grid_constant__ warprsa_int_fold_launch l)
{
    typedef warprsa_int_fold_block<N> block;
    extern __shared__ __align__(1024) uint8_t shared[];
    volatile warprsa_int_fold_unit *unit =
        reinterpret_cast<volatile warprsa_int_fold_unit *>(shared +
                                                           block::UNIT);

    if (warprsa_int_fold_thread() == 0) {
        unit->loaded = 0xffffffffu;
        unit->which = 1;
    }
    WARPRSA_ROLLED
    for (;;) {
        __syncthreads();
        if (warprsa_largest_in_warp(warprsa_int_fold_thread()) < 32)
            warprsa_int_fold_take<STAGE == WARPRSA_INT_FOLD_ENDS>(unit, l);
        __syncthreads();
        if (warprsa_largest_in_warp(unit->more) == 0)
            break;
        if (warprsa_largest_in_warp(unit->count) == 0)
            continue;
        warprsa_int_fold_use_key<N, STAGE>(shared, l, unit);
        /* A warp that has no request waits for the others. */
        if (warprsa_largest_in_warp((warprsa_int_fold_thread() & ~31u) <
                                    unit->count))
            warprsa_int_fold_compute<N, STAGE>(shared, l, unit);
    }
    __syncthreads(); /* all have seen that there is no more */
    warprsa_int_fold_wipe(l.memory +
                              blockIdx.x * block::memory_bytes(blockDim.x),
                          block::memory_bytes(blockDim.x));
    warprsa_int_fold_wipe(shared, block::bytes(blockDim.x));
}

/* Threads that a block has if an item is cut, and bytes before the memory of
 * the blocks, where the counters of the launches are. */
static constexpr uint32_t WARPRSA_INT_FOLD_PIECE = 128;
static constexpr size_t WARPRSA_INT_FOLD_COUNTERS = 256;

/* The shape of a launch. */
typedef struct warprsa_int_fold_grid {
    uint32_t threads, pieces, blocks_per_sm;
} warprsa_int_fold_grid;

/* What has to be known of the device that is current. */
static inline cudaError_t warprsa_int_fold_shared_most(uint32_t *bytes)
{
    int device = 0, most = 0;
    cudaError_t error = cudaGetDevice(&device);

    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(
            &most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    *bytes = (uint32_t)most;
    return error;
}

/* Threads that a block has at most with this much shared memory. */
template <int N> static uint32_t warprsa_int_fold_threads_max(uint32_t most)
{
    typedef warprsa_int_fold_block<N> block;
    uint32_t threads = block::THREADS;

    while (threads > 32 && block::bytes(threads) > most)
        threads -= 32;
    return threads;
}

/* A grid whose blocks have up to `threads` threads: as many as there is shared
 * memory for. The function's limit is that of the largest blocks whatever these
 * are: other threads launch it meanwhile, and the limit is for all of them. */
template <int N, int STAGE>
static cudaError_t warprsa_int_fold_grid_of(warprsa_int_fold_grid *grid,
                                            uint32_t threads)
{
    typedef warprsa_int_fold_block<N> block;
    uint32_t most, threads_max;
    int blocks = 0;
    cudaError_t error = warprsa_int_fold_shared_most(&most);

    threads_max = warprsa_int_fold_threads_max<N>(most);
    grid->threads = threads < threads_max ? threads : threads_max;
    grid->pieces = (block::THREADS + grid->threads - 1) / grid->threads;
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute(
            warprsa_int_fold_kernel<N, STAGE>,
            cudaFuncAttributeMaxDynamicSharedMemorySize,
            (int)(block::bytes(threads_max) < most ? block::bytes(threads_max)
                                                   : most));
    if (error == cudaSuccess)
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, warprsa_int_fold_kernel<N, STAGE>, (int)grid->threads,
            block::bytes(grid->threads));
    grid->blocks_per_sm = (uint32_t)blocks;
    return error == cudaSuccess && blocks == 0 ? cudaErrorInvalidConfiguration
                                               : error;
}

/* Queues a launch. Items are cut where all of their pieces fit at once: few
 * requests then have more SMs. */
template <int N, int STAGE>
static cudaError_t
warprsa_int_fold_launch_stage(const warprsa_fold_batch *batch,
                              size_t table_bytes, cudaStream_t stream)
{
    typedef warprsa_int_fold_block<N> block;
    constexpr uint32_t primes = STAGE == WARPRSA_INT_FOLD_ENDS ? 1 : 2;
    const size_t room = table_bytes - WARPRSA_INT_FOLD_COUNTERS;
    uint8_t *table = reinterpret_cast<uint8_t *>(batch->batch.table);
    warprsa_int_fold_launch l;
    warprsa_int_fold_grid grid;
    uint32_t blocks;
    cudaError_t error =
        warprsa_int_fold_grid_of<N, STAGE>(&grid, WARPRSA_INT_FOLD_PIECE);

    if (error == cudaSuccess &&
        (uint64_t)batch->all_items * primes * grid.pieces >
            (uint64_t)batch->sms * grid.blocks_per_sm)
        error = warprsa_int_fold_grid_of<N, STAGE>(&grid, block::THREADS);
    if (error != cudaSuccess)
        return error;
    blocks =
        warprsa_fold_blocks((size_t)batch->item_count * primes * grid.pieces,
                            batch->sms * grid.blocks_per_sm);
    if (blocks > room / block::memory_bytes(grid.threads))
        blocks = (uint32_t)(room / block::memory_bytes(grid.threads));
    l.batch = batch->batch;
    l.items = batch->items;
    l.item_count = batch->item_count;
    l.pieces = grid.pieces;
    l.next = reinterpret_cast<uint32_t *>(table) + STAGE;
    l.memory = table + WARPRSA_INT_FOLD_COUNTERS;
    warprsa_int_fold_kernel<N, STAGE>
        <<<blocks, grid.threads, block::bytes(grid.threads), stream>>>(l);
    return cudaGetLastError();
}

template <int N>
static int warprsa_launch_int_fold(const warprsa_fold_batch *batch,
                                   size_t table_bytes, cudaStream_t stream)
{
    cudaError_t error;

    if (batch->item_count == 0)
        return warprsa_load_code(
            warprsa_int_fold_kernel<N, WARPRSA_INT_FOLD_BEGINS>,
            warprsa_int_fold_kernel<N, WARPRSA_INT_FOLD_RAISES>,
            warprsa_int_fold_kernel<N, WARPRSA_INT_FOLD_ENDS>);
    error = cudaMemsetAsync(batch->batch.table, 0, WARPRSA_INT_FOLD_COUNTERS,
                            stream);
    if (error == cudaSuccess)
        error = warprsa_int_fold_launch_stage<N, WARPRSA_INT_FOLD_BEGINS>(
            batch, table_bytes, stream);
    if (error == cudaSuccess)
        error = warprsa_int_fold_launch_stage<N, WARPRSA_INT_FOLD_RAISES>(
            batch, table_bytes, stream);
    if (error == cudaSuccess)
        error = warprsa_int_fold_launch_stage<N, WARPRSA_INT_FOLD_ENDS>(
            batch, table_bytes, stream);
    return error;
}

/* Of all blocks that there are at once: two of an item, one for each prime, or
 * as many threads in smaller blocks. */
template <int N>
static size_t warprsa_int_fold_table_bytes(size_t items, size_t, uint32_t sms)
{
    typedef warprsa_int_fold_block<N> block;

    return WARPRSA_INT_FOLD_COUNTERS +
           warprsa_fold_blocks(2 * items, block::BLOCKS * sms) *
               block::memory_bytes(block::THREADS);
}

#endif
