/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kernel's source is compiled once for each size class, with
 * -DWARPRSA_KERNEL_BITS=1024, 2048, 3072 or 4096; for 6144 and 8192 with
 * -DWARPRSA_LARGE as well. The macro here makes the names that differ by it.
 */
#ifndef WARPRSA_GPU_KERNELS_INSTANCE_CUH
#define WARPRSA_GPU_KERNELS_INSTANCE_CUH

#ifndef WARPRSA_KERNEL_BITS
#error "WARPRSA_KERNEL_BITS is the size class's modulus in bits"
#endif

#define WARPRSA_JOIN_(a, b) a##b
#define WARPRSA_JOIN(a, b)  WARPRSA_JOIN_(a, b)

/* WARPRSA_OF_BITS(warprsa_thread_) is warprsa_thread_2048, and so on. */
#define WARPRSA_OF_BITS(prefix) WARPRSA_JOIN(prefix, WARPRSA_KERNEL_BITS)

#endif
