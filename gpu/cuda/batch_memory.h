/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The memory of one stream: pinned staging on the host, its mirror on the
 * device, and the kernel's scratch. A batch is packed to its real size, so
 * that one copy brings it in, one brings it back and one call wipes it.
 */
#ifndef WARPRSA_BATCH_MEMORY_H
#define WARPRSA_BATCH_MEMORY_H

#include "gpu/kernels/fold/launch.h"
#include "gpu/select/selection.h"

/* What the host keeps of a key on the device: public. */
typedef struct warprsa_key_size {
    uint16_t bytes; /* of the modulus */
    uint16_t windows;
} warprsa_key_size;

/* The parts of a batch, in this order, in one block of memory. */
typedef struct warprsa_batch_parts {
    uint32_t *key;
    warprsa_fold_item *items;
    uint8_t *input;
    uint64_t *random;
    uint8_t *output; /* from here on: only back from the device */
    uint32_t *status;
    double *inverse; /* from here on: only on the device */
    uint32_t *exponent;
    uint64_t *result;
} warprsa_batch_parts;

typedef struct warprsa_batch_memory {
    void *host_block, *device_block; /* both block_bytes */
    double *table;                   /* device */
    const char *kernel;              /* as warprsa_device_config has it */
    const warprsa_kernel_timings
        *timings;             /* to choose by otherwise; NULL: none */
    bool direct_table_reads;  /* as warprsa_device_config has it */
    unsigned fold_sms;        /* 0: this device can't */
    const uint8_t *key_folds; /* by key: warprsa_fold_accepts_key() */
    size_t block_bytes, table_bytes;
    /* Of the batch that is laid out now. */
    warprsa_size_class size;
    size_t count, bytes_stride, random_bytes;
    size_t beside; /* requests of its class under way in other batches; whoever
                    * lays it out may set it */
    /* Set by warprsa_batch_fill(). */
    uint32_t windows;
    warprsa_fold_plan plan;
    size_t in_bytes, back_bytes, all_bytes;
    warprsa_batch_parts host, device;
} warprsa_batch_memory;

/* For batches of up to `batch_max` of any class, with keys 0..keys_max - 1 of
 * which key_folds, kept, says whether they may be folded; zeroed memory
 * expected. On failure warprsa_batch_memory_free() frees what there is. */
cudaError_t warprsa_batch_memory_new(warprsa_batch_memory *memory,
                                     size_t batch_max, const char *kernel,
                                     const uint8_t *key_folds, size_t keys_max);

/* Wipes and frees both sides. */
void warprsa_batch_memory_free(warprsa_batch_memory *memory);

/* Lays out a batch. */
void warprsa_batch_layout(warprsa_batch_memory *memory, warprsa_size_class size,
                          size_t count);

/* Copies keys' places and inputs into the staging memory, those that are folded
 * first: by the timings, or all that may be if that kernel is asked for. */
void warprsa_batch_fill(warprsa_batch_memory *memory, const warprsa_task *tasks,
                        const warprsa_key_size *key_sizes);

/* Queues copy in, kernel, copy back and wiping of the device's side. */
cudaError_t warprsa_batch_enqueue(const warprsa_batch_memory *memory,
                                  const warprsa_prepared_key *keys,
                                  cudaStream_t stream);

/* Hands out statuses, and outputs of those that passed their check. */
void warprsa_batch_collect(const warprsa_batch_memory *memory,
                           warprsa_task *tasks,
                           const warprsa_key_size *key_sizes);

void warprsa_batch_wipe_host(const warprsa_batch_memory *memory);

#endif
