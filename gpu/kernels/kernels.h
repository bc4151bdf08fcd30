/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernels: what there is to know of each before one is launched. All
 * compute whole private operations and differ in how they spread the two
 * exponentiations, which take most of the time, over threads. Each is the
 * fastest somewhere. gpu/kernels/NAME/kernel.c describes the kernel NAME. Plain
 * C: no CUDA is needed to choose among them. The host twin of a kernel
 * (host_arithmetic.h) is found by the kernel's name, since nothing that is
 * installed has it.
 */
#ifndef WARPRSA_GPU_KERNELS_KERNELS_H
#define WARPRSA_GPU_KERNELS_KERNELS_H

#include "gpu/kernels/batch.h"

struct CUstream_st; /* cudaStream_t is a pointer to it */
struct warprsa_fold_kernel;

/* What the choice of kernels depends on in a GPU. */
typedef struct warprsa_gpu {
    uint32_t sms;
    uint32_t capability; /* 10 * major + minor: 90 is Hopper */
    /* Operations in single precision for one in double: 2 on a chip that is
     * made for double precision, 32 or 64 on the others. */
    uint32_t singles_per_double;
} warprsa_gpu;

/* What a kernel needs of a GPU. */
typedef enum warprsa_kernel_needs {
    WARPRSA_NEEDS_DOUBLES, /* runs on any; is slow where these are rare */
    WARPRSA_NEEDS_INTEGERS,
    WARPRSA_NEEDS_SM_90A, /* instructions of 9.0 and of no other, nor newer */
} warprsa_kernel_needs;

/* How the time of a batch grows with its requests (gpu/select/selection.h). */
typedef enum warprsa_kernel_growth {
    WARPRSA_GROWS_BY_WAVES, /* waves run one after the other */
    WARPRSA_GROWS_BY_ITEMS, /* by waves, too; items are cut in less than one */
    WARPRSA_GROWS_EVENLY,   /* blocks share all powers: no wave waits */
} warprsa_kernel_growth;

/* Timings that were measured on a model of GPU, by size class, as in
 * warprsa_kernel_timing; a class without a wave has none. */
typedef struct warprsa_known_timings {
    const char *model; /* as CUDA names it; NULL after the last */
    struct {
        uint32_t wave, one_us, half_us, wave_us;
    } of[WARPRSA_CLASS_LARGE];
} warprsa_known_timings;

/* Queues a kernel on the stream. Returns the cudaError_t of the launch. */
typedef int warprsa_launch(const warprsa_batch *batch,
                           struct CUstream_st *stream);

typedef struct warprsa_kernel {
    const char *name; /* in configurations, calibration files and benchmarks */
    warprsa_kernel_needs needs;
    bool int32_keys; /* takes keys as warprsa_int32_key */
    /* Takes parts of a batch whose requests share a key
     * (gpu/kernels/fold_common/plan.h), and no whole batch. */
    bool shares_key;
    warprsa_kernel_growth growth;
    /* Requests that an SM computes at the same time, by which the kernel is
     * timed. NULL: it is chosen by GPU, never by batch. */
    uint32_t (*at_once)(warprsa_size_class size);
    const warprsa_known_timings *known; /* NULL: none */

    /* Launches of a kernel for whole batches, by size class. NULL where the
     * kernel is not built for the class, and everywhere in a build without
     * CUDA. */
    warprsa_launch *launch[WARPRSA_CLASSES];
    /* Bytes of table memory for a batch of `count` of this class. */
    size_t (*table_bytes)(warprsa_size_class size, size_t count);
    /* By size class, for a kernel that shares keys; else NULL. */
    const struct warprsa_fold_kernel *fold[WARPRSA_CLASSES];
} warprsa_kernel;

/* What kernel.cu defines for kernel.c. */
#ifdef WARPRSA_HAVE_CUDA
#define WARPRSA_OF_CUDA(what) what
#else
#define WARPRSA_OF_CUDA(what) NULL
#endif

enum {
#define WARPRSA_KERNEL(name) WARPRSA_INDEX_OF_##name,
#include "gpu/kernels/kernel_list.h"
#undef WARPRSA_KERNEL
    WARPRSA_KERNELS
};
#define WARPRSA_KERNEL(name) extern const warprsa_kernel warprsa_kernel_##name;
#include "gpu/kernels/kernel_list.h"
#undef WARPRSA_KERNEL

/* In the order of the list. The first takes whole batches of every class and
 * runs on any GPU. */
extern const warprsa_kernel *const warprsa_kernels[WARPRSA_KERNELS];

/* The kernel of this name; NULL if there is none. */
const warprsa_kernel *warprsa_kernel_named(const char *name);

/* Whether a kernel runs on this GPU and is built for the class. */
bool warprsa_kernel_takes(const warprsa_kernel *kernel, const warprsa_gpu *gpu,
                          warprsa_size_class size);

/* The one kernel that a GPU is to use for everything, whatever the batch; NULL:
 * any of those that are chosen by batch. */
const warprsa_kernel *warprsa_kernel_for_gpu(const warprsa_gpu *gpu);

#endif
