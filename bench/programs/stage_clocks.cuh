/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Clocks for the stages of a kernel; to be included before the kernel's source.
 * WARPRSA_STAGE() becomes an object: as long as it lives, its warp's clocks are
 * charged to its stage. Clocks in which the warp waits are charged as well, so
 * over a full device the sums are shares of the time. The first lane of a warp
 * does the counting, since it takes part wherever any lane does.
 */
#ifndef WARPRSA_BENCH_STAGE_CLOCKS_CUH
#define WARPRSA_BENCH_STAGE_CLOCKS_CUH

#include "bench/programs/stage_clocks.h"

static __device__ unsigned long long stage_clocks[STAGES];

struct stage_of_warp {
    long long since;
    int stage;
};
/* For 12 warps of a block only: some kernels leave hardly any shared memory. */
static __shared__ stage_of_warp stage_now[12];

/* Charges its warp's clocks to a stage from construction to destruction. The
 * outermost scope, with which a kernel begins, is STAGE_REST and follows no
 * other stage. */
class stage_scope
{
    int before;

  public:
    /* Charges the clocks up to now to the stage before and starts `stage`.
     * Returns the stage before. Called by a warp's first lane only. */
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

/* The stage of an instruction of the fold kernel's program
 * (gpu/kernels/fold/program.h), which depends on whether the exponentiations
 * are still to come. staged_kernel.cu defines it. */
template <typename INSTRUCTION>
static __device__ __forceinline__ int
stage_of_instruction(const INSTRUCTION *instruction, bool powers_to_come);

/* Changes the stage if it differs. An instruction of the fold kernel is short,
 * so this must cost next to nothing if the stage stays the same. */
static __device__ __forceinline__ void stage_switch(int stage)
{
    if (threadIdx.x % 32 == 0 && stage_now[threadIdx.x / 32].stage != stage)
        stage_scope::enter(stage);
}

#define WARPRSA_STAGE(name) const stage_scope warprsa_stage(STAGE_##name)
#define WARPRSA_STAGE_OF_INSTRUCTION(instruction, powers_to_come)              \
    stage_switch(stage_of_instruction(instruction, powers_to_come))

#endif
