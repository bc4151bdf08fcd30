/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of the system with residue number systems: a warp a number.
 */
#include "bench/programs/papers/rns/kernel.h"

template <rns_extension first, rns_extension second>
static __global__ void __launch_bounds__(RNS_BLOCK)
    rns_kernel(const rns_key *key, uint32_t *numbers, uint32_t count)
{
    __shared__ rns_shared shared[RNS_BLOCK / RNS_LANES];
    const uint32_t warp = threadIdx.x / RNS_LANES;
    const uint32_t i = blockIdx.x * (RNS_BLOCK / RNS_LANES) + warp;
    const uint32_t lane = threadIdx.x % RNS_LANES;

    if (i >= count)
        return;
    uint32_t *number = numbers + (size_t)i * 2 * RNS_LANES;
    rns_number x = {{number[lane]}, {number[RNS_LANES + lane]}};
    rns_modexp(&x, &shared[warp], key, first, second);
    number[lane] = x.a[0];
    number[RNS_LANES + lane] = x.b[0];
}

extern "C" cudaError_t rns_launch(int i, const rns_key *key, uint32_t *numbers,
                                  uint32_t count, cudaStream_t stream)
{
    const uint32_t per_block = RNS_BLOCK / RNS_LANES;
    const uint32_t blocks = (count + per_block - 1) / per_block;

    /* The order of rns_pairs. */
    if (i == 0)
        rns_kernel<RNS_MIXED_RADIX, RNS_MIXED_RADIX>
            <<<blocks, RNS_BLOCK, 0, stream>>>(key, numbers, count);
    else if (i == 1)
        rns_kernel<RNS_BAJARD, RNS_MIXED_RADIX>
            <<<blocks, RNS_BLOCK, 0, stream>>>(key, numbers, count);
    else if (i == 2)
        rns_kernel<RNS_BAJARD, RNS_KAWAMURA>
            <<<blocks, RNS_BLOCK, 0, stream>>>(key, numbers, count);
    else if (i == 3)
        rns_kernel<RNS_BAJARD, RNS_SHENOY>
            <<<blocks, RNS_BLOCK, 0, stream>>>(key, numbers, count);
    else
        return cudaErrorInvalidValue;
    return cudaGetLastError();
}
