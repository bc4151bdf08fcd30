/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A batch of private operations on a device that no engine has opened, by a
 * kernel that the benchmark chooses. One thread; errors end the program.
 */
#ifndef WARPRSA_BENCH_BATCH_RUN_H
#define WARPRSA_BENCH_BATCH_RUN_H

#include <stdbool.h>

#include "gpu/arith/int32_key.h"
#include "gpu/cuda/batch_memory.h"
#include "tests/bench/exponents.h"
#include "tests/bench/key_set.h"
#include "tests/bench/launches.h"

/* What lies in a key's place on the device. */
typedef union bench_prepared {
    warprsa_prepared_key samples;
    warprsa_int32_key limbs;
} bench_prepared;

typedef struct batch_run {
    cudaStream_t stream;
    warprsa_batch_memory memory;
    warprsa_prepared_key *prepared; /* device; or, in each place, a limb key */
    bench_prepared *host_prepared;
    bool limbs; /* of limbs they are */
    size_t keys_max, batch_max;
    warprsa_kernel_timings timings;    /* of this device; none: not known */
    warprsa_kernel_timings candidates; /* the same without times */
    const key_set *keys;               /* in use */
    warprsa_key_size *key_sizes;       /* of each */
    uint8_t *key_folds;      /* likewise: warprsa_fold_accepts_key() */
    uint8_t *input, *output; /* MODULUS_BYTES_MAX apart */
    warprsa_task *tasks;
} batch_run;

/* Memory for batches of up to batch_max under up to keys_max keys. */
void batch_run_new(batch_run *run, size_t batch_max, size_t keys_max);
void batch_run_free(batch_run *run);

/* In a kernel's place: what the engine would choose for the batch, on a device
 * whose timings are known to it. */
#define BATCH_RUN_AUTO "auto"

/* The kernels by name, in some order; NULL past the last. */
const char *batch_run_name(size_t i);
/* Whether there is one of this name that takes keys of this class. */
bool batch_run_takes(const batch_run *run, const char *kernel,
                     warprsa_size_class size);
/* Operations that it has under way at once on a full device; 0: not said. */
size_t batch_run_wave(const batch_run *run, const char *kernel,
                      warprsa_size_class size);

/* The keys of the batches to come, which they must outlive, up to keys_max;
 * as this kernel and no other kind wants them. Batches are staged for it, so
 * that it must be the one that runs. */
void batch_run_keys(batch_run *run, const key_set *keys, const char *kernel);

/* Puts these exponents in the place of the keys' own, without blinding them,
 * until batch_run_keys(): results are wrong then. `fixed` is as long as the
 * longest exponent, and random. */
void batch_run_exponents(batch_run *run, exponents which,
                         const uint32_t fixed[WARPRSA_EXPONENT_WORDS]);

/* A batch of random inputs, its keys in turns. */
void batch_run_fill(batch_run *run, size_t count);

/* New random numbers to blind with, and the batch to the staging memory. */
void batch_run_stage(batch_run *run);

/* Runs a staged batch; the kernels, in their order, and how many they are. */
size_t batch_run_launches(batch_run *run, const char *kernel,
                          launch seen[LAUNCHES_MAX]);

/* The kernels of a staged batch alone, by events; what is copied and wiped
 * around them is not in it. Milliseconds. The longest of them, and how many
 * there are, if these are wanted. */
double batch_run_kernel(batch_run *run, const char *kernel, launch *longest,
                        size_t *kernels);

/* All that the engine does for a batch, by the clock on the wall: random
 * numbers, staging, copies, kernels, results, wiping. Milliseconds. */
double batch_run_whole(batch_run *run, const char *kernel);

/* Raises up to `most` results of the last batch_run_whole(), spread over the
 * batch, to e: s^e = m has one solution. A wrong one ends the program. How
 * many were tried. */
size_t batch_run_check(const batch_run *run, size_t most);

#endif
