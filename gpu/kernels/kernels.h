/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernels as the engine (C) launches them. All compute whole private
 * operations and differ in how they spread the two exponentiations, which take
 * most of the time, over threads. Each is the fastest somewhere.
 */
#ifndef WARPRSA_GPU_KERNELS_KERNELS_H
#define WARPRSA_GPU_KERNELS_KERNELS_H

#include <cuda_runtime_api.h>

#include "gpu/kernels/batch.h"
#include "gpu/kernels/kernel_names.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct warprsa_kernel {
    const char *name; /* one of kernel_names.h */
    /* By size class; NULL where the kernel is not built for it. Queues the
     * kernel on the stream and returns the error of the launch itself. */
    cudaError_t (*launch[WARPRSA_CLASSES])(const warprsa_batch *, cudaStream_t);
    /* Bytes of table memory for a batch of `count` of this class. */
    size_t (*table_bytes)(warprsa_size_class size, size_t count);
    /* Requests that one SM computes at the same time, as the kernel's launch
     * bounds have it. NULL: the kernel is chosen by device, never by batch. */
    uint32_t (*at_once)(warprsa_size_class size);
} warprsa_kernel;

enum {
    WARPRSA_KERNELS = 4
};
/* The kernels that take whole batches. The first is built for every class and
 * runs on any device. */
extern const warprsa_kernel warprsa_kernels[WARPRSA_KERNELS];

/* The kernel of this name; NULL if there is none or it is not built for the
 * class. "fold" is not in the table (gpu/kernels/fold_common/fold_kernel.h). */
const warprsa_kernel *warprsa_kernel_named(const char *name,
                                           warprsa_size_class size);

#ifdef __cplusplus
}
#endif
#endif
