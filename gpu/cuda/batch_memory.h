/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The memory of one stream: its part of the staging memory on the host and on
 * the device (staging.h), and the kernels' scratch memory (table_memory.h). A
 * batch is packed to its real size. So one copy brings it to the device, one
 * copy brings the results back, and one call wipes the device's side.
 */
#ifndef WARPRSA_BATCH_MEMORY_H
#define WARPRSA_BATCH_MEMORY_H

#include "gpu/cuda/gpu_facts.h"
#include "gpu/cuda/staging.h"
#include "gpu/cuda/table_memory.h"
#include "gpu/kernels/fold_common/fold_kernel.h"
#include "gpu/select/selection.h"

/* What the host keeps about a key on the device. All of it is public. */
typedef struct warprsa_key_size {
    uint16_t bytes; /* of the modulus */
    uint16_t windows;
    bool is_large; /* of a large class */
    uint32_t at;   /* its place among the keys of its form */
} warprsa_key_size;

/* The parts of a batch. They lie in this order in one block of memory. */
typedef struct warprsa_batch_parts {
    uint32_t *key;
    warprsa_fold_item *items;
    uint8_t *input;
    uint64_t *random;
    uint32_t *status;   /* in and back: a failed check, until one is passed */
    uint8_t *output;    /* copied back, never in */
    double *unblinding; /* this and the next two: used on the device only */
    uint32_t *exponent;
    uint64_t *result;
} warprsa_batch_parts;

typedef struct warprsa_batch_memory {
    void *host_block;             /* what is copied; not owned */
    void *device_block;           /* not owned */
    warprsa_table_memory table;   /* the kernels' scratch */
    const warprsa_kernel *kernel; /* for all batches; NULL: by timings */
    /* The timings by which a kernel is chosen otherwise; NULL if the device has
     * none. Not owned. */
    const warprsa_kernel_timings *timings;
    bool direct_table_reads; /* as in warprsa_device_config */
    bool int32_keys;         /* the form of keys but large ones */
    warprsa_gpu gpu;
    const uint8_t *key_folds; /* by key: warprsa_fold_accepts_key() */
    /* Set by warprsa_batch_layout(), for the current batch. */
    warprsa_size_class size;
    size_t count, bytes_stride, random_bytes;
    /* Requests of this class that other batches on the device are computing.
     * warprsa_batch_layout() sets it to 0; its caller may set it afterwards. */
    size_t concurrent;
    /* Set by warprsa_batch_fill(). */
    uint32_t windows;
    warprsa_fold_plan plan;
    /* Set by warprsa_batch_layout(), too. */
    size_t in_bytes, back_bytes, host_bytes, all_bytes;
    warprsa_batch_parts host, device;
} warprsa_batch_memory;

/* Bytes of scratch memory that a batch of up to `batch_max` requests can need.
 * Any thread. */
size_t warprsa_batch_longest_table(const warprsa_gpu *gpu, size_t batch_max);

/* Sets the staging memory that a stream needs, in bytes, for batches of up to
 * `batch_max` requests, half as many of the large classes. *staging must be
 * zeroed. Any thread. */
void warprsa_batch_measure(warprsa_staging *staging, size_t batch_max);

/* Gives a stream its part of the staging memory, and allocates the rest for
 * batches of up to `batch_max` requests, on the current device; scratch memory
 * only for short ones: long ones take it from memory->table.shared, if the
 * caller has set that. The caller has set memory->gpu; all else of *memory must
 * be zeroed. Keys have the indices 0 to keys_max - 1, and key_folds says of
 * each whether it may be folded; the pointer is kept, so the array must outlive
 * the memory. After a failure the caller still calls
 * warprsa_batch_memory_free(), which frees what there is. */
cudaError_t warprsa_batch_memory_new(warprsa_batch_memory *memory,
                                     const warprsa_staging *staging,
                                     unsigned stream, size_t batch_max,
                                     const uint8_t *key_folds, size_t keys_max);

/* Frees it; the scratch memory is wiped before. The stream must be idle. */
void warprsa_batch_memory_free(warprsa_batch_memory *memory);

/* Lays out a batch of `count` requests of this class: sets the sizes and where
 * each part is. */
void warprsa_batch_layout(warprsa_batch_memory *memory, warprsa_size_class size,
                          size_t count);

/* Copies the key indices and inputs of a batch that has been laid out into the
 * staging memory, where each request has failed its check until a kernel says
 * otherwise. Requests to be folded come first. The timings decide which these
 * are; if `kernel` shares keys, they are all that may be folded. */
void warprsa_batch_fill(warprsa_batch_memory *memory, const warprsa_task *tasks,
                        const warprsa_key_size *key_sizes);

/* Enqueues the copy to the device, the kernels, the copy back, and the wiping
 * of the device's side. `keys` are those of the batch's form (key_form.h).
 * Returns at once; the stream runs them in this order. Takes scratch memory,
 * which the caller gives back by warprsa_table_memory_give() once the stream is
 * done. If there is less than the kernels want, they take the batch in pieces.
 * After a failure the stream wipes what it may have of the batch, the scratch
 * memory too. */
cudaError_t warprsa_batch_enqueue(warprsa_batch_memory *memory,
                                  const warprsa_prepared_key *keys,
                                  cudaStream_t stream);

/* Sets each task's status. A task that passed its check gets its output; the
 * output of any other is zeroed. Call it once the stream is done. */
void warprsa_batch_collect(const warprsa_batch_memory *memory,
                           warprsa_task *tasks,
                           const warprsa_key_size *key_sizes);

/* Wipes what the current batch has in the staging memory of the host. */
void warprsa_batch_wipe_host(const warprsa_batch_memory *memory);

#endif
