/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernels as the engine (C) launches them. All compute whole private
 * operations and differ in how they spread the two powers, which take most of
 * the time, over threads; each is the fastest somewhere.
 */
#ifndef WARPRSA_GPU_KERNELS_KERNELS_H
#define WARPRSA_GPU_KERNELS_KERNELS_H

#include <cuda_runtime_api.h>

#include "gpu/arith/prepared_key.h"
#include "gpu/select/selection.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Threads of a block. */
#define WARPRSA_COOPERATIVE_BLOCK 128
#define WARPRSA_THREAD_BLOCK_1024 384
#define WARPRSA_THREAD_BLOCK_2048 384
#define WARPRSA_THREAD_BLOCK_3072 256
#define WARPRSA_THREAD_BLOCK_4096 256
#define WARPRSA_INT32_BLOCK       128
#define WARPRSA_LOW_LATENCY_BLOCK 128 /* at most */
/* Blocks of a multiprocessor: 128 registers a thread. */
#define WARPRSA_COOPERATIVE_BLOCKS_PER_SM 4

/* A batch in device memory; request i's data start at i times the stride. */
typedef struct warprsa_batch {
    const warprsa_prepared_key *keys; /* or, in each place, a limb key */
    const uint32_t *key;              /* [count] places in keys */
    const uint8_t *input;             /* bytes_stride */
    const uint64_t *random;           /* RANDOM_WORDS */
    uint8_t *output;                  /* bytes_stride */
    uint32_t *status;                 /* [count] */
    double *inverse;                  /* 2 HALF_SAMPLES */
    uint32_t *exponent;               /* 2 BLINDED_WORDS */
    uint64_t *result;                 /* FULL_SAMPLES */
    double *table;                    /* the kernel's table_bytes() */
    uint32_t bytes_stride;
    uint32_t count;
    uint32_t windows;        /* the most that any of its keys needs */
    bool direct_table_reads; /* allowed; most kernels scan all the same */
} warprsa_batch;

typedef struct warprsa_kernel {
    const char *name;
    /* By size class; NULL where the kernel has no kernel for it. Queues the
     * kernel on the stream; the launch's own error is returned. */
    cudaError_t (*launch[WARPRSA_CLASSES])(const warprsa_batch *, cudaStream_t);
    /* Bytes of table memory for a batch of `count` of this class. */
    size_t (*table_bytes)(warprsa_size_class size, size_t count);
    /* Requests that are under way at once on one multiprocessor, as the
     * kernel's launch bounds have it. NULL: the kernel is chosen by device,
     * never by batch. */
    uint32_t (*at_once)(warprsa_size_class size);
} warprsa_kernel;

enum {
    WARPRSA_KERNELS = 4
};
/* The first has a kernel for every class, for any device. */
extern const warprsa_kernel warprsa_kernels[WARPRSA_KERNELS];

/* The one kernel that wants keys as warprsa_int32_key; its kernels are there
 * for all classes. */
#define WARPRSA_KERNEL_INT32 "int32"

/* The kernel of this name, or NULL if it has no kernel for the class. */
const warprsa_kernel *warprsa_kernel_named(const char *name,
                                           warprsa_size_class size);

/* What may be chosen by batch, with its waves on a device of so many
 * multiprocessors and no times: kernel after kernel, as warprsa_calibrate()
 * wants it. */
void warprsa_kernel_candidates(warprsa_paces *candidates,
                               unsigned multiprocessors);

/* For test builds (WARPRSA_FAULTS): keeps the stream busy until *stop, in
 * device-visible host memory, is set. */
cudaError_t warprsa_launch_spin(const volatile uint32_t *stop,
                                cudaStream_t stream);

/* For test builds: a kernel that makes the device's context unusable. */
cudaError_t warprsa_launch_trap(cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
