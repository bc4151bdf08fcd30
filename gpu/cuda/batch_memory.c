/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See batch_memory.h.
 */
#include "gpu/cuda/batch_memory.h"

#include <string.h>

#include "gpu/cuda/key_form.h"
#include "gpu/fault.h"

enum {
    ALIGNMENT = 256, /* of a part, in bytes: whole cache lines */
    /* A stream has scratch memory of its own for one part in so many of the
     * longest batch: what there are many of at once are short batches. */
    TABLE_SHARE = 32,
};

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Bytes of a modulus of this class, in whole 64-bit words. It has 2 * limbs
 * samples of 52 bits, which are 13 * limbs bytes. But a modulus of more than
 * 4096 bits is of a large class, and none has more than 8192. */
static size_t stride_of(warprsa_size_class size)
{
    const size_t bytes = (size_t)warprsa_shape_of(size).limbs * 13;
    const size_t most = size < WARPRSA_CLASS_LARGE
                            ? warprsa_class_bits(WARPRSA_CLASS_4096) / 8
                            : WARPRSA_MODULUS_BYTES_MAX;

    return bytes < most ? (bytes + 7) / 8 * 8 : most;
}

/* The next part of a block, of so many bytes; NULL: only the sum is of use. */
static void *next_part(uint8_t *block, size_t *end, size_t bytes)
{
    uint8_t *part = block == NULL ? NULL : block + *end;

    *end += aligned(bytes);
    return part;
}

/* Lays out the parts in a block and sums up their sizes. */
static void lay_out(warprsa_batch_memory *memory, warprsa_batch_parts *parts,
                    uint8_t *block)
{
    const warprsa_key_form *form = warprsa_form_of(memory->size);
    const size_t count = memory->count;
    size_t end = 0, back;

    parts->key = next_part(block, &end, count * sizeof(uint32_t));
    parts->items = next_part(block, &end, count * sizeof(warprsa_fold_item));
    parts->input = next_part(block, &end, count * memory->bytes_stride);
    parts->random = next_part(block, &end, memory->random_bytes);
    back = end;
    parts->status = next_part(block, &end, count * sizeof(uint32_t));
    memory->in_bytes = end;
    parts->output = next_part(block, &end, count * memory->bytes_stride);
    memory->host_bytes = end;
    memory->back_bytes = end - back;
    parts->unblinding = next_part(block, &end, count * form->unblinding_bytes);
    parts->exponent = next_part(block, &end, count * form->exponent_bytes);
    parts->result = next_part(block, &end, count * form->result_bytes);
    memory->all_bytes = end;
}

void warprsa_batch_layout(warprsa_batch_memory *memory, warprsa_size_class size,
                          size_t count)
{
    memory->size = size;
    memory->count = count;
    memory->concurrent = 0;
    memory->bytes_stride = stride_of(size);
    memory->random_bytes = count * WARPRSA_RANDOM_WORDS * sizeof(uint64_t);
    lay_out(memory, &memory->host, memory->host_block);
    lay_out(memory, &memory->device, memory->device_block);
}

/* The most that a kernel which folds uses for up to so many items. */
static size_t fold_bytes(const warprsa_fold_kernel *fold, size_t items,
                         uint32_t sms)
{
    size_t most = 0;

    for (size_t i = 1; i <= items; i++) {
        const size_t bytes = fold->table_bytes(i, i, sms);

        if (bytes > most)
            most = bytes;
    }
    return most;
}

/* Bytes of scratch memory that a kernel needs for a batch of this class. If
 * `all`, each request may be an item of its own; otherwise items are full. */
static size_t table_bytes_of(const warprsa_kernel *kernel,
                             const warprsa_gpu *gpu, warprsa_size_class size,
                             size_t count, bool all)
{
    const warprsa_fold_kernel *fold = kernel->fold[size];

    if (!kernel->shares_key)
        return kernel->table_bytes(size, count);
    return warprsa_kernel_takes(kernel, gpu, size)
               ? fold_bytes(fold, all ? count : count / fold->item_max + 1,
                            gpu->sms)
               : 0;
}

/* The most that any kernel needs. */
static size_t table_bytes(const warprsa_gpu *gpu, warprsa_size_class size,
                          size_t count, bool all)
{
    size_t most = 0;

    for (int i = 0; i < WARPRSA_KERNELS; i++) {
        const size_t bytes =
            table_bytes_of(warprsa_kernels[i], gpu, size, count, all);

        if (bytes > most)
            most = bytes;
    }
    return most;
}

/* The most scratch memory that a batch of `count` requests of any class needs.
 * Batches of the large classes have the scratch memory of the others, at least
 * for one request: in pieces a long batch takes hardly longer. */
