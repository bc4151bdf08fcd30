/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kernel that reads the clock of every SM.
 */
#include "bench/programs/sm_stamp.h"

static __device__ uint64_t sm_clock()
{
    uint64_t t;

    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
    return t;
}

static __global__ void stamp(uint64_t *out, uint64_t wait)
{
    const uint64_t start = sm_clock();
    uint32_t sm;

    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    while (sm_clock() - start < wait)
        ;
    if (sm < SM_STAMP_ROOM)
        out[sm] = sm_clock();
}

extern "C" cudaError_t sm_stamp_launch(uint64_t *out, unsigned sms,
                                       uint64_t wait, cudaStream_t stream)
{
    stamp<<<sms, 1, 0, stream>>>(out, wait);
    return cudaGetLastError();
}
