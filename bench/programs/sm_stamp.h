/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The launcher of the kernel that reads the clock of every SM.
 */
#ifndef WARPRSA_BENCH_SM_STAMP_H
#define WARPRSA_BENCH_SM_STAMP_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SM_STAMP_ROOM = 512, /* an SM's number is less, on every GPU so far */
};

/* Queues a kernel of `sms` blocks that lets `wait` clocks pass and then writes
 * the clock of its SM: that of SM i to out[i], which is device memory with room
 * for SM_STAMP_ROOM. It leaves the others as they are. An idle device gives
 * each SM one block; where one gets none, the caller sees no new clock. */
cudaError_t sm_stamp_launch(uint64_t *out, unsigned sms, uint64_t wait,
                            cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
