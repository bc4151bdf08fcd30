/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A batch as the kernels receive it, and the number of threads in their blocks.
 */
#ifndef WARPRSA_GPU_KERNELS_BATCH_H
#define WARPRSA_GPU_KERNELS_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/arith/prepared_key.h"

/* Threads in a block. The kernels are compiled for these numbers, and kernels.c
 * computes from them what a launch needs. */
#define WARPRSA_COOPERATIVE_BLOCK 128
#define WARPRSA_THREAD_BLOCK_1024 384 /* of "thread": at most */
#define WARPRSA_THREAD_BLOCK_2048 384
#define WARPRSA_THREAD_BLOCK_3072 256
#define WARPRSA_THREAD_BLOCK_4096 256
#define WARPRSA_THREAD_BLOCK_STEP 128 /* they are multiples of this */
#define WARPRSA_INT32_BLOCK       128
#define WARPRSA_LOW_LATENCY_BLOCK 128 /* at most */
/* Blocks that share an SM. This leaves 128 registers for each thread. */
#define WARPRSA_COOPERATIVE_BLOCKS_PER_SM 4

/* Threads of a block of the kernel "thread": as few as let the blocks of all
 * requests under way run at once, one an SM; at most `most`. Batches on other
 * streams share the SMs, so theirs count. A step is a warp for each of an SM's
 * four schedulers. */
static inline uint32_t warprsa_thread_block(uint32_t under_way, uint32_t sms,
                                            uint32_t most)
{
    const uint32_t step = WARPRSA_THREAD_BLOCK_STEP;
    /* Of an SM. */
    const uint32_t requests = under_way / sms + (under_way % sms != 0);

    return requests <= step / 2   ? step
           : requests >= most / 2 ? most
                                  : (2 * requests + step - 1) / step * step;
}

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
    bool direct_table_reads; /* allowed; most kernels scan anyway */
    /* As many requests as the device has for the kernel, those of batches on
     * other streams, too: an estimate, at least as many as these. */
    uint32_t under_way;
} warprsa_batch;

#endif
