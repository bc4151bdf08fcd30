/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Batches for the benchmarks of the kernels: this calls the engine's own
 * functions for a batch's memory, copies and launches, without an engine.
 */
#include "bench/programs/batch_run.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "bench/programs/bench.h"
#include "gpu/select/candidates.h"
#include "gpu/select/estimate.h"

static bool prefers_int32_keys(const batch_run *run)
{
    return warprsa_prefers_int32_keys(warprsa_all_kernels(), &run->memory.gpu);
}

static void find_timings(batch_run *run)
{
    struct cudaDeviceProp device;

    bench_cuda(cudaGetDeviceProperties(&device, 0), "the device");
    run->memory.int32_keys = prefers_int32_keys(run);
    warprsa_candidates(&run->candidates, &run->memory.gpu,
                       run->memory.int32_keys);
    (void)warprsa_kernel_timings_known(device.name, &run->timings);
    warprsa_kernel_timings_keep(&run->timings, &run->candidates);
    run->memory.timings = &run->timings;
}

void batch_run_new(batch_run *run, size_t batch_max, size_t keys_max)
{
    *run = (batch_run){.keys_max = keys_max, .batch_max = batch_max};
    bench_cuda(cudaStreamCreateWithFlags(&run->stream, cudaStreamNonBlocking),
               "a stream");
    run->key_folds = calloc(keys_max, sizeof(*run->key_folds));
    if (run->key_folds == NULL)
        bench_fail("no memory");
    run->memory.table.shared = &run->tables;
    bench_cuda(warprsa_gpu_facts(&run->memory.gpu, 0), "its attributes");
    warprsa_batch_measure(&run->staging, batch_max);
    bench_cuda(warprsa_staging_new(&run->staging, 1), "staging memory");
    bench_cuda(warprsa_batch_memory_new(&run->memory, &run->staging, 0,
                                        batch_max, run->key_folds, keys_max),
               "a batch's memory");
    bench_cuda(warprsa_shared_tables_init(
                   &run->tables,
                   warprsa_batch_longest_table(&run->memory.gpu, batch_max),
                   run->stream),
               "scratch memory");
    find_timings(run);
    run->prepared = bench_device_memory(keys_max * sizeof(*run->prepared));
    run->host_prepared = calloc(keys_max, sizeof(*run->host_prepared));
    run->key_sizes = calloc(keys_max, sizeof(*run->key_sizes));
    run->input = calloc(batch_max, WARPRSA_MODULUS_BYTES_MAX);
    run->output = calloc(batch_max, WARPRSA_MODULUS_BYTES_MAX);
    run->tasks = calloc(batch_max, sizeof(*run->tasks));
    if (run->host_prepared == NULL || run->key_sizes == NULL ||
        run->input == NULL || run->output == NULL || run->tasks == NULL)
        bench_fail("no memory");
}

