/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The number of threads in a block of the kernel "thread".
 */
#ifndef WARPRSA_GPU_KERNELS_THREAD_THREAD_BLOCK_H
#define WARPRSA_GPU_KERNELS_THREAD_THREAD_BLOCK_H

#include <stdint.h>

/* The most, by size class. The kernel is compiled for these numbers. */
#define WARPRSA_THREAD_BLOCK_1024 384
#define WARPRSA_THREAD_BLOCK_2048 384
#define WARPRSA_THREAD_BLOCK_3072 256
#define WARPRSA_THREAD_BLOCK_4096 256
#define WARPRSA_THREAD_BLOCK_STEP 128 /* they are multiples of this */

/* Threads of a block: as few as let the blocks of all
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

#endif
