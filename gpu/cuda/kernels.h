/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernels, one per size class, as the engine (C) launches them.
 */
#ifndef WARPRSA_KERNELS_H
#define WARPRSA_KERNELS_H

#include <cuda_runtime_api.h>

#include "gpu/prepared_key.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Threads of a block, and blocks that share a multiprocessor: 128 registers a
 * thread. */
#define WARPRSA_BLOCK         128
#define WARPRSA_BLOCKS_PER_SM 4

/* A batch in device memory; request i's data start at i times the stride. */
typedef struct warprsa_batch {
    const warprsa_prepared_key *keys;
    const uint32_t *key;    /* [count] places in keys */
    const uint8_t *input;   /* octets_stride */
    const uint64_t *random; /* BLINDING_SAMPLES words */
    uint8_t *output;        /* octets_stride */
    uint32_t *status;       /* [count] */
    double *inverse;        /* 2 HALF_SAMPLES */
    uint64_t *result;       /* FULL_SAMPLES */
    double *table;          /* see warprsa_table_octets() */
    uint32_t octets_stride;
    uint32_t count;
} warprsa_batch;

/* Octets of table memory for a batch of `count` of this class. */
size_t warprsa_table_octets(warprsa_size_class size, size_t count);

/* Queues the kernel on the stream; the launch's own error is returned. */
cudaError_t warprsa_launch(warprsa_size_class size, const warprsa_batch *batch,
                           cudaStream_t stream);

cudaError_t warprsa_launch_1024(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_launch_2048(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_launch_3072(const warprsa_batch *, cudaStream_t);
cudaError_t warprsa_launch_4096(const warprsa_batch *, cudaStream_t);

/* For test builds (WARPRSA_FAULTS): keeps the stream busy until *stop, in
 * device-visible host memory, is set. */
cudaError_t warprsa_launch_spin(const volatile uint32_t *stop,
                                cudaStream_t stream);

/* For test builds: a kernel that makes the device's context unusable. */
cudaError_t warprsa_launch_trap(cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
