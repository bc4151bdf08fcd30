/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/cuda/batch_memory.h"

#include <string.h>
#include <sys/mman.h>

#include "gpu/fault.h"

enum {
    ALIGNMENT = 256, /* of a part, for whole cache lines */
};

static size_t aligned(size_t octets)
{
    return (octets + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Octets of a modulus of this class, in whole words: 2 * rows samples. */
static size_t stride_of(warprsa_size_class size)
{
    size_t octets = (size_t)warprsa_shape_of(size).rows * 13;

    return octets < WARPRSA_MODULUS_OCTETS_MAX
               ? (octets + 7) / 8 * 8
               : (size_t)WARPRSA_MODULUS_OCTETS_MAX;
}

/* Places the parts over a block; with a block of NULL only the sums are of
 * use. */
static void place(warprsa_batch_memory *memory, warprsa_batch_parts *parts,
                  void *block)
{
    uint8_t *at = block;
    size_t count = memory->count;

    parts->key = (uint32_t *)(void *)at;
    at += aligned(count * sizeof(uint32_t));
    parts->input = at;
    at += aligned(count * memory->octets_stride);
    parts->random = (uint64_t *)(void *)at;
    at += aligned(memory->random_octets);
    memory->in_octets = (size_t)(at - (uint8_t *)block);
    parts->output = at;
    at += aligned(count * memory->octets_stride);
    parts->status = (uint32_t *)(void *)at;
    at += aligned(count * sizeof(uint32_t));
    memory->back_octets = (size_t)(at - (uint8_t *)block) - memory->in_octets;
    parts->inverse = (double *)(void *)at;
    at += aligned(count * 2 * WARPRSA_HALF_SAMPLES * sizeof(double));
    parts->exponent = (uint32_t *)(void *)at;
    at += aligned(count * 2 * WARPRSA_BLINDED_WORDS * sizeof(uint32_t));
    parts->result = (uint64_t *)(void *)at;
    at += aligned(count * WARPRSA_FULL_SAMPLES * sizeof(uint64_t));
    memory->all_octets = (size_t)(at - (uint8_t *)block);
}

void warprsa_batch_layout(warprsa_batch_memory *memory, warprsa_size_class size,
                          size_t count)
{
    memory->size = size;
    memory->count = count;
    memory->octets_stride = stride_of(size);
    memory->random_octets = count * WARPRSA_RANDOM_WORDS * sizeof(uint64_t);
    place(memory, &memory->host, memory->host_block);
    place(memory, &memory->device, memory->device_block);
}

/* What any variant needs. */
static size_t table_octets(warprsa_size_class size, size_t batch_max)
{
    size_t most = 0;

    for (int i = 0; i < WARPRSA_VARIANTS; i++) {
        size_t octets = warprsa_variants[i].table_octets(size, batch_max);

        if (octets > most)
            most = octets;
    }
    return most;
}

cudaError_t warprsa_batch_memory_new(warprsa_batch_memory *memory,
                                     size_t batch_max, const char *variant)
{
    cudaError_t error;

    memory->variant = variant;
    for (int i = 0; i < WARPRSA_CLASSES; i++) {
        size_t table = table_octets((warprsa_size_class)i, batch_max);

        warprsa_batch_layout(memory, (warprsa_size_class)i, batch_max);
        if (memory->all_octets > memory->block_octets)
            memory->block_octets = memory->all_octets;
        if (table > memory->table_octets)
            memory->table_octets = table;
    }
    error = cudaHostAlloc(&memory->host_block, memory->block_octets,
                          cudaHostAllocDefault);
    if (error == cudaSuccess) {
        /* Refused where the driver maps it in its own way; then a core dump
         * has the inputs and outputs under way. */
        (void)madvise(memory->host_block, memory->block_octets, MADV_DONTDUMP);
        memset(memory->host_block, 0, memory->block_octets);
        error = cudaMalloc(&memory->device_block, memory->block_octets);
    }
    if (error == cudaSuccess)
        error = cudaMalloc((void **)&memory->table, memory->table_octets);
    /* What a kernel leaves alone of the way back, between the parts and behind
     * short moduli, is copied, too: zeros, now and after each batch. */
    if (error == cudaSuccess)
        error = cudaMemset(memory->device_block, 0, memory->block_octets);
    return error == cudaSuccess ? cudaDeviceSynchronize() : error;
}

void warprsa_batch_memory_free(warprsa_batch_memory *memory)
{
    if (memory->host_block != NULL) {
        explicit_bzero(memory->host_block, memory->block_octets);
        cudaFreeHost(memory->host_block);
    }
    if (memory->device_block != NULL) {
        cudaMemset(memory->device_block, 0, memory->block_octets);
        cudaFree(memory->device_block);
    }
    if (memory->table != NULL) {
        cudaMemset(memory->table, 0, memory->table_octets);
        cudaFree(memory->table);
    }
}

void warprsa_batch_fill(warprsa_batch_memory *memory, const warprsa_task *tasks,
                        const warprsa_key_size *key_sizes)
{
    memory->windows = 0;
    for (size_t i = 0; i < memory->count; i++) {
        const warprsa_key_size *key = &key_sizes[tasks[i].key];

        memory->host.key[i] = tasks[i].key;
        memcpy(memory->host.input + i * memory->octets_stride, tasks[i].input,
               key->octets);
        if (key->windows > memory->windows)
            memory->windows = key->windows;
    }
}

static const warprsa_variant *variant_of(const warprsa_batch_memory *memory)
{
    const warprsa_variant *variant = NULL;
    const char *name = NULL;

    if (memory->variant != NULL)
        variant = warprsa_variant_named(memory->variant, memory->size);
    if (variant == NULL && memory->paces != NULL)
        name =
            warprsa_fastest_variant(memory->paces, memory->size, memory->count);
    if (name != NULL)
        variant = warprsa_variant_named(name, memory->size);
    return variant != NULL ? variant : &warprsa_variants[0];
}

cudaError_t warprsa_batch_enqueue(const warprsa_batch_memory *memory,
                                  const warprsa_prepared_key *keys,
                                  cudaStream_t stream)
{
    const warprsa_batch_parts *device = &memory->device;
    const warprsa_batch batch = {
        .keys = keys,
        .key = device->key,
        .input = device->input,
        .random = device->random,
        .output = device->output,
        .status = device->status,
        .inverse = device->inverse,
        .exponent = device->exponent,
        .result = device->result,
        .table = memory->table,
        .octets_stride = (uint32_t)memory->octets_stride,
        .count = (uint32_t)memory->count,
        .windows = memory->windows,
        .direct_table_reads = memory->direct_table_reads,
    };
    const warprsa_variant *variant = variant_of(memory);
    cudaError_t error =
        cudaMemcpyAsync(memory->device_block, memory->host_block,
                        memory->in_octets, cudaMemcpyHostToDevice, stream);

    if (error == cudaSuccess)
        error = variant->launch[memory->size](&batch, stream);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(memory->host.output, device->output,
                                memory->back_octets, cudaMemcpyDeviceToHost,
                                stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(memory->device_block, 0, memory->all_octets,
                                stream);
    return error;
}

void warprsa_batch_collect(const warprsa_batch_memory *memory,
                           warprsa_task *tasks,
                           const warprsa_key_size *key_sizes)
{
    for (size_t i = 0; i < memory->count; i++) {
        size_t octets = key_sizes[tasks[i].key].octets;
        bool passed = memory->host.status[i] == WARPRSA_OK ||
                      warprsa_fault_strikes(WARPRSA_FAULT_UNCHECKED);

        tasks[i].status = passed ? WARPRSA_OK : WARPRSA_CHECK_FAILED;
        if (passed)
            memcpy(tasks[i].output,
                   memory->host.output + i * memory->octets_stride, octets);
        else
            memset(tasks[i].output, 0, octets);
    }
}

void warprsa_batch_wipe_host(const warprsa_batch_memory *memory)
{
    explicit_bzero(memory->host_block, memory->in_octets + memory->back_octets);
}
