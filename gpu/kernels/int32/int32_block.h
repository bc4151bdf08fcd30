/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Threads in a block of the kernel "int32", which is compiled for them.
 */
#ifndef WARPRSA_GPU_KERNELS_INT32_INT32_BLOCK_H
#define WARPRSA_GPU_KERNELS_INT32_INT32_BLOCK_H

#define WARPRSA_INT32_BLOCK 128

#endif
