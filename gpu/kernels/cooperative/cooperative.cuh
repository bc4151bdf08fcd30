/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The variant "lanes": a request is spread over 2 width lanes of a warp for
 * all of its stages. A block takes BLOCK / (2 width) requests. Its first
 * threads invert the blinding factors, a thread for each half, while its other
 * warps go on; the results are needed after the barrier.
 */
#ifndef WARPRSA_GPU_KERNELS_COOPERATIVE_COOPERATIVE_CUH
#define WARPRSA_GPU_KERNELS_COOPERATIVE_COOPERATIVE_CUH

#include "gpu/kernels/request.cuh"

template <int ROWS, int WIDTH, int L, bool DIRECT>
__global__ void __launch_bounds__(WARPRSA_LANES_BLOCK,
                                  WARPRSA_LANES_BLOCKS_PER_SM)
    warprsa_lanes_kernel(const warprsa_batch batch)
{
    WARPRSA_STAGE(REST);
    constexpr uint32_t requests = WARPRSA_LANES_BLOCK / (2 * WIDTH);
    uint32_t first = blockIdx.x * requests;
    uint32_t index = first + threadIdx.x / (2 * WIDTH);
    warprsa_operation op;
    warprsa_number x;

    if (threadIdx.x < 2 * requests) {
        uint32_t inverted = first + threadIdx.x / 2;

        op = warprsa_request(batch, inverted);
        /* Inversion is in place: not twice at once. */
        if (inverted < batch.count)
            warprsa_blinding_inverse(&op, threadIdx.x % 2, ROWS);
    }
    __syncwarp();
    op = warprsa_request(batch, index);
    op.table =
        batch.table +
        (size_t)blockIdx.x * (WARPRSA_TABLE_DOUBLES * WARPRSA_LANES_BLOCK) +
        threadIdx.x;
    op.table_stride = WARPRSA_LANES_BLOCK;
    op.direct_table_reads = DIRECT;
    if (threadIdx.x % WIDTH == 0)
        warprsa_blind_exponent(&op, threadIdx.x / WIDTH % 2, ROWS);
    __syncwarp();
    warprsa_blind_and_modexp(&x, &op, ROWS, WIDTH, L);
    __syncthreads();
    warprsa_unblind_and_recombine(&x, &op, ROWS, WIDTH, L);
}

template <int ROWS, int WIDTH, int L>
static cudaError_t warprsa_launch_lanes(const warprsa_batch *batch,
                                        cudaStream_t stream)
{
    constexpr unsigned requests = WARPRSA_LANES_BLOCK / (2 * WIDTH);
    unsigned blocks = (batch->count + requests - 1) / requests;

    if (batch->direct_table_reads)
        warprsa_lanes_kernel<ROWS, WIDTH, L, true>
            <<<blocks, WARPRSA_LANES_BLOCK, 0, stream>>>(*batch);
    else
        warprsa_lanes_kernel<ROWS, WIDTH, L, false>
            <<<blocks, WARPRSA_LANES_BLOCK, 0, stream>>>(*batch);
    return cudaGetLastError();
}

#endif
