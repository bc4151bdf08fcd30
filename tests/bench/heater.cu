/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kernel that draws power, more or less of it by its numbers alone.
 */
#include "tests/bench/heater.h"

enum {
    THREADS = 512,
    CHAINS = 8, /* independent ones of a thread: the unit is never idle */
    STEPS = 256,
};

/* The logistic map never settles between 0 and 1, but keeps 0. */
static __global__ void __launch_bounds__(THREADS)
    heat(double scale, uint64_t clocks, double *sink)
{
    const long long start = clock64();
    double x[CHAINS], sum = 0;

#pragma unroll
    for (int i = 0; i < CHAINS; i++)
        x[i] = scale * (1 + i + CHAINS * threadIdx.x) / (1 + CHAINS * THREADS);
    do {
#pragma unroll 4
        for (int step = 0; step < STEPS; step++)
#pragma unroll
            for (int i = 0; i < CHAINS; i++)
                x[i] = 3.9999 * fma(-x[i], x[i], x[i]);
    } while ((uint64_t)(clock64() - start) < clocks);
#pragma unroll
    for (int i = 0; i < CHAINS; i++)
        sum += x[i];
    if (sum < 0) /* never */
        *sink = sum;
}

extern "C" cudaError_t heater_launch(unsigned sms, bool zeros, uint64_t clocks,
                                     double *sink, cudaStream_t stream)
{
    int bytes = 0;
    cudaError_t error = cudaDeviceGetAttribute(
        &bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);

    if (error == cudaSuccess)
        error = cudaFuncSetAttribute(
            heat, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess)
        return error;
    heat<<<sms, THREADS, (size_t)bytes, stream>>>(zeros ? 0 : 1, clocks, sink);
    return cudaGetLastError();
}
