/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Wraps the functions that launch kernels. nvcc compiles k<<<...>>>() to a call
 * of cudaLaunchKernel() (CUDA 12) or __cudaLaunchKernel() (CUDA 13), and the
 * linker's --wrap directs both here.
 */
#include "bench/programs/launches.h"

#include <stdio.h>

#include "bench/programs/bench.h"

typedef struct noted {
    const void *function;
    struct dim3 grid, block;
    size_t shared;
    cudaEvent_t start, end;
} noted;

static bool noting;
static launches_observer *observer;
static void *observer_arg;
static launches_bracket *bracket;
static void *bracket_arg;
static noted launched[LAUNCHES_MAX];
static size_t count;

typedef cudaError_t launch_function(const void *function, struct dim3 grid,
                                    struct dim3 block, void **arguments,
                                    size_t shared, cudaStream_t stream);

/* The names that the linker's --wrap gives the original and the wrapper. */
launch_function __real_cudaLaunchKernel, __wrap_cudaLaunchKernel,
    __real___cudaLaunchKernel, __wrap___cudaLaunchKernel;

static void call_bracket(bool after, cudaStream_t stream)
{
    if (bracket == NULL)
        return;
    noting = false;
    bracket(bracket_arg, count, after, stream);
    noting = true;
}

static cudaError_t note(launch_function *real, const void *function,
                        struct dim3 grid, struct dim3 block, void **arguments,
                        size_t shared, cudaStream_t stream)
{
    cudaError_t error;
    noted *n = &launched[count];

    if (!noting)
        return real(function, grid, block, arguments, shared, stream);
    if (count == LAUNCHES_MAX)
        bench_fail("more kernels in a batch than launches.h has room for");
    *n = (noted){function, grid, block, shared, NULL, NULL};
    bench_cuda(cudaEventCreate(&n->start), "an event");
    bench_cuda(cudaEventCreate(&n->end), "an event");
    call_bracket(false, stream);
    bench_cuda(cudaEventRecord(n->start, stream), "an event");
    error = real(function, grid, block, arguments, shared, stream);
    bench_cuda(cudaEventRecord(n->end, stream), "an event");
    call_bracket(true, stream);
    count++;
    if (error == cudaSuccess && observer != NULL)
        observer(observer_arg, count - 1);
    return error;
}

cudaError_t __wrap_cudaLaunchKernel(const void *function, struct dim3 grid,
                                    struct dim3 block, void **arguments,
                                    size_t shared, cudaStream_t stream)
{
    return note(__real_cudaLaunchKernel, function, grid, block, arguments,
                shared, stream);
}

cudaError_t __wrap___cudaLaunchKernel(const void *function, struct dim3 grid,
                                      struct dim3 block, void **arguments,
                                      size_t shared, cudaStream_t stream)
{
    return note(__real___cudaLaunchKernel, function, grid, block, arguments,
                shared, stream);
}

void launches_begin(void)
{
    count = 0;
    noting = true;
}

void launches_observe(launches_observer *new_observer, void *arg)
{
    observer = new_observer;
    observer_arg = arg;
}

void launches_bracket_by(launches_bracket *new_bracket, void *arg)
{
    bracket = new_bracket;
    bracket_arg = arg;
}

static void describe(launch *l, const noted *n)
{
    struct cudaFuncAttributes a;
    const char *name = "";
    int blocks;
    float ms;

    bench_cuda(cudaFuncGetAttributes(&a, n->function), "a kernel's registers");
#if CUDART_VERSION >= 12030
    bench_cuda(cudaFuncGetName(&name, n->function), "a kernel's name");
#endif
    l->threads = n->block.x * n->block.y * n->block.z;
    bench_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                   &blocks, n->function, (int)l->threads, n->shared),
               "a kernel's occupancy");
    bench_cuda(cudaEventElapsedTime(&ms, n->start, n->end), "a kernel's time");
    snprintf(l->name, sizeof(l->name), "%s", name);
    l->blocks = n->grid.x * n->grid.y * n->grid.z;
    l->registers = a.numRegs;
    l->spilled = a.localSizeBytes;
    l->shared = a.sharedSizeBytes + n->shared;
    l->warps = blocks * (int)((l->threads + 31) / 32);
    l->ms = (double)ms;
    bench_cuda(cudaEventDestroy(n->start), "an event");
    bench_cuda(cudaEventDestroy(n->end), "an event");
}

size_t launches_end(cudaStream_t stream, launch *seen)
{
    noting = false;
    bench_cuda(cudaStreamSynchronize(stream), "a batch");
    if (count == 0)
        bench_fail("no launch was seen: launches.c does not know how this "
                   "CUDA launches");
    for (size_t i = 0; i < count; i++)
        describe(&seen[i], &launched[i]);
    return count;
}
