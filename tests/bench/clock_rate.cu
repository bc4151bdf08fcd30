/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How fast the SMs' clock goes: clocks against the timer that
 * counts nanoseconds, by one thread.
 */
#include "tests/bench/clock_rate.h"

static __device__ uint64_t nanoseconds()
{
    uint64_t t;

    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}

static __global__ void count_clocks(uint64_t wanted, uint64_t *out)
{
    uint64_t start = nanoseconds(), before, now;
    long long clocks;

    /* From one tick of the timer, which may be coarse, to another. */
    while ((before = nanoseconds()) == start)
        ;
    clocks = clock64();
    while ((now = nanoseconds()) - before < wanted)
        ;
    out[0] = (uint64_t)(clock64() - clocks);
    out[1] = now - before;
}

extern "C" cudaError_t clock_rate_launch(uint64_t *out, cudaStream_t stream)
{
    count_clocks<<<1, 1, 0, stream>>>(1000000, out);
    return cudaGetLastError();
}
