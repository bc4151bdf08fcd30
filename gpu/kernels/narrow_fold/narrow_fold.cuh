/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "narrow_fold": whole private operations of requests that share a
 * key, up to eight to an item (plan.h), in three CUDA kernels.
 *
 *   begin    Block arithmetic, a warp for a request: bytes in, blinding. Other
 *            blocks make the matrices of the keys and blind the exponents.
 *   powers   The narrow fold (powers.cuh), whose blocks share the powers.
 *   finish   Block arithmetic again: all that is left.
 */
#ifndef WARPRSA_GPU_KERNELS_NARROW_FOLD_NARROW_FOLD_CUH
#define WARPRSA_GPU_KERNELS_NARROW_FOLD_NARROW_FOLD_CUH

#include "gpu/kernels/load.cuh"
#include "gpu/kernels/narrow_fold/items.cuh"
#include "gpu/kernels/narrow_fold/powers.cuh"

/* Blocks of `begin` and `finish` that share an SM. Without a number ptxas 13.0
 * gives a thread fewer registers than these leave it, and spills. */
static constexpr unsigned BLOCKS_PER_SM = 4;
/* Blocks that make the matrices of a key: a warp for each column. */
static constexpr unsigned MAKERS = WARPRSA_NARROW_MATRIX_COLUMNS / WARPS;
/* Keys whose matrices these make at the same time, at most. */
static constexpr unsigned KEYS_AT_ONCE = 64;

/* The matrices of some items: MAKERS blocks for each that has a key of its
 * own. */
static __device__ __forceinline__ void
warprsa_narrow_make_keys(const warprsa_fold_batch &launch, uint32_t block)
{
    const uint32_t items = launch.item_count;
    const int column = (int)(block % MAKERS * WARPS + threadIdx.x / 32);

    WARPRSA_ROLLED
    for (uint32_t item = block / MAKERS; item < items; item += KEYS_AT_ONCE) {
        const warprsa_operation op =
            warprsa_narrow_request(launch, launch.items[item].first);
        warprsa_narrow_key *to = warprsa_narrow_scratch(launch, item)->key;
        warprsa_narrow_maker maker;

        /* Public, and equal in all threads of a warp. */
        if (warprsa_largest_in_warp(
                warprsa_narrow_has_matrices(launch, item)) == 0)
            continue;
        warprsa_narrow_new_maker(&maker, &op, THREADS_PER_NUMBER,
                                 LIMBS_PER_THREAD);
        if (column == 0)
            warprsa_narrow_make_bias(to, to + 1, &maker, THREADS_PER_NUMBER,
                                     LIMBS_PER_THREAD);
        warprsa_narrow_make_column(to, to + 1, &maker, column,
                                   THREADS_PER_NUMBER, LIMBS_PER_THREAD);
    }
}

static __host__ __device__ __forceinline__ uint32_t
warprsa_narrow_maker_blocks(uint32_t items)
{
    return MAKERS * (items < KEYS_AT_ONCE ? items : KEYS_AT_ONCE);
}

/* How many items before the thread's are short. Item `first` is that of the
 * warp's first lane, and a multiple of 32. */
static __device__ __forceinline__ uint32_t
warprsa_narrow_count_shorts(const warprsa_fold_batch &launch, uint32_t first)
{
    const uint32_t lane = threadIdx.x % 32;
    uint32_t shorts = 0;

    WARPRSA_ROLLED
    for (uint32_t from = 0; from <= first; from += 32) {
        const uint32_t i = from + lane;
        const uint32_t found = __ballot_sync(
            0xffffffffu,
            i < launch.item_count && warprsa_narrow_is_short(&launch.items[i]));

        shorts += __popc(from < first ? found : found & ((1u << lane) - 1));
    }
    return shorts;
}

/* No power has begun yet. */
static __device__ __forceinline__ void
warprsa_narrow_clear_parts(const warprsa_fold_batch &launch)
{
    const uint32_t lane = threadIdx.x % 32;

    for (uint32_t first = blockIdx.x * THREADS + threadIdx.x - lane;
         first < launch.item_count; first += gridDim.x * THREADS) {
        const uint32_t shorts =
            SHORT > 0 ? warprsa_narrow_count_shorts(launch, first) : 0;
        warprsa_narrow_item *item =
            warprsa_narrow_scratch(launch, first + lane);

        if (first + lane < launch.item_count) {
            item->is_begun[0] = item->is_begun[1] = 0;
            item->blocks_started = 0;
            item->shorts = shorts;
        }
    }
}

