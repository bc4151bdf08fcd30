/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * To be included before a kernel: WARPRSA_STAGE() and its like become objects
 * which, as long as they live, have their warp's clocks counted for a stage.
 * What the warp waits for is counted as well, so that over a full device the
 * sums are shares of the time. By the first lane of a warp, which takes part
 * wherever any does.
 */
#ifndef WARPRSA_BENCH_STAGE_CLOCKS_CUH
#define WARPRSA_BENCH_STAGE_CLOCKS_CUH

#include "tests/bench/stage_clocks.h"

static __device__ unsigned long long stage_clocks[STAGES];

struct stage_of_warp {
    long long since;
    int stage;
};
/* Of few warps, for there are kernels that leave hardly any room. */
static __shared__ stage_of_warp stage_now[12];

/* The outermost, which a kernel begins with, is STAGE_REST: nothing came
 * before it. */
class stage_scope
{
    int before;

  public:
    /* For a warp's first lane. */
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

    __device__ __forceinline__ explicit stage_scope(int stage)
        : before(STAGE_REST)
    {
        if (threadIdx.x % 32 != 0)
            return;
        if (stage == STAGE_REST)
            stage_now[threadIdx.x / 32] = {clock64(), STAGE_REST};
        else
            before = enter(stage);
    }
    __device__ __forceinline__ ~stage_scope()
    {
        if (threadIdx.x % 32 == 0)
            enter(before);
    }
};

/* The stage of a step of gpu/kernels/fold/program.h, before the powers' end or
 * after; defined where that is known. */
template <typename INSTRUCTION>
static __device__ __forceinline__ int
stage_of_instruction(const INSTRUCTION *instruction, bool powers_to_come);

/* Hardly anything where the stage stays the same: a step is short. */
static __device__ __forceinline__ void stage_switch(int stage)
{
    if (threadIdx.x % 32 == 0 && stage_now[threadIdx.x / 32].stage != stage)
        stage_scope::enter(stage);
}

#define WARPRSA_STAGE(name) const stage_scope warprsa_stage(STAGE_##name)
#define WARPRSA_STAGE_OF_INSTRUCTION(instruction, powers_to_come)              \
    stage_switch(stage_of_instruction(instruction, powers_to_come))

#endif
