/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of the point multiplication.
 */
#include "bench/programs/papers/p224/kernel.h"

static __global__ void __launch_bounds__(P224_BLOCK)
    p224_kernel(const uint32_t *scalars, uint32_t *points, p224_number x,
                p224_number y, uint32_t count)
{
    const uint32_t i = blockIdx.x * P224_BLOCK + threadIdx.x;
    uint32_t k[P224_WORDS];

    for (int j = 0; j < P224_WORDS; j++)
        k[j] = scalars[j * count + i];
    const p224_point point = p224_multiply(k, x, y);
    for (int j = 0; j < P224_WORDS; j++) {
        points[j * count + i] = point.x.w[j];
        points[(P224_WORDS + j) * count + i] = point.y.w[j];
        points[(2 * P224_WORDS + j) * count + i] = point.z.w[j];
    }
}

extern "C" cudaError_t p224_launch(const uint32_t *scalars, uint32_t *points,
                                   p224_number x, p224_number y, uint32_t count,
                                   cudaStream_t stream)
{
    p224_kernel<<<count / P224_BLOCK, P224_BLOCK, 0, stream>>>(scalars, points,
                                                               x, y, count);
    return cudaGetLastError();
}
