/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Threads in a block of the kernel "int32", which is compiled for them, and
 * blocks that share an SM where there are many requests.
 */
#ifndef WARPRSA_GPU_KERNELS_INT32_INT32_BLOCK_H
#define WARPRSA_GPU_KERNELS_INT32_INT32_BLOCK_H

#define WARPRSA_INT32_BLOCK 128
#define WARPRSA_INT32_BLOCKS_MANY(bits)                                        \
    ((bits) == 2048 || (bits) == 3072 ? 2 : 3)

#endif
