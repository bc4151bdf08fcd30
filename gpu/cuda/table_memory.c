/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See table_memory.h.
 *
 * Every kernel wipes what it has written of secrets before it ends
 * (doc/constant-time.md), and the part of a batch whose kernels were not all
 * launched is wiped after those that were. So one batch finds none of another.
 * If it did, both are computed by the same process, whose host memory has the
 * same secrets. Blocks are wiped as a whole before the driver has them back,
 * for a kernel that was broken off has not wiped anything.
 */
#include "gpu/cuda/table_memory.h"

#include "batching/base/clock.h"
#include "gpu/fault.h"

enum {
    ALIGNMENT = 256, /* of a unit, in bytes: whole cache lines */
};

/* An attempt to get memory that is not there takes long, so there is one in
 * this time at most. */
#define RETRY_NS WARPRSA_NS_PER_SEC

cudaError_t warprsa_shared_tables_init(warprsa_shared_tables *shared,
                                       size_t longest, cudaStream_t stream)
{
    const size_t units = (size_t)WARPRSA_TABLE_UNITS * ALIGNMENT;
    int device = 0, has_pools = 0;
    cudaError_t error = cudaGetDevice(&device);

    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&has_pools,
                                       cudaDevAttrMemoryPoolsSupported, device);
    /* Not the device's current pool, which may be the program's own. */
    if (error == cudaSuccess && has_pools != 0)
        error = cudaDeviceGetDefaultMemPool(&shared->pool, device);
    if (error != cudaSuccess)
        return error;
    shared->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    shared->stream = stream;
    shared->unit_bytes = (longest + units - 1) / units * ALIGNMENT;
    return cudaSuccess;
}

static size_t block_bytes(const warprsa_shared_tables *shared)
{
    return WARPRSA_TABLE_UNITS * shared->unit_bytes;
}

/* Allocates a block. Where it is done in the order of a stream, only that one
 * is waited for, and no batch is in it. */
static cudaError_t allocate(const warprsa_shared_tables *shared, uint8_t **at)
{
    const size_t bytes = block_bytes(shared);
    cudaError_t error;

    if (warprsa_fault_active(WARPRSA_FAULT_MEMORY))
        return cudaErrorMemoryAllocation;
    if (shared->pool == NULL)
        return cudaMalloc((void **)at, bytes);
    error = cudaMallocFromPoolAsync((void **)at, bytes, shared->pool,
                                    shared->stream);
    if (error != cudaSuccess)
        return error;
    error = cudaStreamSynchronize(shared->stream);
    if (error != cudaSuccess)
        cudaFreeAsync(*at, shared->stream);
    return error;
}

/* Adds a block. False: the device has no more memory, there are all, or another
 * thread is at it. With the lock held, but for the allocation: batches that
 * have ended give back their memory meanwhile. */
static bool add_block(warprsa_shared_tables *shared, unsigned *failures)
{
    uint8_t *at = NULL;
    cudaError_t error;

    if (shared->blocks == WARPRSA_TABLE_BLOCKS || shared->is_growing ||
        warprsa_clock_ns() < shared->retry_ns)
        return false;
    shared->is_growing = true;
    pthread_mutex_unlock(&shared->lock);
    error = allocate(shared, &at);
    pthread_mutex_lock(&shared->lock);
    shared->is_growing = false;
    if (error != cudaSuccess) {
        /* CUDA would report it once more, as the error of the next launch. */
        (void)cudaGetLastError();
        shared->retry_ns = warprsa_clock_ns() + RETRY_NS;
        *failures += !shared->is_refused;
        shared->is_refused = true;
        return false;
    }
    shared->is_refused = false;
    shared->block[shared->blocks++] = at;
    return true;
}

/* The first run of so many free units, or the longest one if there is none.
 * With the lock held. */
static warprsa_table_part find(const warprsa_shared_tables *shared,
                               unsigned wanted)
{
    warprsa_table_part best = {0};

    for (unsigned b = 0; b < shared->blocks; b++)
        for (unsigned first = 0; first < WARPRSA_TABLE_UNITS; first++) {
            unsigned units = 0;

            while (units < wanted && first + units < WARPRSA_TABLE_UNITS &&
                   (shared->taken[b] >> (first + units) & 1) == 0)
                units++;
            if (units > best.units)
                best = (warprsa_table_part){b, first, units};
        }
    return best;
}

/* The units of a part, as bits. */
static uint32_t bits_of(warprsa_table_part part)
{
    return (uint32_t)(((UINT64_C(1) << part.units) - 1) << part.first);
}

/* Takes so many units, or as many as there are in a row, but none if they are
 * no more than `least` bytes. */
static warprsa_table_part take(warprsa_shared_tables *shared, unsigned wanted,
                               size_t least, unsigned *failures)
{
    warprsa_table_part part;

    pthread_mutex_lock(&shared->lock);
    part = find(shared, wanted);
    if (part.units < wanted && add_block(shared, failures))
        part = find(shared, wanted);
    if (part.units * shared->unit_bytes <= least)
        part.units = 0;
    shared->taken[part.block] |= bits_of(part);
    pthread_mutex_unlock(&shared->lock);
    return part;
}

void warprsa_table_memory_take(warprsa_table_memory *table, size_t bytes)
{
    warprsa_shared_tables *shared = table->shared;
    size_t wanted;

    table->at = table->own;
    table->bytes = table->own_bytes;
    if (shared == NULL || shared->unit_bytes == 0)
        return;
    if (bytes > table->own_bytes) {
        wanted = (bytes + shared->unit_bytes - 1) / shared->unit_bytes;
        if (wanted > WARPRSA_TABLE_UNITS)
            wanted = WARPRSA_TABLE_UNITS;
        table->part =
            take(shared, (unsigned)wanted, table->own_bytes, &table->failures);
    }
    if (table->part.units == 0)
        return;
    table->at = (double *)(void *)(shared->block[table->part.block] +
                                   table->part.first * shared->unit_bytes);
    table->bytes = table->part.units * shared->unit_bytes;
}

void warprsa_table_memory_give(warprsa_table_memory *table)
{
    if (table->part.units == 0)
        return;
    pthread_mutex_lock(&table->shared->lock);
    table->shared->taken[table->part.block] &= ~bits_of(table->part);
    pthread_mutex_unlock(&table->shared->lock);
    table->part.units = 0;
}

cudaError_t warprsa_table_memory_new(warprsa_table_memory *table, size_t bytes)
{
    cudaError_t error = cudaMalloc((void **)&table->own, bytes);

    table->own_bytes = error == cudaSuccess ? bytes : 0;
    return error;
}

void warprsa_table_memory_free(warprsa_table_memory *table)
{
    if (table->own == NULL)
        return;
    cudaMemset(table->own, 0, table->own_bytes);
    cudaFree(table->own);
    *table = (warprsa_table_memory){0};
}

/* cudaFree() does not wait for the wiping of memory that was allocated in the
 * order of a stream. */
void warprsa_shared_tables_free(warprsa_shared_tables *shared)
{
    if (shared->unit_bytes == 0)
        return;
    for (unsigned b = 0; b < shared->blocks; b++)
        cudaMemset(shared->block[b], 0, block_bytes(shared));
    cudaDeviceSynchronize();
    for (unsigned b = 0; b < shared->blocks; b++)
        cudaFree(shared->block[b]);
    pthread_mutex_destroy(&shared->lock);
    *shared = (warprsa_shared_tables){0};
}
