/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernels in double precision once more, with clocks at their stages.
 */
#include "tests/bench/stage_clocks.cuh"

#include "gpu/cuda/lanes_1024.cu"
#include "gpu/cuda/lanes_2048.cu"
#include "gpu/cuda/lanes_3072.cu"
#include "gpu/cuda/lanes_4096.cu"
#include "gpu/cuda/thread_1024.cu"
#include "gpu/cuda/thread_2048.cu"
#include "gpu/cuda/thread_3072.cu"
#include "gpu/cuda/thread_4096.cu"

extern "C" cudaError_t stage_clocks_take(uint64_t clocks[STAGES])
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
