/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The life of a batch on a GPU: started on a stream, waited for, collected.
 */
#include <stdatomic.h>
#include <time.h>

#include "batching/base/clock.h"
#include "gpu/cuda/cuda_device.h"
#include "gpu/cuda/fault_kernels.h"
#include "gpu/fault.h"

#ifdef WARPRSA_FAULTS
/* A kernel that runs until it is told to stop stands for a hung device, and one
 * that traps for a broken one. */
static cudaError_t inject(warprsa_cuda_stream *s)
{
    if (warprsa_fault_active(WARPRSA_FAULT_TRAP) ||
        warprsa_fault_active(WARPRSA_FAULT_LOST))
        return warprsa_launch_trap(s->stream);
    if (!warprsa_fault_active(WARPRSA_FAULT_HANG))
        return cudaSuccess;
    if (s->spin_stop == NULL) {
        cudaError_t error = cudaHostAlloc(
            (void **)&s->spin_stop, sizeof(uint32_t), cudaHostAllocMapped);

        if (error != cudaSuccess)
            return error;
    }
    *(volatile uint32_t *)s->spin_stop = 0;
    return warprsa_launch_spin(s->spin_stop, s->stream);
}
#else
static cudaError_t inject(warprsa_cuda_stream *s)
{
    (void)s;
    return cudaSuccess;
}
#endif

/* Waits for what was queued of a batch that could not be started, and returns
 * why it could not, or that the device is lost. Until it is done, a copy reads
 * the host's staging memory, which is wiped here and then the next batch's, and
 * kernels read keys, which may be unloaded. A kernel that found other items on
 * the device than it was launched for would write outside of its memory, and
 * the process would lose the GPU. */
static cudaError_t stop_batch(warprsa_cuda_stream *s, cudaError_t why)
{
    const cudaError_t error = cudaStreamSynchronize(s->stream);

    if (error == cudaSuccess)
        warprsa_table_memory_give(&s->memory.table);
    warprsa_batch_wipe_host(&s->memory);
    return error == cudaSuccess ? why : error;
}

/* Starts the batch that is laid out. */
static warprsa_status start_batch(warprsa_device *device,
                                  warprsa_cuda_stream *s,
                                  const warprsa_task *tasks)
{
    const unsigned failures = s->memory.table.failures;
    const warprsa_prepared_key *keys = s->memory.size < WARPRSA_CLASS_LARGE
                                           ? device->keys
                                           : device->large_keys;
    cudaError_t error;

    if (!device->config.random(device->config.random_arg, s->memory.host.random,
                               s->memory.random_bytes)) {
        warprsa_batch_wipe_host(&s->memory);
        return WARPRSA_NO_RANDOM;
    }
    warprsa_batch_fill(&s->memory, tasks, device->key_sizes);
    error = inject(s);
    if (error == cudaSuccess)
        error = warprsa_batch_enqueue(&s->memory, keys, s->stream);
    if (error != cudaSuccess)
        error = stop_batch(s, error);
    if (s->memory.table.failures != failures)
        warprsa_cuda_trace(device, "scratch memory for a long batch",
                           cudaErrorMemoryAllocation);
    return warprsa_cuda_status(device, "starting a batch", error);
}

warprsa_status warprsa_cuda_start(warprsa_device *device, unsigned stream,
                                  warprsa_size_class size, warprsa_task *tasks,
                                  size_t count)
{
    warprsa_cuda_stream *s = &device->streams[stream];
    cudaError_t error = cudaSetDevice((int)device->config.ordinal);
    warprsa_status status;

    if (warprsa_fault_active(WARPRSA_FAULT_LAUNCH))
        error = cudaErrorLaunchFailure;
    if (error != cudaSuccess)
        return warprsa_cuda_status(device, "starting a batch", error);
    warprsa_batch_layout(&s->memory, size, count);
    s->memory.concurrent = atomic_fetch_add(&device->under_way[size], count);
    status = start_batch(device, s, tasks);
    if (status != WARPRSA_OK) {
        atomic_fetch_sub(&device->under_way[size], count);
        return status;
    }
    s->tasks = tasks;
    s->count = count;
    s->start_ns = warprsa_clock_ns();
    return WARPRSA_OK;
}

/* Sleeps for `ns`, but not past the deadline. */
static void nap(uint64_t ns, uint64_t deadline)
{
    uint64_t now = warprsa_clock_ns();
    uint64_t left = now < deadline ? deadline - now : 0;
    struct timespec pause;

    if (ns > left)
        ns = left;
    pause = (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
                              .tv_nsec = (long)(ns % 1000000000u)};
    nanosleep(&pause, NULL);
}

/* cudaSuccess, cudaErrorNotReady past the deadline, or an error. CUDA has no
 * wait with a limit, so the stream is asked again and again, but not before
 * the time that batches of its size have taken is over. */
static cudaError_t wait_until(warprsa_cuda_stream *s, uint64_t deadline)
{
    warprsa_size_class size = s->memory.size;
    uint64_t sleep = warprsa_eta_sleep(&s->eta, size, s->count);
    cudaError_t error;

    if (sleep > 0)
        nap(sleep, deadline);
    while ((error = cudaStreamQuery(s->stream)) == cudaErrorNotReady &&
           warprsa_clock_ns() < deadline)
        nap(warprsa_eta_pause(warprsa_clock_ns() - s->start_ns), deadline);
    if (error == cudaSuccess)
        warprsa_eta_note(&s->eta, size, s->count,
                         warprsa_clock_ns() - s->start_ns);
    return error;
}

warprsa_status warprsa_cuda_wait(warprsa_device *device, unsigned stream,
                                 unsigned timeout_ms)
{
    warprsa_cuda_stream *s = &device->streams[stream];
    warprsa_task *tasks = s->tasks;
    cudaError_t error = cudaSetDevice((int)device->config.ordinal);

    s->tasks = NULL;
    if (error == cudaSuccess && s->count != 0)
        error = wait_until(s, warprsa_clock_ns() + timeout_ms * 1000000ull);
    if (error == cudaErrorNotReady) {
        if (s->spin_stop != NULL)
            *(volatile uint32_t *)s->spin_stop = 1;
        return WARPRSA_DEADLINE;
    }
    if (error == cudaSuccess)
        warprsa_table_memory_give(&s->memory.table);
    if (error == cudaSuccess && tasks != NULL)
        warprsa_batch_collect(&s->memory, tasks, device->key_sizes);
    warprsa_batch_wipe_host(&s->memory);
    atomic_fetch_sub(&device->under_way[s->memory.size], s->count);
    s->count = 0;
    return warprsa_cuda_status(device, "computing a batch", error);
}
