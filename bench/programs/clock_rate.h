/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The launcher of the kernel that measures the SMs' clock rate.
 */
#ifndef WARPRSA_BENCH_CLOCK_RATE_H
#define WARPRSA_BENCH_CLOCK_RATE_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Queues a kernel of one thread that takes 1 ms. It writes two numbers to
 * `out`, which is device memory: out[0] clocks passed in out[1] nanoseconds. */
cudaError_t clock_rate_launch(uint64_t *out, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
