/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernels' scratch memory on a device, their tables. Each stream has a
 * short one of its own. A batch that needs a longer one takes a part of a
 * memory that all streams of the device share, and gives it back when it has
 * ended. So the memory in use follows what is under way on all streams
 * together, and is bounded.
 *
 * The shared memory has up to WARPRSA_TABLE_BLOCKS blocks, each as long as the
 * table of the longest batch. A block is allocated when a batch finds no room,
 * and kept until the device is closed. Nothing waits for the device meanwhile:
 * cudaMalloc() and cudaFree() do, and while they wait no thread can launch
 * anything.
 */
#ifndef WARPRSA_TABLE_MEMORY_H
#define WARPRSA_TABLE_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

enum {
    /* Enough for four batches of RSA-4096, with 2,048 requests of eight keys
     * each, which are best under way at once (warprsa_rule_batch_of()).
     * doc/log/2026-11-28-streams.md counts what they want. */
    WARPRSA_TABLE_BLOCKS = 2,
    /* A batch takes whole units of a block: bits of a uint32_t. */
    WARPRSA_TABLE_UNITS = 32,
};

/* A run of units of a block. */
typedef struct warprsa_table_part {
    unsigned block, first, units; /* units = 0: none */
} warprsa_table_part;

/* What all streams of a device share. The functions below lock it. */
typedef struct warprsa_shared_tables {
    pthread_mutex_t lock;
    cudaStream_t stream; /* orders allocations; not owned, nobody computes */
    cudaMemPool_t pool;  /* not owned; NULL: the device has none */
    size_t unit_bytes;   /* of a unit; 0: there is no shared memory */
    bool is_growing;     /* a thread allocates a block, without the lock */
    unsigned blocks;
    uint8_t *block[WARPRSA_TABLE_BLOCKS]; /* device memory */
    uint32_t taken[WARPRSA_TABLE_BLOCKS]; /* bit i: unit i is in use */
    uint64_t retry_ns; /* the device had no more: no attempt before */
    bool is_refused;   /* the last attempt found no memory */
} warprsa_shared_tables;

/* The table of one stream. One thread at a time. */
typedef struct warprsa_table_memory {
    double *at; /* what a batch has: `own`, or a part of the shared memory */
    size_t bytes;
    double *own; /* device memory */
    size_t own_bytes;
    warprsa_shared_tables *shared; /* not owned; NULL: none */
    warprsa_table_part part;
    /* So often the device had no block for it, where the attempt before had
     * found one. */
    unsigned failures;
} warprsa_table_memory;

/* Makes *shared ready for tables of up to `longest` bytes, and allocates
 * nothing. `stream` is one of the current device that does not compute, and
 * stays the caller's. */
cudaError_t warprsa_shared_tables_init(warprsa_shared_tables *shared,
                                       size_t longest, cudaStream_t stream);

/* Wipes and frees it; also a zeroed one that was never made ready. All streams
 * must be idle. Memory goes back to the driver when the caller next waits for
 * the device. */
void warprsa_shared_tables_free(warprsa_shared_tables *shared);

/* Allocates the stream's own table on the current device. The owner has set
 * `shared` and zeroed the rest. warprsa_table_memory_free() follows a failure,
 * too. */
cudaError_t warprsa_table_memory_new(warprsa_table_memory *table, size_t bytes);

/* For the next batch of the stream: sets `at` and `bytes`, to as many as it
 * wants if there are, and in any case to those of its own table, which is
 * enough for a batch in pieces. So no stream waits for another one. Does not
 * wait for the device where that can allocate in the order of a stream. */
void warprsa_table_memory_take(warprsa_table_memory *table, size_t bytes);

/* Gives back what the batch has of the shared memory. Its kernels must have
 * ended, for another stream may use it at once. Of a device that is lost nobody
 * gives it back. */
void warprsa_table_memory_give(warprsa_table_memory *table);

/* Wipes and frees the stream's own table; the stream must be idle. */
void warprsa_table_memory_free(warprsa_table_memory *table);

#endif
