/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See table_memory.h.
 */
#include "gpu/cuda/table_memory.h"

#include <stdbool.h>

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
    if (table->budget != NULL)
        atomic_fetch_add(&table->budget->used, table->bytes);
    return error;
}

static void give_back(const warprsa_table_memory *table, size_t bytes)
{
    if (table->budget != NULL)
        atomic_fetch_sub(&table->budget->used, bytes);
}

/* Takes from the budget what a table of so many bytes takes beyond this one.
 * False: it is not longer, or there is not as much. */
static bool take(const warprsa_table_memory *table, size_t bytes)
{
    const size_t more = bytes - table->bytes;

    if (bytes <= table->bytes)
        return false;
    if (table->budget == NULL ||
        atomic_fetch_add(&table->budget->used, more) + more <=
            table->budget->most)
        return true;
    give_back(table, more);
    return false;
}

static void wipe_and_free(const warprsa_table_memory *table)
{
    cudaMemset(table->at, 0, table->bytes);
    cudaFree(table->at);
}

void warprsa_table_memory_grow(warprsa_table_memory *table, size_t bytes)
{
    warprsa_table_memory grown = *table;

    if (bytes > table->most)
        bytes = table->most;
    if (bytes <= table->bytes || warprsa_clock_ns() < table->retry_ns)
        return;
    grown.bytes =
        2 * table->bytes < table->most ? 2 * table->bytes : table->most;
    if (grown.bytes < bytes || !take(table, grown.bytes)) {
        grown.bytes = bytes;
        if (!take(table, bytes))
            return;
    }
    if (allocate(&grown.at, grown.bytes) != cudaSuccess) {
        give_back(table, grown.bytes - table->bytes);
        table->retry_ns = warprsa_clock_ns() + RETRY_NS;
        table->failures++;
        return;
    }
    wipe_and_free(table);
    *table = grown;
}

void warprsa_table_memory_free(warprsa_table_memory *table)
{
    if (table->at == NULL)
        return;
    wipe_and_free(table);
    give_back(table, table->bytes);
    table->at = NULL;
    table->bytes = 0;
}
