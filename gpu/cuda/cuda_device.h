/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A GPU that the engine has opened, and what the parts of the engine do with
 * it: cuda_engine.c opens and closes devices, choice.c chooses their kernels,
 * kernel_tests.c tests these, cuda_keys.c loads keys, batches.c runs batches.
 * Errors of CUDA become a warprsa_status and a line of the trace.
 */
#ifndef WARPRSA_GPU_CUDA_CUDA_DEVICE_H
#define WARPRSA_GPU_CUDA_CUDA_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "batching/base/id_pool.h"
#include "batching/base/secret_memory.h"
#include "gpu/cuda/batch_memory.h"
#include "gpu/cuda/key_form.h"
#include "gpu/known_answer.h"
#include "gpu/select/eta.h"

enum {
    /* Keys of the large classes that a device takes at most, however many it
     * takes of others: each needs 13 KB, beside the place of another key. */
    WARPRSA_LARGE_KEYS_MAX = 2048,
};

/* One stream and the batch that it computes. One thread at a time. */
typedef struct warprsa_cuda_stream {
    cudaStream_t stream;
    warprsa_batch_memory memory;
    warprsa_task *tasks; /* of the batch under way; NULL if given up */
    size_t count;        /* of the batch under way, 0 if idle */
    uint64_t start_ns;   /* when it was started */
    warprsa_eta eta;
    uint32_t *spin_stop; /* WARPRSA_FAULT_HANG */
} warprsa_cuda_stream;

struct warprsa_device {
    warprsa_device_config config;
    warprsa_gpu gpu;
    const warprsa_kernel *kernel; /* for all batches; NULL: by `timings` */
    bool int32_keys;              /* the form of all keys but large ones */
    char model[128];              /* as CUDA names it */
    char description[256];
    warprsa_kernel_timings
        timings;                 /* of the kernels that are chosen by batch */
    warprsa_secret_pool secrets; /* keys on their way to the device */
    warprsa_id_pool key_ids;
    warprsa_prepared_key *keys; /* device memory */
    /* Memory of keys of the large classes, in the form warprsa_form_large. NULL
     * until there is such a key. */
    warprsa_prepared_key *large_keys;
    warprsa_id_pool large_places; /* there */
    pthread_mutex_t large_lock;   /* of its allocation */
    uint64_t large_retry_ns;      /* it failed: no further attempt before */
    warprsa_key_size *key_sizes;
    uint8_t *key_folds; /* warprsa_fold_accepts_key() */
    uint32_t capacity;
    _Atomic size_t under_way[WARPRSA_CLASSES]; /* requests, on all streams */
    cudaStream_t key_stream;
    warprsa_staging staging;      /* of all streams */
    warprsa_shared_tables tables; /* the same */
    warprsa_known_answer test;
    warprsa_cuda_stream streams[WARPRSA_STREAMS_MAX];
};

/* Traces what failed and CUDA's reason. Any thread. */
void warprsa_cuda_trace(const warprsa_device *device, const char *what,
                        cudaError_t error);

/* The status that stands for an error of CUDA, which is traced. Any thread. */
warprsa_status warprsa_cuda_status(const warprsa_device *device,
                                   const char *what, cudaError_t error);

/* Finds out, when a device is opened, what its GPU is, which form keys have,
 * and whether one kernel computes all batches: the kernel of the configuration,
 * or the only one that suits such GPUs. */
cudaError_t warprsa_cuda_choose_kernel(warprsa_device *device);

/* Finds the timings by which the kernels of batches are chosen, unless one
 * computes all. The memory of the streams and the known-answer test's keys
 * must be there: kernels may be measured. WARPRSA_DEADLINE: the first stream
 * still computes what was measured. */
warprsa_status warprsa_cuda_choose_timings(warprsa_device *device);

/* Has the driver load the code of the tests below. If it loaded a kernel's when
 * that is first launched, it could wait for the tests that are under way. An
 * error is left to the tests. */
void warprsa_cuda_load_kernels(warprsa_device *device);

/* Runs the known-answer tests of an opening: of each kernel that may be chosen,
 * or of the one for all batches, of the one that computes what these do not,
 * and of each stream, on all streams at once. A kernel for requests of one key
 * that computes wrongly is left out, which the trace and the description say.
 * Another one, or a stream, is WARPRSA_CHECK_FAILED, and the trace says which.
 * A test that misses its deadline is WARPRSA_DEADLINE, and may still be under
 * way. */
warprsa_status warprsa_cuda_prove_kernels(warprsa_device *device);

/* The places for keys of the large classes that a device has, with those of the
 * known-answer test, if it is opened for so many keys in all. */
uint32_t warprsa_cuda_large_places(uint32_t keys_max);

/* Makes the device ready for keys of the large classes, unless it is: loads the
 * keys of the known-answer test. WARPRSA_UNSUPPORTED_KEY: there is no memory
 * for them. Any thread. */
warprsa_status warprsa_cuda_take_large(warprsa_device *device);

/* Functions of warprsa_engine (gpu/engine.h). */
warprsa_status warprsa_cuda_load_key(warprsa_device *device,
                                     const warprsa_private_key *key,
                                     uint32_t *index);
warprsa_status warprsa_cuda_unload_key(warprsa_device *device, uint32_t index);
warprsa_status warprsa_cuda_start(warprsa_device *device, unsigned stream,
                                  warprsa_size_class size, warprsa_task *tasks,
                                  size_t count);
warprsa_status warprsa_cuda_wait(warprsa_device *device, unsigned stream,
                                 unsigned timeout_ms);

#endif
