/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The shape of a launch of the kernel "cooperative", which is compiled for it.
 */
#ifndef WARPRSA_GPU_KERNELS_COOPERATIVE_COOPERATIVE_BLOCK_H
#define WARPRSA_GPU_KERNELS_COOPERATIVE_COOPERATIVE_BLOCK_H

#define WARPRSA_COOPERATIVE_BLOCK 128 /* threads */
/* Blocks that share an SM. This leaves 128 registers for each thread. */
#define WARPRSA_COOPERATIVE_BLOCKS_PER_SM 4

#endif
