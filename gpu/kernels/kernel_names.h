/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The names of the kernels, as configurations, calibration files and the
 * programs of bench/programs say them. This header needs no CUDA.
 */
#ifndef WARPRSA_GPU_KERNELS_KERNEL_NAMES_H
#define WARPRSA_GPU_KERNELS_KERNEL_NAMES_H

/* Some threads of a warp compute a request together, in all of its stages. */
#define WARPRSA_KERNEL_COOPERATIVE "cooperative"
/* One thread raises each half of a request to its exponent. */
#define WARPRSA_KERNEL_THREAD "thread"
/* A whole warp computes a request: for few of them. */
#define WARPRSA_KERNEL_LOW_LATENCY "low_latency"
/* No double precision; the only kernel that takes keys as warprsa_int32_key. */
#define WARPRSA_KERNEL_INT32 "int32"
/* Requests of one key share matrices on tensor cores. This kernel takes parts
 * of a batch, so it is not among those that whole batches are given to. */
#define WARPRSA_KERNEL_FOLD "fold"
/* The same for fewer requests of a key. */
#define WARPRSA_KERNEL_NARROW_FOLD "narrow_fold"
/* The arithmetic of the engine "ifma" in plain C; the host engine alone has
 * it. */
#define WARPRSA_KERNEL_IFMA "ifma"

#endif
