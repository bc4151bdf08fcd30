/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which kernels suit a GPU that nobody has measured, by what its SMs can do.
 * Plain C: no device is asked, and no kernel need be built.
 */
#ifndef WARPRSA_GPU_SELECT_ESTIMATE_H
#define WARPRSA_GPU_SELECT_ESTIMATE_H

#include "gpu/kernels/kernels.h"

/* What an SM does in a clock. */
typedef struct warprsa_throughput {
    double doubles;    /* multiply-adds in double precision */
    double bytes;      /* multiply-adds of bytes by mma.sync */
    double multiplies; /* multiply-adds of 32-bit integers */
} warprsa_throughput;

/* Kernels to choose among. */
typedef struct warprsa_kernel_list {
    const warprsa_kernel *const *kernel;
    int count;
} warprsa_kernel_list;

/* Those of gpu/kernels/kernel_list.h. */
warprsa_kernel_list warprsa_all_kernels(void);

/* The throughput of a GPU. What is not known of its compute capability is
 * guessed; double precision is as the GPU says. A pure function. */
warprsa_throughput warprsa_throughput_of(const warprsa_gpu *gpu);

/* How many times the clocks of a Hopper an SM of this GPU is estimated to need
 * for an operation by the kernel. A pure function. */
double warprsa_slowdown(const warprsa_kernel *kernel, const warprsa_gpu *gpu);

/* The operations of a class that the kernel is estimated to compute in a
 * second, with as many as it wants. 0: it does not run there, or nothing is
 * known of the class. What memory and caches can do is left out. A pure
 * function. */
double warprsa_estimate(const warprsa_kernel *kernel, const warprsa_gpu *gpu,
                        warprsa_size_class size);

/* Whether a GPU had better have its keys as warprsa_int32_key: the kernels of
 * the list that take these are estimated to be much faster there. All kernels
 * that a GPU uses take keys of one form. A pure function. */
bool warprsa_prefers_int32_keys(warprsa_kernel_list kernels,
                                const warprsa_gpu *gpu);

/* Whether a kernel may be chosen on this GPU: it takes keys of this form, it
 * runs, and no unit that it needs is too rare. A pure function. */
bool warprsa_kernel_suits(const warprsa_kernel *kernel, const warprsa_gpu *gpu,
                          bool int32_keys);

/* The one kernel of the list that suits a GPU; NULL: there are several. A pure
 * function. */
const warprsa_kernel *warprsa_only_kernel(warprsa_kernel_list kernels,
                                          const warprsa_gpu *gpu,
                                          bool int32_keys);

#endif