static size_t longest_table(const warprsa_gpu *gpu, size_t count, bool all)
{
    size_t most = 0;

    for (int i = 0; i < WARPRSA_CLASSES; i++) {
        const warprsa_size_class size = (warprsa_size_class)i;
        const size_t bytes = size < WARPRSA_CLASS_LARGE
                                 ? table_bytes(gpu, size, count, all)
                                 : warprsa_kernels[0]->table_bytes(size, 1);

        if (bytes > most)
            most = bytes;
    }
    return most;
}

size_t warprsa_batch_longest_table(const warprsa_gpu *gpu, size_t batch_max)
{
    return longest_table(gpu, batch_max, true);
}

void warprsa_batch_measure(warprsa_staging *staging, size_t batch_max)
{
    for (int i = 0; i < WARPRSA_CLASSES; i++) {
        const warprsa_size_class size = (warprsa_size_class)i;
        warprsa_batch_memory memory = {0};

        warprsa_batch_layout(&memory, size,
                             size < WARPRSA_CLASS_LARGE
                                 ? batch_max
                                 : warprsa_half_batch_max((unsigned)batch_max));
        if (memory.host_bytes > staging->host_bytes)
            staging->host_bytes = memory.host_bytes;
        if (memory.all_bytes > staging->device_bytes)
            staging->device_bytes = memory.all_bytes;
    }
}

cudaError_t warprsa_batch_memory_new(warprsa_batch_memory *memory,
                                     const warprsa_staging *staging,
                                     unsigned stream, size_t batch_max,
                                     const uint8_t *key_folds, size_t keys_max)
{
    const size_t few = (batch_max + TABLE_SHARE - 1) / TABLE_SHARE;

    memory->key_folds = key_folds;
    memory->host_block = staging->host + stream * staging->host_bytes;
    memory->device_block = staging->device + stream * staging->device_bytes;
    if (!warprsa_fold_plan_new(&memory->plan, batch_max, keys_max))
        return cudaErrorMemoryAllocation;
    return warprsa_table_memory_new(&memory->table,
                                    longest_table(&memory->gpu, few, false));
}

void warprsa_batch_memory_free(warprsa_batch_memory *memory)
{
    warprsa_fold_plan_free(&memory->plan);
    warprsa_table_memory_free(&memory->table);
}

/* How many requests a kernel has under way: `requests` of this batch, and their
 * share of the requests of other batches, since batches share the device.
 * Requests of other batches are taken to divide among the kernels as the
 * requests of this batch do. */
static size_t with_concurrent(const warprsa_batch_memory *memory,
                              size_t requests)
{
    return requests + requests * memory->concurrent / memory->count;
}

/* What a prediction needs to know. */
typedef struct folding {
    const warprsa_batch_memory *memory;
    const warprsa_kernel *kernel;
    const warprsa_fold_kernel *fold; /* the same, for the batch's class */
} folding;

/* Predicts the milliseconds of a batch, if so many items are folded and `rest`
 * requests are not. The two launches run one after the other. */
static double predict(const void *arg, double items, size_t rest)
{
    const folding *f = arg;
    const warprsa_batch_memory *memory = f->memory;
    const warprsa_size_class size = memory->size;

    return warprsa_predict_ms(
               warprsa_kernel_timing_of(memory->timings, size, f->kernel),
               with_concurrent(memory,
                               (size_t)(items * f->fold->item_max + 0.5))) +
           warprsa_fastest_ms(memory->timings, size,
                              with_concurrent(memory, rest));
}

/* The prediction that makes the plan fold as much as it can. */
static double predict_rest(const void *arg, double items, size_t rest)
{
    (void)arg;
    (void)items;
    return (double)rest;
}

/* The rule for what a kernel folds. If it is for all batches, that is all that
 * may be folded; if another is, it is nothing. Otherwise it is what the timings
 * predict to pay off. */
static warprsa_fold_rule rule_of(const folding *f)
{
    const warprsa_batch_memory *memory = f->memory;
    const warprsa_fold_kernel *fold = f->fold;
    const bool named = memory->kernel != NULL;
    warprsa_fold_rule rule = {.arg = f};

    if (fold == NULL || (named && memory->kernel != f->kernel) ||
        !warprsa_kernel_takes(f->kernel, &memory->gpu, memory->size))
        return rule;
    if (!named && (memory->timings == NULL ||
                   warprsa_kernel_timing_of(memory->timings, memory->size,
                                            f->kernel) == NULL))
        return rule;
    rule.in_integers = fold->in_integers;
    rule.full_first = fold->full_first;
    rule.item_max = fold->item_max;
    if (memory->gpu.capability >= fold->short_capability)
        rule.short_max = fold->short_max;
    rule.short_share = fold->short_share;
    rule.item_min = named ? 1 : fold->item_min;
    rule.items_max = named ? 0 : fold->items_per_sm_max * memory->gpu.sms;
    rule.predict = named ? predict_rest : predict;
    return rule;
}

