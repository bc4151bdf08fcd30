/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "cooperative": a request is spread over 2 width lanes of a warp
 * for all of its stages. A block takes BLOCK / (2 width) requests.
 */
#ifndef WARPRSA_GPU_KERNELS_COOPERATIVE_COOPERATIVE_CUH
#define WARPRSA_GPU_KERNELS_COOPERATIVE_COOPERATIVE_CUH

#include "gpu/kernels/cooperative/cooperative_block.h"
#include "gpu/kernels/load.cuh"
#include "gpu/kernels/request.cuh"

template <int LIMBS, int THREADS_PER_NUMBER, int LIMBS_PER_THREAD, bool DIRECT>
__global__ void __launch_bounds__(WARPRSA_COOPERATIVE_BLOCK,
                                  WARPRSA_COOPERATIVE_BLOCKS_PER_SM)
    warprsa_cooperative_kernel(const warprsa_batch batch)
{
    WARPRSA_STAGE(REST);
    constexpr uint32_t requests =
        WARPRSA_COOPERATIVE_BLOCK / (2 * THREADS_PER_NUMBER);
    const uint32_t index =
        blockIdx.x * requests + threadIdx.x / (2 * THREADS_PER_NUMBER);
    warprsa_operation op;
    warprsa_number x;

    op = warprsa_request(batch, index);
    op.table = batch.table +
               (size_t)blockIdx.x *
                   (WARPRSA_TABLE_DOUBLES * WARPRSA_COOPERATIVE_BLOCK) +
               threadIdx.x;
    op.table_stride = WARPRSA_COOPERATIVE_BLOCK;
    op.direct_table_reads = DIRECT;
    if (threadIdx.x % THREADS_PER_NUMBER == 0)
        warprsa_blind_exponent(&op, threadIdx.x / THREADS_PER_NUMBER % 2,
                               LIMBS);
    __syncwarp();
    warprsa_blind_and_modexp(&x, &op, LIMBS, THREADS_PER_NUMBER,
                             LIMBS_PER_THREAD);
    warprsa_unblind_and_recombine(&x, &op, LIMBS, THREADS_PER_NUMBER,
                                  LIMBS_PER_THREAD);
}

template <int LIMBS, int THREADS_PER_NUMBER, int LIMBS_PER_THREAD>
static cudaError_t warprsa_launch_cooperative(const warprsa_batch *batch,
                                              cudaStream_t stream)
{
    constexpr unsigned requests =
        WARPRSA_COOPERATIVE_BLOCK / (2 * THREADS_PER_NUMBER);
    unsigned blocks = (batch->count + requests - 1) / requests;
    void (*kernel)(const warprsa_batch) =
        warprsa_cooperative_kernel<LIMBS, THREADS_PER_NUMBER, LIMBS_PER_THREAD,
                                   false>;

    /* The large classes have none, which halves their time to compile. */
#ifndef WARPRSA_LARGE
    if (batch->direct_table_reads)
        kernel = warprsa_cooperative_kernel<LIMBS, THREADS_PER_NUMBER,
                                            LIMBS_PER_THREAD, true>;
#endif
    if (batch->count == 0)
        return warprsa_load_code(kernel);
    kernel<<<blocks, WARPRSA_COOPERATIVE_BLOCK, 0, stream>>>(*batch);
    return cudaGetLastError();
}

#endif
