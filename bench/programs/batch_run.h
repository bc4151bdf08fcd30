/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A batch of private operations on a device that no engine has opened, by a
 * kernel that the benchmark chooses. One thread; errors end the program.
 */
#ifndef WARPRSA_BENCH_BATCH_RUN_H
#define WARPRSA_BENCH_BATCH_RUN_H

#include <stdbool.h>

#include "bench/programs/exponents.h"
#include "bench/programs/key_set.h"
#include "bench/programs/launches.h"
#include "gpu/arith/int32_key.h"
#include "gpu/cuda/batch_memory.h"

/* A prepared key on the device. Its form depends on the kernel: samples of 52
 * bits, or limbs of 32 bits for the int32 kernel. */
typedef union bench_prepared {
    warprsa_prepared_key samples;
    warprsa_int32_key limbs;
} bench_prepared;

typedef struct batch_run {
    cudaStream_t stream;
    warprsa_staging staging; /* of the one stream */
    warprsa_batch_memory memory;
    warprsa_shared_tables tables;   /* the same */
    warprsa_prepared_key *prepared; /* device memory, bench_prepared each */
    bench_prepared *host_prepared;  /* the same keys on the host */
    bool limbs;                     /* the keys are int32 keys */
    size_t keys_max, batch_max;
    warprsa_kernel_timings timings;    /* of this device; count 0: unknown */
    warprsa_kernel_timings candidates; /* all kernels, without times */
    const key_set *keys;               /* in use, not owned */
    warprsa_key_size *key_sizes;       /* of each key */
    uint8_t *key_folds;      /* of each key: warprsa_fold_accepts_key() */
    uint8_t *input, *output; /* one number every MODULUS_BYTES_MAX bytes */
    warprsa_task *tasks;
} batch_run;

/* Allocates memory on host and device for batches of up to batch_max
 * operations under up to keys_max keys. batch_run_free() frees it. */
void batch_run_new(batch_run *run, size_t batch_max, size_t keys_max);
void batch_run_free(batch_run *run);

/* May be given instead of a kernel's name: the kernel that the engine would
 * choose for the batch. It needs a device whose timings the engine knows. */
#define BATCH_RUN_AUTO "auto"

/* The name of kernel i, in no particular order; NULL past the last. Static
 * storage. */
const char *batch_run_name(size_t i);

/* Whether a kernel is for requests that share a key. */
bool batch_run_shares_keys(const char *kernel);
/* Whether there is a kernel of this name that takes keys of this class. */
bool batch_run_takes(const batch_run *run, const char *kernel,
                     warprsa_size_class size);
/* The kernel's wave: how many operations a full device computes at once. 0 if
 * the kernel is not among the candidates. */
size_t batch_run_wave(const batch_run *run, const char *kernel,
                      warprsa_size_class size);

/* Sets the keys of the following batches, up to keys_max of them, and copies
 * them to the device in the form that this kernel reads. `keys` must outlive
 * the batches. Batches are staged for this kernel, so no other may run them. */
void batch_run_keys(batch_run *run, const key_set *keys, const char *kernel);

/* Replaces the keys' secret exponents by these, not blinded, until the next
 * batch_run_keys(). The results are wrong meanwhile. `fixed` is the value of
 * EXPONENTS_FIXED: random, and as long as the longest exponent. */
void batch_run_exponents(batch_run *run, exponents which,
                         const uint32_t fixed[WARPRSA_EXPONENT_WORDS]);

/* Makes a batch of `count` random inputs that use the keys in turns. */
void batch_run_fill(batch_run *run, size_t count);

/* Draws new blinding randomness and writes the batch to the staging memory. */
void batch_run_stage(batch_run *run);

/* Runs a staged batch. Fills `seen` with its kernel launches in their order and
 * returns their number. */
size_t batch_run_launches(batch_run *run, const char *kernel,
                          launch seen[LAUNCHES_MAX]);

/* Runs a staged batch and returns the time of its kernels alone, by CUDA
 * events, in milliseconds: copies and wiping around them do not count. Unless
 * NULL, `longest` gets the launch that took the most time and `kernels` the
 * number of launches. */
double batch_run_kernel(batch_run *run, const char *kernel, launch *longest,
                        size_t *kernels);

/* Does all that the engine does for a batch (random numbers, staging, copies,
 * kernels, results, wiping) and returns the elapsed time in milliseconds. */
double batch_run_whole(batch_run *run, const char *kernel);

/* Checks up to `most` results of the last batch_run_whole(), spread over the
 * batch, by raising them to e: s^e = m has one solution, so a result that
 * passes is right. A wrong one ends the program. Returns how many were
 * checked. */
size_t batch_run_check(const batch_run *run, size_t most);

#endif
