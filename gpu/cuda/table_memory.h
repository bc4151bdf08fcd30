/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernels' scratch memory of one stream, on the device. There is little at
 * first. It grows when a batch needs more, and keeps what it has then: the GPU
 * memory of a process follows the batches that it really has.
 */
#ifndef WARPRSA_TABLE_MEMORY_H
#define WARPRSA_TABLE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

typedef struct warprsa_table_memory {
    double *at; /* device memory */
    size_t bytes;
    size_t most;       /* it never grows beyond that */
    uint64_t retry_ns; /* it could not grow: no further attempt before */
    unsigned failures; /* so often it could not */
} warprsa_table_memory;

/* Allocates `bytes` bytes on the current device. The owner has set `most` and
 * zeroed the rest. warprsa_table_memory_free() follows a failure, too. */
cudaError_t warprsa_table_memory_new(warprsa_table_memory *table, size_t bytes);

/*
 * Makes it `bytes` long if it is shorter, or longer than that, but never more
 * than `most`. The stream must be idle. Waits for all that the device has to do
 * if it does grow, because CUDA frees memory in no other way; it grows to twice
 * its length at least, so this does not happen often. If the device has not as
 * much memory it stays as it was, and `failures` counts that. One thread at a
 * time.
 */
void warprsa_table_memory_grow(warprsa_table_memory *table, size_t bytes);

/* Wipes and frees it. */
void warprsa_table_memory_free(warprsa_table_memory *table);

#endif
