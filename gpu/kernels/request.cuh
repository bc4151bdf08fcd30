/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where a kernel finds the data of one request of its batch. The memory is laid
 * out for samples of 52 bits; another arithmetic's key and scratch lie at the
 * same places and are no longer.
 */
#ifndef WARPRSA_GPU_KERNELS_REQUEST_CUH
#define WARPRSA_GPU_KERNELS_REQUEST_CUH

#include "gpu/arith/private_operation.h"
#include "gpu/kernels/batch.h"

/* Request `index` of the batch, without a table. Past its end it is the last
 * request once more, so that all lanes of a warp stay together. These lanes
 * write one result twice. */
static __device__ __forceinline__ warprsa_operation
warprsa_request(const warprsa_batch &batch, uint32_t index)
{
    uint32_t i = index < batch.count ? index : batch.count - 1;
    warprsa_operation op;

    op.key = reinterpret_cast<const warprsa_operation_key *>(batch.keys +
                                                             batch.key[i]);
    op.input = batch.input + (size_t)i * batch.bytes_stride;
    op.output = batch.output + (size_t)i * batch.bytes_stride;
    op.random = batch.random + (size_t)i * WARPRSA_RANDOM_WORDS;
    op.unblinding = reinterpret_cast<warprsa_sample_t *>(
        batch.unblinding + (size_t)i * (2 * WARPRSA_HALF_SAMPLES));
    op.exponent = batch.exponent + (size_t)i * (2 * WARPRSA_BLINDED_WORDS);
    op.windows = (int)batch.windows;
    op.result = reinterpret_cast<warprsa_sample_bits_t *>(
        batch.result + (size_t)i * WARPRSA_FULL_SAMPLES);
    op.table = nullptr;
    op.table_stride = 0;
    op.direct_table_reads = false;
    op.status = batch.status + i;
    return op;
}

/* SMs of the device that is current. */
static inline cudaError_t warprsa_sm_count(unsigned *sms)
{
    int device = 0, count = 0;
    cudaError_t error = cudaGetDevice(&device);

    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount,
                                       device);
    *sms = (unsigned)count;
    return error;
}

#endif
