/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See table_memory.h.
 */
#include "gpu/cuda/table_memory.h"

#include "batching/base/clock.h"
#include "gpu/fault.h"

/* An attempt to get memory that is not there takes long, so there is one in
 * this time at most. */
#define RETRY_NS WARPRSA_NS_PER_SEC

static cudaError_t allocate(double **at, size_t bytes)
{
    cudaError_t error = warprsa_fault_active(WARPRSA_FAULT_MEMORY)
                            ? cudaErrorMemoryAllocation
                            : cudaMalloc((void **)at, bytes);

    /* CUDA would report it once more, as the error of the next launch. */
    if (error != cudaSuccess)
        (void)cudaGetLastError();
    return error;
}

cudaError_t warprsa_table_memory_new(warprsa_table_memory *table, size_t bytes)
{
    cudaError_t error = cudaMalloc((void **)&table->at, bytes);

    table->bytes = error == cudaSuccess ? bytes : 0;
    return error;
}

void warprsa_table_memory_grow(warprsa_table_memory *table, size_t bytes)
{
    warprsa_table_memory grown = *table;

    if (bytes <= table->bytes || warprsa_clock_ns() < table->retry_ns)
        return;
    if (bytes < 2 * table->bytes)
        bytes = 2 * table->bytes;
    grown.bytes = bytes < table->most ? bytes : table->most;
    if (allocate(&grown.at, grown.bytes) != cudaSuccess) {
        table->retry_ns = warprsa_clock_ns() + RETRY_NS;
        table->failures++;
        return;
    }
    warprsa_table_memory_free(table);
    *table = grown;
}

void warprsa_table_memory_free(warprsa_table_memory *table)
{
    if (table->at == NULL)
        return;
    cudaMemset(table->at, 0, table->bytes);
    cudaFree(table->at);
    table->at = NULL;
    table->bytes = 0;
}
