/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/bench/batch_run.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench.h"

void batch_run_new(batch_run *run, size_t batch_max, size_t keys_max)
{
    *run = (batch_run){.keys_max = keys_max, .batch_max = batch_max};
    bench_cuda(cudaStreamCreateWithFlags(&run->stream, cudaStreamNonBlocking),
               "a stream");
    bench_cuda(cudaEventCreate(&run->start), "an event");
    bench_cuda(cudaEventCreate(&run->end), "an event");
    bench_cuda(warprsa_batch_memory_new(&run->memory, batch_max, NULL),
               "a batch's memory");
    run->prepared = bench_device_memory(keys_max * sizeof(*run->prepared));
    run->host_prepared = calloc(keys_max, sizeof(*run->host_prepared));
    run->key_sizes = calloc(keys_max, sizeof(*run->key_sizes));
    run->input = calloc(batch_max, WARPRSA_MODULUS_OCTETS_MAX);
    run->output = calloc(batch_max, WARPRSA_MODULUS_OCTETS_MAX);
    run->tasks = calloc(batch_max, sizeof(*run->tasks));
    if (run->host_prepared == NULL || run->key_sizes == NULL ||
        run->input == NULL || run->output == NULL || run->tasks == NULL)
        bench_fail("no memory");
}

void batch_run_free(batch_run *run)
{
    warprsa_batch_memory_free(&run->memory);
    bench_cuda(cudaFree(run->prepared), "freeing memory");
    bench_cuda(cudaEventDestroy(run->start), "an event");
    bench_cuda(cudaEventDestroy(run->end), "an event");
    bench_cuda(cudaStreamDestroy(run->stream), "a stream");
    free(run->host_prepared);
    free(run->key_sizes);
    free(run->input);
    free(run->output);
    free(run->tasks);
}

static void put_keys(batch_run *run)
{
    static_assert(sizeof(bench_prepared) == sizeof(warprsa_prepared_key),
                  "limbs lie where samples would");
    bench_cuda(cudaMemcpyAsync(run->prepared, run->host_prepared,
                               run->keys->count * sizeof(*run->host_prepared),
                               cudaMemcpyHostToDevice, run->stream),
               "copying keys");
    bench_cuda(cudaStreamSynchronize(run->stream), "copying keys");
}

void batch_run_keys(batch_run *run, const key_set *keys,
                    const warprsa_variant *variant)
{
    run->keys = keys;
    run->limbs = strcmp(variant->name, WARPRSA_VARIANT_INTEGER) == 0;
    for (size_t i = 0; i < keys->count; i++) {
        const warprsa_private_key *key = &keys->keys[i].key;
        bench_prepared *to = &run->host_prepared[i];
        warprsa_status status = run->limbs
                                    ? warprsa_prepare_limb_key(&to->limbs, key)
                                    : warprsa_prepare_key(&to->samples, key);

        if (status != WARPRSA_OK)
            bench_fail("a key cannot be prepared");
        run->key_sizes[i] = (warprsa_key_size){
            .octets = (uint16_t)key->modulus_octets,
            .windows = (uint16_t)(run->limbs ? to->limbs.windows
                                             : to->samples.windows),
        };
    }
    put_keys(run);
}

/* An exponent is blinded by a multiple of prime - 1: here of zero. */
static void set_exponent(uint32_t exponent[WARPRSA_EXPONENT_WORDS],
                         uint32_t less_one[WARPRSA_EXPONENT_WORDS],
                         exponents which, const uint32_t *fixed)
{
    const size_t octets = WARPRSA_EXPONENT_WORDS * sizeof(*exponent);

    memset(less_one, 0, octets);
    if (which == EXPONENTS_RANDOM)
        bench_random(exponent, octets);
    else if (which == EXPONENTS_FIXED)
        memcpy(exponent, fixed, octets);
    else
        memset(exponent, which == EXPONENTS_ONES ? 0xff : 0, octets);
}

void batch_run_exponents(batch_run *run, exponents which,
                         const uint32_t fixed[WARPRSA_EXPONENT_WORDS])
{
    for (size_t i = 0; i < run->keys->count; i++)
        for (int half = 0; half < 2; half++) {
            warprsa_prepared_half *s =
                &run->host_prepared[i].samples.half[half];
            warprsa_limb_half *l = &run->host_prepared[i].limbs.half[half];

            set_exponent(run->limbs ? l->exponent : s->exponent,
                         run->limbs ? l->less_one : s->less_one, which, fixed);
        }
    put_keys(run);
}

