/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The launcher of a kernel that draws power beside another one.
 */
#ifndef WARPRSA_BENCH_HEATER_H
#define WARPRSA_BENCH_HEATER_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Queues a kernel that multiplies numbers on `sms` SMs until `clocks` of their
 * clocks have passed, and takes their shared memory, so that no block which
 * needs some runs there. It executes the same instructions whether the numbers
 * are zeros or not. `sink` is device memory and is not written. */
cudaError_t heater_launch(unsigned sms, bool zeros, uint64_t clocks,
                          double *sink, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