static __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    warprsa_narrow_fold_begin(const __grid_constant__ warprsa_fold_batch launch)
{
    WARPRSA_STAGE(REST);
    const uint32_t making = warprsa_narrow_maker_blocks(launch.item_count);

    warprsa_narrow_clear_parts(launch);
    if (blockIdx.x < making) {
        warprsa_narrow_make_keys(launch, blockIdx.x);
        warprsa_narrow_wipe_exchange();
    } else {
        uint32_t index = (blockIdx.x - making) * WARPS + threadIdx.x / 32;

        if (index < warprsa_narrow_requests(launch)) {
            index += warprsa_narrow_first(launch);

            const warprsa_operation op = warprsa_narrow_request(launch, index);
            warprsa_number x;

            if (threadIdx.x % 32 < 2)
                warprsa_blind_exponent(&op, threadIdx.x % 32, LIMBS);
            __syncwarp();
            warprsa_narrow_begin(&x, &op, THREADS_PER_NUMBER, LIMBS_PER_THREAD);
            warprsa_narrow_put(warprsa_narrow_numbers(launch, index),
                               WARPRSA_NARROW_NUMBERS * LIMBS, &x,
                               THREADS_PER_NUMBER, LIMBS_PER_THREAD);
            warprsa_narrow_wipe_exchange();
        }
    }
}

/* Wipes all that was written of the items but the numbers, which nobody reads
 * any more. */
static __device__ __forceinline__ void
warprsa_narrow_wipe_items(const warprsa_fold_batch &launch)
{
    constexpr size_t matrices = sizeof(warprsa_narrow_item::key) / 8;
    constexpr size_t end = offsetof(warprsa_narrow_item, number) / 8;

    for (uint32_t item = blockIdx.x; item < launch.item_count;
         item += gridDim.x) {
        volatile uint64_t *words = reinterpret_cast<volatile uint64_t *>(
            warprsa_narrow_scratch(launch, item));
        const bool all = warprsa_narrow_has_matrices(launch, item);

        for (size_t i = (all ? 0 : matrices) + threadIdx.x; i < end;
             i += THREADS)
            words[i] = 0;
    }
}

static __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    warprsa_narrow_fold_finish(
        const __grid_constant__ warprsa_fold_batch launch)
{
    WARPRSA_STAGE(REST);
    constexpr size_t stride = WARPRSA_NARROW_NUMBERS * LIMBS;
    uint32_t index = blockIdx.x * WARPS + threadIdx.x / 32;

    warprsa_narrow_wipe_items(launch);
    if (index < warprsa_narrow_requests(launch)) {
        index += warprsa_narrow_first(launch);

        const warprsa_operation op = warprsa_narrow_request(launch, index);
        double *samples = warprsa_narrow_numbers(launch, index);
        const warprsa_number none = {};
        warprsa_number x;

        warprsa_narrow_end(&x, samples, stride, &op, THREADS_PER_NUMBER,
                           LIMBS_PER_THREAD);
        warprsa_narrow_put(samples, stride, &none, THREADS_PER_NUMBER,
                           LIMBS_PER_THREAD);
        warprsa_unblind_and_recombine(&x, &op, LIMBS, THREADS_PER_NUMBER,
                                      LIMBS_PER_THREAD);
        warprsa_narrow_wipe_exchange();
    }
}

/* What the device's code of the powers was compiled for: blocks of it on an SM
 * at most, and bytes of shared memory of a block. */
struct warprsa_narrow_code {
    uint32_t most, shared;
};

/* The driver may have compiled code for 8.0 for another GPU, so it is not the
 * GPU's compute capability that counts. */