void batch_run_free(batch_run *run)
{
    warprsa_batch_memory_free(&run->memory);
    warprsa_staging_free(&run->staging);
    warprsa_shared_tables_free(&run->tables);
    bench_cuda(cudaFree(run->prepared), "freeing memory");
    bench_cuda(cudaStreamDestroy(run->stream), "a stream");
    free(run->host_prepared);
    free(run->key_sizes);
    free(run->key_folds);
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

const char *batch_run_name(size_t i)
{
    return i < WARPRSA_KERNELS ? warprsa_kernels[i]->name : NULL;
}

bool batch_run_shares_keys(const char *kernel)
{
    const warprsa_kernel *known = warprsa_kernel_named(kernel);

    return known != NULL && known->shares_key;
}

bool batch_run_takes(const batch_run *run, const char *kernel,
                     warprsa_size_class size)
{
    const warprsa_kernel *known = warprsa_kernel_named(kernel);

    if (strcmp(kernel, BATCH_RUN_AUTO) == 0)
        return run->timings.count > 0;
    return known != NULL && warprsa_kernel_takes(known, &run->memory.gpu, size);
}

size_t batch_run_wave(const batch_run *run, const char *kernel,
                      warprsa_size_class size)
{
    const warprsa_kernel_timing *timing = warprsa_kernel_timing_of(
        &run->candidates, size, warprsa_kernel_named(kernel));

    return timing == NULL ? 0 : timing->wave;
}

void batch_run_keys(batch_run *run, const key_set *keys, const char *kernel)
{
    run->keys = keys;
    run->memory.kernel = warprsa_kernel_named(kernel); /* of AUTO: NULL */
    run->limbs = run->memory.kernel != NULL ? run->memory.kernel->int32_keys
                                            : prefers_int32_keys(run);
    run->memory.int32_keys = run->limbs;
    for (size_t i = 0; i < keys->count; i++) {
        const warprsa_private_key *key = &keys->keys[i].key;
        bench_prepared *to = &run->host_prepared[i];
        warprsa_status status = run->limbs
                                    ? warprsa_prepare_int32_key(&to->limbs, key)
                                    : warprsa_prepare_key(&to->samples, key);

        if (status != WARPRSA_OK)
            bench_fail("a key cannot be prepared");
        run->key_folds[i] = (uint8_t)warprsa_fold_accepts_key(key);
        run->key_sizes[i] = (warprsa_key_size){
            .bytes = (uint16_t)key->modulus_bytes,
            .windows = (uint16_t)(run->limbs ? to->limbs.windows
                                             : to->samples.windows),
            .at = (uint32_t)i,
        };
    }
    put_keys(run);
}

/* An exponent is blinded by adding a multiple of prime - 1. That number is set
 * to zero here, so the kernel computes with the exponent as it is. */
static void set_exponent(uint32_t exponent[WARPRSA_EXPONENT_WORDS],
                         uint32_t p_minus_1[WARPRSA_EXPONENT_WORDS],
                         exponents which, const uint32_t *fixed)
{
    const size_t bytes = WARPRSA_EXPONENT_WORDS * sizeof(*exponent);

    memset(p_minus_1, 0, bytes);
    if (which == EXPONENTS_RANDOM)
        bench_random(exponent, bytes);
    else if (which == EXPONENTS_FIXED)
        memcpy(exponent, fixed, bytes);
    else
        memset(exponent, which == EXPONENTS_ONES ? 0xff : 0, bytes);
}

void batch_run_exponents(batch_run *run, exponents which,
                         const uint32_t fixed[WARPRSA_EXPONENT_WORDS])
{
    for (size_t i = 0; i < run->keys->count; i++)
        for (int half = 0; half < 2; half++) {
            warprsa_prepared_half *s =
                &run->host_prepared[i].samples.half[half];
            warprsa_int32_half *l = &run->host_prepared[i].limbs.half[half];

            set_exponent(run->limbs ? l->exponent : s->exponent,
                         run->limbs ? l->p_minus_1 : s->p_minus_1, which,
                         fixed);
        }
    put_keys(run);
}

void batch_run_fill(batch_run *run, size_t count)
{
    const warprsa_private_key *first = &run->keys->keys[0].key;

    warprsa_batch_layout(&run->memory,
                         (warprsa_size_class)warprsa_key_class(first), count);
    bench_random(run->input, count * WARPRSA_MODULUS_BYTES_MAX);
    for (size_t i = 0; i < count; i++) {
        run->input[i * WARPRSA_MODULUS_BYTES_MAX] &= 0x7f; /* below n */
        run->tasks[i] = (warprsa_task){
            .key = (uint32_t)(i % run->keys->count),
            .input = run->input + i * WARPRSA_MODULUS_BYTES_MAX,
            .output = run->output + i * WARPRSA_MODULUS_BYTES_MAX,
        };
    }
}

void batch_run_stage(batch_run *run)
{
    bench_random(run->memory.host.random, run->memory.random_bytes);
    warprsa_batch_fill(&run->memory, run->tasks, run->key_sizes);
}

/* The batch before has ended: its scratch memory may be too short now. */
static void enqueue(batch_run *run, const char *kernel)
{
    warprsa_table_memory_give(&run->memory.table);
    bench_cuda(warprsa_batch_enqueue(&run->memory, run->prepared, run->stream),
               kernel);
}

size_t batch_run_launches(batch_run *run, const char *kernel,
                          launch seen[LAUNCHES_MAX])
{
    launches_begin();
    enqueue(run, kernel);
    return launches_end(run->stream, seen);
}

double batch_run_kernel(batch_run *run, const char *kernel, launch *longest,
                        size_t *kernels)
{
    launch seen[LAUNCHES_MAX];
    size_t count = batch_run_launches(run, kernel, seen), most = 0;
    double ms = 0;

    for (size_t i = 0; i < count; i++) {
        ms += seen[i].ms;
        if (seen[i].ms > seen[most].ms)
            most = i;
    }
    if (longest != NULL)
        *longest = seen[most];
    if (kernels != NULL)
        *kernels = count;
    return ms;
}

double batch_run_whole(batch_run *run, const char *kernel)
{
    double start = bench_now();

    batch_run_stage(run);
    enqueue(run, kernel);
    bench_cuda(cudaStreamSynchronize(run->stream), kernel);
    warprsa_batch_collect(&run->memory, run->tasks, run->key_sizes);
    warprsa_batch_wipe_host(&run->memory);
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
