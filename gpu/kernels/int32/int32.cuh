/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel "int32": the stages of "cooperative" over the arithmetic of
 * gpu/arith/int32_limb.h, for GPUs that have little double precision. Nothing
 * in it is in floating point.
 */
#ifndef WARPRSA_GPU_KERNELS_INT32_INT32_CUH
#define WARPRSA_GPU_KERNELS_INT32_INT32_CUH

#define WARPRSA_INT32

#include "gpu/kernels/int32/int32_block.h"
#include "gpu/kernels/load.cuh"
#include "gpu/kernels/request.cuh"

static_assert(sizeof(warprsa_int32_key) <= sizeof(warprsa_prepared_key) &&
                  WARPRSA_INT32_HALF_LIMBS * sizeof(uint32_t) <=
                      WARPRSA_HALF_SAMPLES * sizeof(double),
              "limbs are stored where samples would be");

/* BLOCKS share an SM, which leaves a thread 255 registers if there are 2, 168
 * if there are 3 and 128 if there are 4. */
template <int LIMBS, int THREADS_PER_NUMBER, int LIMBS_PER_THREAD, int BLOCKS>
__global__ void __launch_bounds__(WARPRSA_INT32_BLOCK, BLOCKS)
    warprsa_int32_kernel(const warprsa_batch batch)
{
    WARPRSA_STAGE(REST);
    constexpr uint32_t requests =
        WARPRSA_INT32_BLOCK / (2 * THREADS_PER_NUMBER);
    constexpr size_t table =
        WARPRSA_TABLE_SIZE * LIMBS_PER_THREAD * WARPRSA_INT32_BLOCK;
    const uint32_t first = blockIdx.x * requests;
    warprsa_operation op;
    warprsa_number x;

    static_assert(LIMBS_PER_THREAD <= WARPRSA_LIMBS_PER_THREAD_MAX &&
                      LIMBS_PER_THREAD % 2 == 1 &&
                      2 * THREADS_PER_NUMBER * LIMBS_PER_THREAD *
                              sizeof(uint32_t) <=
                          WARPRSA_FULL_SAMPLES * sizeof(double),
                  "a lane's limbs, and all lanes' in the scratch");

    /* One thread a half. */
    if (threadIdx.x < 2 * requests && first + threadIdx.x / 2 < batch.count) {
        op = warprsa_request(batch, first + threadIdx.x / 2);
        warprsa_blind_exponent(&op, threadIdx.x % 2, LIMBS);
    }
    __syncthreads();
    op = warprsa_request(batch, first + threadIdx.x / (2 * THREADS_PER_NUMBER));
    op.table = reinterpret_cast<uint32_t *>(batch.table) + blockIdx.x * table +
               threadIdx.x;
    op.table_stride = WARPRSA_INT32_BLOCK;
    warprsa_blind_and_modexp(&x, &op, LIMBS, THREADS_PER_NUMBER,
                             LIMBS_PER_THREAD);
    warprsa_unblind_and_recombine(&x, &op, LIMBS, THREADS_PER_NUMBER,
                                  LIMBS_PER_THREAD);
}

template <int LIMBS, int THREADS_PER_NUMBER, int LIMBS_PER_THREAD, int BLOCKS>
static cudaError_t warprsa_launch_int32(const warprsa_batch *batch,
                                        cudaStream_t stream)
{
    constexpr unsigned requests =
        WARPRSA_INT32_BLOCK / (2 * THREADS_PER_NUMBER);
    unsigned blocks = (batch->count + requests - 1) / requests;

    if (batch->count == 0)
        return warprsa_load_code(
            warprsa_int32_kernel<LIMBS, THREADS_PER_NUMBER, LIMBS_PER_THREAD,
                                 BLOCKS>);
    warprsa_int32_kernel<LIMBS, THREADS_PER_NUMBER, LIMBS_PER_THREAD, BLOCKS>
        <<<blocks, WARPRSA_INT32_BLOCK, 0, stream>>>(*batch);
    return cudaGetLastError();
}

/* From so many lanes per SM on, it is faster to spread a request over few
 * lanes. Each request then takes longer, but all of them still run at the same
 * time, whereas requests spread over more lanes would have to take turns. */
#define WARPRSA_INT32_LANES_MANY 100

/* Whether the batch is one of many requests, of `lanes` lanes each. */
static cudaError_t warprsa_int32_many(bool *many, const warprsa_batch *batch,
                                      unsigned lanes)
{
    unsigned sms;
    cudaError_t error = warprsa_sm_count(&sms);

    *many = (uint64_t)batch->count * lanes >=
            (uint64_t)sms * WARPRSA_INT32_LANES_MANY;
    return error;
}

#endif
