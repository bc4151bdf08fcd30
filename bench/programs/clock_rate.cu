/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kernel that measures the SMs' clock rate: one thread counts clocks while
 * the timer of nanoseconds runs.
 */
#include "bench/programs/clock_rate.h"

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

    /* Counting starts and ends at a tick of the timer: ticks may be far
     * apart. */
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
