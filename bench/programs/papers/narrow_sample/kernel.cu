/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of the system with narrow samples.
 */
#include "bench/programs/papers/narrow_sample/decrypt.h"
#include "bench/programs/papers/narrow_sample/kernel.h"

template <int bits, int width, int threads, int per_thread>
static __global__ void __launch_bounds__(NARROW_BLOCK)
    narrow_kernel(narrow_batch b)
{
    const narrow_shape s = {bits, width, threads, per_thread};
    const uint32_t words = bits / 32;
    const uint32_t thread = blockIdx.x * NARROW_BLOCK + threadIdx.x;
    const uint32_t request = thread / (2 * threads);
    /* Those beyond the last one compute it, too, for whole warps exchange. */
    const uint32_t at = request < b.count ? request : b.count - 1;
    const uint32_t *key = b.keys + at % b.key_count * b.key_words;
    const uint32_t *inverse = b.inverses + 2 * (at % b.key_count);
    const narrow_key k = {
        .modulus = key,
        .r2 = key + 2 * words,
        .r3 = key + 4 * words,
        .exponent = key + 6 * words,
        .q_inverse = key + 8 * words,
        .n0inv = {inverse[0], inverse[1]},
    };
    const narrow_memory memory = {
        b.table + request * 2 * threads,
        b.scratch + (size_t)request * 2 * threads * per_thread,
        (size_t)gridDim.x * NARROW_BLOCK,
    };

    narrow_decrypt(b.results + at * 2 * words, b.texts + at * 2 * words, &k,
                   &memory, s);
}

template <int bits, int width, int threads, int per_thread>
static void launch(const narrow_batch *b, cudaStream_t stream)
{
    const uint32_t per_block = NARROW_BLOCK / (2 * threads);

    narrow_kernel<bits, width, threads, per_thread>
        <<<(b->count + per_block - 1) / per_block, NARROW_BLOCK, 0, stream>>>(
            *b);
}

/* Table 4's widths; 8 and 16 threads for a request. */
#define SHAPE_0 1024, 23, 4, 12
#define SHAPE_1 1024, 23, 8, 6
#define SHAPE_2 1536, 22, 4, 18
#define SHAPE_3 1536, 22, 8, 9
#define SHAPE_4 2048, 22, 4, 24
#define SHAPE_5 2048, 22, 8, 12

extern "C" cudaError_t narrow_launch(int i, const narrow_batch *batch,
                                     cudaStream_t stream)
{
    switch (i) {
    case 0:
        launch<SHAPE_0>(batch, stream);
        break;
    case 1:
        launch<SHAPE_1>(batch, stream);
        break;
    case 2:
        launch<SHAPE_2>(batch, stream);
        break;
    case 3:
        launch<SHAPE_3>(batch, stream);
        break;
    case 4:
        launch<SHAPE_4>(batch, stream);
        break;
    case 5:
        launch<SHAPE_5>(batch, stream);
        break;
    default:
        return cudaErrorInvalidValue;
    }
    return cudaGetLastError();
}
