/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A batch as the kernels receive it.
 */
#ifndef WARPRSA_GPU_KERNELS_BATCH_H
#define WARPRSA_GPU_KERNELS_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/arith/prepared_key.h"

/* A batch in device memory, not owned. The comment of a part is its stride in
 * elements: request i's data start at i times the stride. */
typedef struct warprsa_batch {
    const warprsa_prepared_key *keys; /* or each element holds a limb key */
    const uint32_t *key;              /* [count] indices into keys */
    const uint8_t *input;             /* bytes_stride */
    const uint64_t *random;           /* RANDOM_WORDS */
    uint8_t *output;                  /* bytes_stride */
    uint32_t *status;                 /* [count] */
    double *unblinding;               /* 2 HALF_SAMPLES */
    uint32_t *exponent;               /* 2 BLINDED_WORDS */
    uint64_t *result;                 /* FULL_SAMPLES */
    double *table;                    /* the kernel's table_bytes() */
    uint32_t bytes_stride;
    uint32_t count;
    uint32_t windows;        /* the most that any of its keys needs */
    bool int32_keys;         /* the keys are limb keys */
    bool direct_table_reads; /* allowed; most kernels scan anyway */
    /* How many requests the device has for the kernel, with those of batches on
     * other streams: an estimate, at least `count`. */
    uint32_t under_way;
} warprsa_batch;

#endif
