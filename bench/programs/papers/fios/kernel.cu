/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of the system with chains of sums of products.
 */
#include "bench/programs/papers/fios/fios.h"
#include "bench/programs/papers/fios/kernel.h"

template <int words, bool chains>
static __global__ void __launch_bounds__(256) fios_kernel(fios_batch batch)
{
    const fios_key key = {batch.modulus, batch.r2, batch.exponent, batch.n0inv,
                          batch.exponent_bits};
    const uint32_t numbers = blockIdx.x * blockDim.x;
    fios_number x, c;

    if (batch.transposed)
        x = {batch.memory + numbers * 2 * words + threadIdx.x, blockDim.x};
    else
        x = {batch.memory + (numbers + threadIdx.x) * 2 * words, 1};
    c = {x.at + words * x.step, x.step};
    fios_modexp(c, x, &key, words, chains);
}

template <int words>
static void launch(const fios_batch *b, cudaStream_t stream)
{
    if (b->chains)
        fios_kernel<words, true><<<b->blocks, b->block, 0, stream>>>(*b);
    else
        fios_kernel<words, false><<<b->blocks, b->block, 0, stream>>>(*b);
}

extern "C" cudaError_t fios_launch(const fios_batch *batch, int words,
                                   cudaStream_t stream)
{
    if (words == 32)
        launch<32>(batch, stream);
    else if (words == 64)
        launch<64>(batch, stream);
    else
        return cudaErrorInvalidValue;
    return cudaGetLastError();
}
