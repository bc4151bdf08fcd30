/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Compiles one of the engine's kernels once more, with clocks at its stages.
 * -DSTAGED_KERNEL=cooperative -DWARPRSA_KERNEL_BITS=2048, for example, select
 * it.
 */
#include "bench/programs/stage_clocks.cuh"

#define STAGED_TEXT(text) #text
/* clang-format would put spaces around the slashes. */
/* clang-format off */
#define STAGED_FILE(name) STAGED_TEXT(gpu/kernels/name/kernel.cu)
/* clang-format on */

#include STAGED_FILE(STAGED_KERNEL)

#ifdef WARPRSA_GPU_KERNELS_FOLD_PROGRAM_H
template <typename INSTRUCTION>
static __device__ __forceinline__ int
stage_of_instruction(const INSTRUCTION *instruction, bool powers_to_come)
{
    switch (instruction->action) {
    case WARPRSA_FOLD_STORE_ENTRY:
    case WARPRSA_FOLD_MODEXP_START:
    case WARPRSA_FOLD_MODEXP:
        return STAGE_MODEXP;
    }
    switch (instruction->operand) {
    case WARPRSA_FOLD_OF_INPUT:
    case WARPRSA_FOLD_OF_RESULT:
        return STAGE_SPLIT;
    case WARPRSA_FOLD_UNBLINDING:
        return STAGE_UNBLINDING;
    case WARPRSA_FOLD_QINV:
    case WARPRSA_FOLD_Q:
        return STAGE_RECOMBINATION;
    }
    return powers_to_come ? STAGE_BLINDING : STAGE_CHECK;
}
#endif

#define STAGED_TAKE(name)                                                      \
    WARPRSA_OF_BITS(WARPRSA_JOIN(WARPRSA_JOIN(stage_clocks_take_, name), _))

extern "C" cudaError_t STAGED_TAKE(STAGED_KERNEL)(uint64_t clocks[STAGES])
{
    cudaError_t error = cudaDeviceSynchronize();

    if (error == cudaSuccess)
        error =
            cudaMemcpyFromSymbol(clocks, stage_clocks, sizeof(stage_clocks));
    if (error == cudaSuccess) {
        const unsigned long long zeros[STAGES] = {0};

        error = cudaMemcpyToSymbol(stage_clocks, zeros, sizeof(zeros));
    }
    return error;
}
