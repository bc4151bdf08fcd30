/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of the system with one thread a number.
 */
#include "bench/programs/papers/cios/cios.h"
#include "bench/programs/papers/cios/kernel.h"

template <int words>
static __global__ void __launch_bounds__(CIOS_BLOCK)
    cios_kernel(cios_batch batch)
{
    const cios_key key = {batch.modulus, batch.r2, batch.exponent, batch.n0inv,
                          batch.exponent_bits};

    cios_modexp(batch.memory + blockIdx.x * 3 * (words + 2) * CIOS_BLOCK +
                    threadIdx.x,
                CIOS_BLOCK, &key, words);
}

extern "C" cudaError_t cios_launch(const cios_batch *batch, int words,
                                   cudaStream_t stream)
{
    if (words == 32)
        cios_kernel<32><<<batch->blocks, CIOS_BLOCK, 0, stream>>>(*batch);
    else if (words == 64)
        cios_kernel<64><<<batch->blocks, CIOS_BLOCK, 0, stream>>>(*batch);
    else
        return cudaErrorInvalidValue;
    return cudaGetLastError();
}