void warprsa_batch_fill(warprsa_batch_memory *memory, const warprsa_task *tasks,
                        const warprsa_key_size *key_sizes)
{
    folding folds[WARPRSA_KERNELS];
    warprsa_fold_rule rules[WARPRSA_KERNELS];

    for (int i = 0; i < WARPRSA_KERNELS; i++) {
        folds[i] = (folding){memory, warprsa_kernels[i],
                             warprsa_kernels[i]->fold[memory->size]};
        rules[i] = rule_of(&folds[i]);
    }
    warprsa_fold_plan_make(&memory->plan, memory->host.items, tasks,
                           memory->count, memory->key_folds, rules,
                           WARPRSA_KERNELS);
    memory->windows = 0;
    for (size_t i = 0; i < memory->count; i++) {
        const warprsa_task *task = &tasks[memory->plan.order[i]];
        const warprsa_key_size *key = &key_sizes[task->key];

        memory->host.key[i] = key->at;
        memory->host.status[i] = WARPRSA_CHECK_FAILED;
        memcpy(memory->host.input + i * memory->bytes_stride, task->input,
               key->bytes);
        if (key->windows > memory->windows)
            memory->windows = key->windows;
    }
}

/* Whether the batch's keys are in limbs. */
static bool has_int32_keys(const warprsa_batch_memory *memory)
{
    return memory->size < WARPRSA_CLASS_LARGE && memory->int32_keys;
}

/* The kernel for the `count` requests that are not folded. */
static const warprsa_kernel *kernel_of(const warprsa_batch_memory *memory,
                                       size_t count)
{
    const warprsa_kernel *kernel = memory->kernel;

    if ((kernel == NULL || kernel->launch[memory->size] == NULL) &&
        memory->timings != NULL)
        kernel = warprsa_fastest_kernel(memory->timings, memory->size,
                                        with_concurrent(memory, count));
    return kernel != NULL && kernel->launch[memory->size] != NULL
               ? kernel
               : warprsa_kernel_by_default(has_int32_keys(memory));
}

/* What is left of a batch of this form without its first `offset` requests. */
static warprsa_batch batch_from(warprsa_batch batch,
                                const warprsa_key_form *form, uint32_t offset)
{
    batch.key += offset;
    batch.input += (size_t)offset * batch.bytes_stride;
    batch.random += (size_t)offset * WARPRSA_RANDOM_WORDS;
    batch.output += (size_t)offset * batch.bytes_stride;
    batch.status += offset;
    batch.unblinding +=
        offset * form->unblinding_bytes / sizeof(*batch.unblinding);
    batch.exponent += offset * form->exponent_bytes / sizeof(*batch.exponent);
    batch.result += offset * form->result_bytes / sizeof(*batch.result);
    batch.count -= offset;
    return batch;
}

/* How many requests of a batch a kernel can take at once with so many bytes of
 * scratch memory: all, or a half, or a quarter... */
static size_t piece_of(const warprsa_kernel *kernel, warprsa_size_class size,
                       size_t count, size_t bytes)
{
    while (count > 1 && kernel->table_bytes(size, count) > bytes)
        count = (count + 1) / 2;
    return count;
}

/* Launches a kernel for a whole batch, in pieces if it must be. They run one
 * after the other. */
static cudaError_t launch_all(const warprsa_batch_memory *memory,
                              const warprsa_kernel *kernel, warprsa_batch batch,
                              cudaStream_t stream)
{
    const size_t piece =
        piece_of(kernel, memory->size, batch.count, memory->table.bytes);
    cudaError_t error = cudaSuccess;

    while (error == cudaSuccess && batch.count != 0) {
        warprsa_batch first = batch;

        if (first.count > piece)
            first.count = (uint32_t)piece;
        error = (cudaError_t)kernel->launch[memory->size](&first, stream);
        batch = batch_from(batch, warprsa_form_of(memory->size), first.count);
    }
    return error;
}

/* The kernel that computes a part of the plan; NULL if that has no items. */
static const warprsa_fold_kernel *fold_of(const warprsa_batch_memory *memory,
                                          int part)
{
    const warprsa_fold_part_of_plan *of = &memory->plan.part[part];

    return of->items == 0 ? NULL
                          : warprsa_kernels[of->rule]->fold[memory->size];
}

