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
     * made for double precision, 32 or 64 on the others; 0: not known. */
    uint32_t singles_per_double;
    uint32_t clock_khz; /* at most */
    uint32_t l2_bytes;
} warprsa_gpu;

/* What a kernel needs of a GPU. By this it is estimated how it does on one that
 * nobody has measured (gpu/select/estimate.h). */
typedef struct warprsa_kernel_needs {
    /* 90: it has instructions of 9.0 that no other GPU has, nor a newer one. 0:
     * it runs on 8.0 and newer, unless `fp64` says less. */
    uint32_t capability;
    /* It is for GPUs that are made for double precision: 8.0, 9.0 and 10.0. A
     * build has code of it for no other. */
    bool fp64;
    /* For what part of its time, with as many requests as it wants, a unit of a
     * Hopper's SMs is busy: that for double precision, for mma.sync of bytes,
     * and for 32-bit multiplications. Memory, other instructions and waiting
     * make up the rest. */
    double doubles, bytes, multiplies;
    /* Operations in a second on an H200, of a kernel without `known`. */
    uint32_t per_second[WARPRSA_CLASS_LARGE];
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

/* Queues a kernel on the stream. Returns the cudaError_t of the launch. Of a
 * batch without requests it reads `direct_table_reads` alone, queues nothing,
 * and has the driver load the code for a batch of one request. */
typedef int warprsa_launch(const warprsa_batch *batch,
                           struct CUstream_st *stream);

typedef struct warprsa_kernel {
    const char *name; /* in configurations, calibration files and benchmarks */
    warprsa_kernel_needs needs;
    /* Takes keys as warprsa_int32_key: all kernels do that a GPU uses, or none
     * (warprsa_prefers_int32_keys()). */
    bool int32_keys;
    /* Takes keys of the other form, too. */
    bool either_keys;
    /* A kernel beside which this one is of no use: where that one may be
     * chosen, this one may not. NULL: none. */
    const struct warprsa_kernel *second_to;
    /* Takes parts of a batch whose requests share a key
     * (gpu/kernels/fold_common/plan.h), and no whole batch. */
    bool shares_key;
    warprsa_kernel_growth growth;
    /* Requests that an SM computes at the same time, by which the kernel is
     * timed. */
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

/* What kernel.cu defines for kernel.c. OF_SM_90A is for a kernel that is for
 * 9.0 alone and not built without it. OF_FP64 is for one that is not built
 * without any of the GPUs made for double precision. */
#ifdef WARPRSA_HAVE_CUDA
#define WARPRSA_OF_CUDA(what) what
#else
#define WARPRSA_OF_CUDA(what) NULL
#endif
#ifdef WARPRSA_HAVE_SM_90A
#define WARPRSA_OF_SM_90A(what) what
#else
#define WARPRSA_OF_SM_90A(what) NULL
#endif
#ifdef WARPRSA_HAVE_FP64
#define WARPRSA_OF_FP64(what) what
#else
#define WARPRSA_OF_FP64(what) NULL
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

/* In the order of the list. The first takes whole batches of every class, the
 * large ones too, and runs on any GPU. */
extern const warprsa_kernel *const warprsa_kernels[WARPRSA_KERNELS];

/* The kernel of this name; NULL if there is none. */
const warprsa_kernel *warprsa_kernel_named(const char *name);

/* Whether a GPU of this compute capability runs machine code that was compiled
 * for one of these. Otherwise the driver compiles PTX for it. */
bool warprsa_runs_machine_code(uint32_t capability, const uint32_t *of,
                               size_t count);

/* Whether a kernel has only instructions that this GPU has. */
bool warprsa_kernel_runs(const warprsa_kernel *kernel, const warprsa_gpu *gpu);

/* Whether it runs there and is built for the class. */
bool warprsa_kernel_takes(const warprsa_kernel *kernel, const warprsa_gpu *gpu,
                          warprsa_size_class size);

/* The kernel for batches that no other is chosen for. It takes whole batches of
 * every class but the large ones, with keys of this form, and runs on any
 * GPU. */
const warprsa_kernel *warprsa_kernel_by_default(bool int32_keys);

#endif
