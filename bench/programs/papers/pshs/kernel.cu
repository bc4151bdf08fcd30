/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of pSHS with the warps of an SM as its workers. Numbers and
 * messages are in shared memory.
 */
#include "bench/programs/papers/pshs/kernel.h"
#include "bench/programs/papers/pshs/pshs.h"

/* Three values, the links, and a counter for each link. */
static __global__ void __launch_bounds__(PSHS_WORKERS_MAX * 32)
    pshs_kernel(pshs_batch b)
{
    extern __shared__ uint32_t shared[];
    const uint32_t value = b.words * PSHS_LANES;
    const uint32_t link = PSHS_SLOTS * PSHS_LANES;
    uint32_t *const values[3] = {shared, shared + value, shared + 2 * value};
    uint32_t *const links = shared + 3 * value;
    uint32_t *const sent = links + b.workers * link;
    const uint32_t pid = threadIdx.x / 32;
    const uint32_t before = (pid + b.workers - 1) % b.workers;
    uint32_t *memory = b.memory + blockIdx.x * value;
    pshs_worker w;

    w.p = (int)b.workers;
    w.q = (int)(b.words / b.workers);
    w.s = (int)b.words;
    w.pid = (int)pid;
    w.n0inv = b.n0inv;
    w.modulus = b.modulus;
    w.in = {links + before * link, sent + before};
    w.out = {links + pid * link, sent + pid};
    w.received = w.sent = 0;
    if (threadIdx.x < b.workers)
        sent[threadIdx.x] = 0;
    for (uint32_t i = threadIdx.x; i < value; i += blockDim.x)
        values[0][i] = memory[i];
    __syncthreads();
    const pshs_key key = {b.r2, b.exponent, b.one, (int)b.exponent_bits};
    pshs_modexp(&w, values, &key);
    for (uint32_t i = threadIdx.x; i < value; i += blockDim.x)
        memory[i] = values[0][i];
}

extern "C" cudaError_t pshs_launch(const pshs_batch *b, cudaStream_t stream)
{
    const size_t bytes =
        sizeof(uint32_t) * (3 * b->words * PSHS_LANES +
                            b->workers * (PSHS_SLOTS * PSHS_LANES + 1));
    cudaError_t error;

    if (b->words > PSHS_WORDS_MAX || b->workers > PSHS_WORKERS_MAX)
        return cudaErrorInvalidValue;
    error = cudaFuncSetAttribute(
        pshs_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess)
        return error;
    pshs_kernel<<<b->blocks, b->workers * 32, bytes, stream>>>(*b);
    return cudaGetLastError();
}
