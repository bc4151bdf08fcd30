/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The variant "integer": the stages of "lanes" over the arithmetic of
 * gpu/limb.h, for GPUs that have little double precision. Nothing in it is in
 * floating point.
 */
#ifndef WARPRSA_INTEGER_CUH
#define WARPRSA_INTEGER_CUH

#define WARPRSA_INTEGER

#include "gpu/cuda/request.cuh"

/* 168 registers a thread. */
#define WARPRSA_INTEGER_BLOCKS_PER_SM 3

static_assert(sizeof(warprsa_limb_key) <= sizeof(warprsa_prepared_key) &&
                  WARPRSA_HALF_LIMBS * sizeof(uint32_t) <=
                      WARPRSA_HALF_SAMPLES * sizeof(double),
              "limbs lie where samples would");

template <int ROWS, int WIDTH, int L>
__global__ void __launch_bounds__(WARPRSA_INTEGER_BLOCK,
                                  WARPRSA_INTEGER_BLOCKS_PER_SM)
    warprsa_integer_kernel(const warprsa_batch batch)
{
    constexpr uint32_t requests = WARPRSA_INTEGER_BLOCK / (2 * WIDTH);
    constexpr size_t table = WARPRSA_TABLE_SIZE * L * WARPRSA_INTEGER_BLOCK;
    const uint32_t first = blockIdx.x * requests;
    warprsa_operation op;
    warprsa_number x;

    /* One thread a half; inversion is in place, so not twice at once. */
    if (threadIdx.x < 2 * requests && first + threadIdx.x / 2 < batch.count) {
        op = warprsa_request(batch, first + threadIdx.x / 2);
        warprsa_unblinder(&op, threadIdx.x % 2, ROWS);
        warprsa_blind_exponent(&op, threadIdx.x % 2, ROWS);
    }
    __syncthreads();
    op = warprsa_request(batch, first + threadIdx.x / (2 * WIDTH));
    op.table = reinterpret_cast<uint32_t *>(batch.table) + blockIdx.x * table +
               threadIdx.x;
    op.table_stride = WARPRSA_INTEGER_BLOCK;
    warprsa_blind_and_raise(&x, &op, ROWS, WIDTH, L);
    warprsa_unblind_and_recombine(&x, &op, ROWS, WIDTH, L);
}

template <int ROWS, int WIDTH, int L>
static cudaError_t warprsa_launch_integer(const warprsa_batch *batch,
                                          cudaStream_t stream)
{
    constexpr unsigned requests = WARPRSA_INTEGER_BLOCK / (2 * WIDTH);
    unsigned blocks = (batch->count + requests - 1) / requests;

    warprsa_integer_kernel<ROWS, WIDTH, L>
        <<<blocks, WARPRSA_INTEGER_BLOCK, 0, stream>>>(*batch);
    return cudaGetLastError();
}

#endif
