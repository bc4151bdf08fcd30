/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of every size class: a block takes BLOCK / (2 width) requests.
 * Its first threads invert the blinding factors, a thread for each half,
 * while its other warps go on; the results are needed after the barrier.
 */
#ifndef WARPRSA_KERNEL_CUH
#define WARPRSA_KERNEL_CUH

#include "gpu/cuda/kernels.h"
#include "gpu/private_operation.h"

/* Request `index` of the batch. Past its end the last one is done again, with
 * a table of its own and the same result: all lanes of a warp stay together. */
static __device__ __forceinline__ warprsa_operation
warprsa_request(const warprsa_batch &batch, uint32_t index)
{
    uint32_t i = index < batch.count ? index : batch.count - 1;
    warprsa_operation op;

    op.key = batch.keys + batch.key[i];
    op.input = batch.input + (size_t)i * batch.octets_stride;
    op.output = batch.output + (size_t)i * batch.octets_stride;
    op.random = batch.random + (size_t)i * WARPRSA_BLINDING_SAMPLES;
    op.inverse = batch.inverse + (size_t)i * (2 * WARPRSA_HALF_SAMPLES);
    op.result = batch.result + (size_t)i * WARPRSA_FULL_SAMPLES;
    op.table = batch.table +
               (size_t)blockIdx.x * (WARPRSA_TABLE_DOUBLES * WARPRSA_BLOCK) +
               threadIdx.x;
    op.table_stride = WARPRSA_BLOCK;
    op.status = batch.status + i;
    return op;
}

template <int ROWS, int WIDTH, int L>
__global__ void __launch_bounds__(WARPRSA_BLOCK, WARPRSA_BLOCKS_PER_SM)
    warprsa_kernel(const warprsa_batch batch)
{
    constexpr uint32_t requests = WARPRSA_BLOCK / (2 * WIDTH);
    uint32_t first = blockIdx.x * requests;
    warprsa_number x;

    if (threadIdx.x < 2 * requests) {
        warprsa_operation half =
            warprsa_request(batch, first + threadIdx.x / 2);

        /* Inversion is in place: not twice at once. */
        if (first + threadIdx.x / 2 < batch.count)
            warprsa_unblinder(&half, threadIdx.x % 2, ROWS);
    }
    __syncwarp();
    warprsa_operation op =
        warprsa_request(batch, first + threadIdx.x / (2 * WIDTH));
    warprsa_blind_and_raise(&x, &op, ROWS, WIDTH, L);
    __syncthreads();
    warprsa_unblind_and_recombine(&x, &op, ROWS, WIDTH, L);
}

template <int ROWS, int WIDTH, int L>
static cudaError_t warprsa_launch_kernel(const warprsa_batch *batch,
                                         cudaStream_t stream)
{
    constexpr unsigned requests = WARPRSA_BLOCK / (2 * WIDTH);
    unsigned blocks = (batch->count + requests - 1) / requests;

    warprsa_kernel<ROWS, WIDTH, L>
        <<<blocks, WARPRSA_BLOCK, 0, stream>>>(*batch);
    return cudaGetLastError();
}

#endif