/* The items of a part of the plan, with those of other batches under way. */
static uint32_t all_items_of(const warprsa_batch_memory *memory, int part)
{
    return (uint32_t)with_concurrent(memory, memory->plan.part[part].items);
}

/* Launches what folds, part by part. */
static cudaError_t launch_folds(const warprsa_batch_memory *memory,
                                const warprsa_batch *batch, cudaStream_t stream)
{
    warprsa_fold_batch part = {
        .batch = *batch, .items = memory->device.items, .sms = memory->gpu.sms};
    cudaError_t error = cudaSuccess;

    for (int i = 0; i < WARPRSA_FOLD_PARTS; i++) {
        const warprsa_fold_kernel *fold = fold_of(memory, i);

        part.item_count = memory->plan.part[i].items;
        part.all_items = all_items_of(memory, i);
        if (error == cudaSuccess && fold != NULL)
            error =
                (cudaError_t)fold->launch(&part, memory->table.bytes, stream);
        part.items += part.item_count;
    }
    return error;
}

/* Launches the folds and then the kernel for the rest. They run one after the
 * other, so they share the table memory. */
static cudaError_t launch(warprsa_batch_memory *memory, warprsa_batch batch,
                          cudaStream_t stream)
{
    const uint32_t others = batch.count - memory->plan.folded;
    const warprsa_kernel *kernel =
        others == 0 ? NULL : kernel_of(memory, others);
    size_t need =
        kernel == NULL ? 0 : kernel->table_bytes(memory->size, others);
    cudaError_t error;

    for (int i = 0; i < WARPRSA_FOLD_PARTS; i++) {
        const warprsa_fold_kernel *fold = fold_of(memory, i);
        const size_t bytes =
            fold == NULL
                ? 0
                : fold->table_bytes(memory->plan.part[i].items,
                                    all_items_of(memory, i), memory->gpu.sms);

        if (bytes > need)
            need = bytes;
    }
    warprsa_table_memory_take(&memory->table, need);
    batch.table = memory->table.at;
    error = launch_folds(memory, &batch, stream);
    if (error == cudaSuccess && kernel != NULL) {
        batch = batch_from(batch, warprsa_form_of(memory->size),
                           memory->plan.folded);
        batch.under_way = (uint32_t)with_concurrent(memory, others);
        error = launch_all(memory, kernel, batch, stream);
    }
    /* What was launched before has left secrets for what was not. Another
     * stream may have this memory next. */
    if (error != cudaSuccess)
        (void)cudaMemsetAsync(memory->table.at, 0, memory->table.bytes, stream);
    return error;
}

cudaError_t warprsa_batch_enqueue(warprsa_batch_memory *memory,
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
        .unblinding = device->unblinding,
        .exponent = device->exponent,
        .result = device->result,
        .bytes_stride = (uint32_t)memory->bytes_stride,
        .count = (uint32_t)memory->count,
        .windows = memory->windows,
        .int32_keys = has_int32_keys(memory),
        .direct_table_reads = memory->direct_table_reads,
        .under_way = (uint32_t)with_concurrent(memory, memory->count),
    };
    cudaError_t error =
        cudaMemcpyAsync(memory->device_block, memory->host_block,
                        memory->in_bytes, cudaMemcpyHostToDevice, stream);
    cudaError_t wiped;

    if (error == cudaSuccess)
        error = launch(memory, batch, stream);
    if (error == cudaSuccess)
        error =
            cudaMemcpyAsync(memory->host.status, device->status,
                            memory->back_bytes, cudaMemcpyDeviceToHost, stream);
    /* What could not be launched has left its inputs there, and what was may
     * leave more. */
    wiped = cudaMemsetAsync(memory->device_block, 0, memory->all_bytes, stream);
    return error == cudaSuccess ? wiped : error;
}

void warprsa_batch_collect(const warprsa_batch_memory *memory,
                           warprsa_task *tasks,
                           const warprsa_key_size *key_sizes)
{
    for (size_t i = 0; i < memory->count; i++) {
        warprsa_task *task = &tasks[memory->plan.order[i]];
        size_t bytes = key_sizes[task->key].bytes;
        bool passed = (memory->host.status[i] == WARPRSA_OK &&
                       !warprsa_fault_active(WARPRSA_FAULT_WRONG)) ||
                      warprsa_fault_active(WARPRSA_FAULT_UNCHECKED);

        task->status = passed ? WARPRSA_OK : WARPRSA_CHECK_FAILED;
        if (passed)
            memcpy(task->output, memory->host.output + i * memory->bytes_stride,
                   bytes);
        else
            memset(task->output, 0, bytes);
    }
}

void warprsa_batch_wipe_host(const warprsa_batch_memory *memory)
{
    explicit_bzero(memory->host_block, memory->host_bytes);
}
