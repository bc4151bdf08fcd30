/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How fast the SMs' clock goes while a benchmark runs.
 */
#ifndef WARPRSA_BENCH_CLOCK_RATE_H
#define WARPRSA_BENCH_CLOCK_RATE_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Queues a kernel of one thread that takes 1 ms: out[0] clocks went by in
 * out[1] nanoseconds; device memory. */
cudaError_t clock_rate_launch(uint64_t *out, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
