/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What was launched: this program is linked so that every launch of a kernel
 * in it goes through here (--wrap), and production code needs no accessors
 * for a benchmark to know registers and occupancy of its kernels, or how long
 * each of a batch's kernels takes. One thread.
 */
#ifndef WARPRSA_BENCH_LAUNCHES_H
#define WARPRSA_BENCH_LAUNCHES_H

#include <stddef.h>

#include <cuda_runtime_api.h>

enum {
    LAUNCHES_MAX = 16,
};

typedef struct launch {
    char name[64];    /* as far as it goes; "" before CUDA 12.3 */
    unsigned blocks;  /* of the grid */
    unsigned threads; /* of a block */
    int registers;    /* of a thread */
    size_t spilled;   /* bytes of local memory of a thread, stack included */
    size_t shared;    /* bytes of shared memory of a block */
    int warps;        /* that an SM holds at once */
    double ms;
} launch;

/* From now on kernels are timed and noted, which costs a little time. */
void launches_begin(void);

/* Called after launch `index` of those that are noted, which may be under way
 * still; NULL for none. */
typedef void launches_observer(void *arg, size_t index);
void launches_observe(launches_observer *observer, void *arg);

/* Waits for the stream; how many kernels were launched since begin(), and
 * what they are, in their order. Stops noting. At least 1, or the program
 * ends. */
size_t launches_end(cudaStream_t stream, launch *seen);

#endif