void batch_run_fill(batch_run *run, size_t count, bool one_key)
{
    const warprsa_private_key *first = &run->keys->keys[0].key;

    warprsa_batch_layout(&run->memory,
                         (warprsa_size_class)warprsa_key_class(first), count);
    bench_random(run->input, count * WARPRSA_MODULUS_OCTETS_MAX);
    for (size_t i = 0; i < count; i++) {
        run->input[i * WARPRSA_MODULUS_OCTETS_MAX] &= 0x7f; /* below n */
        run->tasks[i] = (warprsa_task){
            .key = one_key ? 0 : (uint32_t)(i % run->keys->count),
            .input = run->input + i * WARPRSA_MODULUS_OCTETS_MAX,
            .output = run->output + i * WARPRSA_MODULUS_OCTETS_MAX,
        };
    }
}

/* The host's side: what start() of the engine does before it queues. */
static void stage(batch_run *run)
{
    bench_random(run->memory.host.random, run->memory.random_octets);
    warprsa_batch_fill(&run->memory, run->tasks, run->key_sizes);
}

static warprsa_batch on_device(const batch_run *run)
{
    const warprsa_batch_parts *device = &run->memory.device;

    return (warprsa_batch){
        .keys = run->prepared,
        .key = device->key,
        .input = device->input,
        .random = device->random,
        .output = device->output,
        .status = device->status,
        .inverse = device->inverse,
        .exponent = device->exponent,
        .result = device->result,
        .table = run->memory.table,
        .octets_stride = (uint32_t)run->memory.octets_stride,
        .count = (uint32_t)run->memory.count,
        .windows = run->memory.windows,
    };
}

void batch_run_copy_in(batch_run *run)
{
    stage(run);
    bench_cuda(cudaMemcpyAsync(run->memory.device_block, run->memory.host_block,
                               run->memory.in_octets, cudaMemcpyHostToDevice,
                               run->stream),
               "copying a batch");
}

double batch_run_kernel(batch_run *run, const warprsa_variant *variant)
{
    const warprsa_batch batch = on_device(run);
    float ms;

    bench_cuda(cudaEventRecord(run->start, run->stream), "an event");
    bench_cuda(variant->launch[run->memory.size](&batch, run->stream),
               variant->name);
    bench_cuda(cudaEventRecord(run->end, run->stream), "an event");
    bench_cuda(cudaEventSynchronize(run->end), variant->name);
    bench_cuda(cudaEventElapsedTime(&ms, run->start, run->end), variant->name);
    return (double)ms;
}

double batch_run_whole(batch_run *run, const warprsa_variant *variant)
{
    const warprsa_batch batch = on_device(run);
    warprsa_batch_memory *memory = &run->memory;
    double start = bench_now();

    batch_run_copy_in(run);
    bench_cuda(variant->launch[memory->size](&batch, run->stream),
               variant->name);
    bench_cuda(cudaMemcpyAsync(memory->host.output, memory->device.output,
                               memory->back_octets, cudaMemcpyDeviceToHost,
                               run->stream),
               "copying results");
    bench_cuda(cudaMemsetAsync(memory->device_block, 0, memory->all_octets,
                               run->stream),
               "wiping");
    bench_cuda(cudaStreamSynchronize(run->stream), variant->name);
    warprsa_batch_collect(memory, run->tasks, run->key_sizes);
    warprsa_batch_wipe_host(memory);
    return 1e3 * (bench_now() - start);
}

size_t batch_run_check(const batch_run *run, size_t most)
{
    size_t count = run->memory.count, checked = 0;
    size_t step = count > most ? count / most : 1;

    for (size_t i = 0; i < count && checked < most; i += step, checked++) {
        const warprsa_task *task = &run->tasks[i];

        if (task->status != WARPRSA_OK)
            bench_fail(warprsa_status_text(task->status));
        if (!made_key_accepts(&run->keys->keys[task->key], task->output,
                              task->input))
            bench_fail("a result is wrong");
    }
    return checked;
}
