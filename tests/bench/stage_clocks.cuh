/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * To be included before a kernel: WARPRSA_STAGE() becomes an object which, as
 * long as it lives, has its warp's clocks counted for a stage. What the warp
 * waits for is counted as well, so that over a full device the sums are shares
 * of the time. By the first lane of a warp, which takes part wherever any does.
 */
#ifndef WARPRSA_BENCH_STAGE_CLOCKS_CUH
#define WARPRSA_BENCH_STAGE_CLOCKS_CUH

#include "tests/bench/stage_clocks.h"

static __device__ unsigned long long stage_clocks[STAGES];

struct stage_of_warp {
    long long since;
    int stage;
};
static __shared__ stage_of_warp stage_now[32];

/* The outermost, which a kernel begins with, is STAGE_REST: nothing came
 * before it. */
template <int STAGE> class stage_scope
{
    int before;

    static __device__ __forceinline__ int enter(int stage)
    {
        stage_of_warp *now = &stage_now[threadIdx.x / 32];
        const int before = now->stage;
        const long long time = clock64();

        atomicAdd(&stage_clocks[before],
                  (unsigned long long)(time - now->since));
        *now = {time, stage};
        return before;
    }

  public:
    __device__ __forceinline__ stage_scope() : before(STAGE_REST)
    {
        if (threadIdx.x % 32 != 0)
            return;
        if (STAGE == STAGE_REST)
            stage_now[threadIdx.x / 32] = {clock64(), STAGE_REST};
        else
            before = enter(STAGE);
    }
    __device__ __forceinline__ ~stage_scope()
    {
        if (threadIdx.x % 32 == 0)
            enter(before);
    }
};

#define WARPRSA_STAGE(name) const stage_scope<STAGE_##name> warprsa_stage

#endif