static cudaError_t warprsa_narrow_code_of(warprsa_narrow_code *code)
{
    cudaFuncAttributes of;
    const cudaError_t error =
        cudaFuncGetAttributes(&of, warprsa_narrow_fold_powers<FEW>);

    if (error == cudaSuccess)
        *code = of.ptxVersion < 90 ? warprsa_narrow_code{FEW, MATRIX_OF_Q}
                                   : warprsa_narrow_code{MANY, POWER_SHARED};
    return error;
}

/* Queues so many blocks of powers, by the build that has BLOCKS on an SM. */
template <int BLOCKS>
static cudaError_t
warprsa_launch_narrow_powers(const warprsa_fold_batch &launch, uint32_t blocks,
                             uint32_t shared, cudaStream_t stream)
{
    const cudaError_t error = cudaFuncSetAttribute(
        warprsa_narrow_fold_powers<BLOCKS>,
        cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);

    if (error == cudaSuccess)
        warprsa_narrow_fold_powers<BLOCKS>
            <<<blocks, POWER_THREADS, shared, stream>>>(launch);
    return error;
}

/* Queues the kernels for all items, for which the table has room. How many
 * requests these have is known on the device alone. */
static cudaError_t warprsa_launch_narrow_items(const warprsa_fold_batch &launch,
                                               cudaStream_t stream)
{
    const uint32_t items = launch.item_count, sms = launch.sms;
    const uint32_t most = WARPRSA_NARROW_NUMBERS * items;
    const uint32_t requests =
        most < launch.batch.count ? most : launch.batch.count;
    const uint32_t blocks = (requests + WARPS - 1) / WARPS;
    const size_t exchange = WARPS * EXCHANGE * sizeof(double);
    warprsa_narrow_code code;
    cudaError_t error = warprsa_narrow_code_of(&code);
    uint32_t powers;

    if (error != cudaSuccess)
        return error;
    powers = warprsa_narrow_power_blocks(2 * items, sms, code.most);
    warprsa_narrow_fold_begin<<<blocks + warprsa_narrow_maker_blocks(items),
                                THREADS, exchange, stream>>>(launch);
    error = powers <= FEW * sms
                ? warprsa_launch_narrow_powers<FEW>(launch, powers, code.shared,
                                                    stream)
                : warprsa_launch_narrow_powers<MANY>(launch, powers,
                                                     code.shared, stream);
    if (error != cudaSuccess)
        return error;
    warprsa_narrow_fold_finish<<<blocks, THREADS, exchange, stream>>>(launch);
    return cudaGetLastError();
}

/* Items that an SM has table memory for at the same time, at most. With one
 * block an SM, an item's two blocks are on two SMs. */
static constexpr uint32_t ITEMS_PER_SM = MANY > 1 ? MANY / 2 : 1;
static constexpr uint32_t ITEMS_PER_SM_MAX = (MANY > 1 ? 4 : 2) * ITEMS_PER_SM;

static size_t warprsa_narrow_table_bytes(size_t items, size_t, uint32_t sms)
{
    return warprsa_fold_blocks(items, ITEMS_PER_SM_MAX * sms) *
           sizeof(warprsa_narrow_item);
}

/* As many items at a time as have table memory, in launches that are equally
 * long. */
static int warprsa_launch_narrow_fold(const warprsa_fold_batch *batch,
                                      size_t table_bytes, cudaStream_t stream)
{
    const size_t room = table_bytes / sizeof(warprsa_narrow_item);
    const uint32_t blocks =
        warprsa_fold_blocks(room < batch->item_count ? room : batch->item_count,
                            ITEMS_PER_SM_MAX * batch->sms);
    uint32_t launches, each;
    cudaError_t error = cudaSuccess;

    if (batch->item_count == 0)
        return warprsa_load_code(warprsa_narrow_fold_begin,
                                 warprsa_narrow_fold_powers<FEW>,
                                 warprsa_narrow_fold_finish);
    launches = (batch->item_count + blocks - 1) / blocks;
    each = (batch->item_count + launches - 1) / launches;
    for (uint32_t done = 0; error == cudaSuccess && done < batch->item_count;
         done += each) {
        warprsa_fold_batch part = *batch;

        part.items += done;
        part.item_count -= done;
        if (part.item_count > each)
            part.item_count = each;
        error = warprsa_launch_narrow_items(part, stream);
    }
    return error;
}

#endif
