/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A record of the kernels that a program launches: their times, registers and
 * occupancy. The program is linked with --wrap so that every launch goes
 * through here, and production code needs no accessors for the benchmarks.
 * One thread; errors end the program.
 */
#ifndef WARPRSA_BENCH_LAUNCHES_H
#define WARPRSA_BENCH_LAUNCHES_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda_runtime_api.h>

enum {
    /* narrow_fold has three for each 16 requests of RSA-4096 on an SM: 222 for
     * 16,384 on a slice of an A100 with 14 SMs. */
    LAUNCHES_MAX = 256,
};

typedef struct launch {
    char name[64];    /* cut off at 63 characters; "" before CUDA 12.3 */
    unsigned blocks;  /* of the grid */
    unsigned threads; /* of a block */
    int registers;    /* of a thread */
    size_t spilled;   /* bytes of local memory of a thread, stack included */
    size_t shared;    /* bytes of shared memory of a block */
    int warps;        /* that an SM holds at once */
    double ms;        /* by CUDA events */
} launch;

/* Starts recording launches. Two events around each cost a little time. */
void launches_begin(void);

/* Sets a function that is called after each recorded launch with the launch's
 * index; the kernel may still be running then. NULL: none. */
typedef void launches_observer(void *arg, size_t index);
void launches_observe(launches_observer *observer, void *arg);

/* Sets a function that is called right before each recorded launch and right
 * after it, outside of its events, with the launch's index. It may launch
 * kernels on the stream, which are not recorded. NULL: none. */
typedef void launches_bracket(void *arg, size_t index, bool after,
                              cudaStream_t stream);
void launches_bracket_by(launches_bracket *bracket, void *arg);

/* Stops recording and waits for the stream. Fills `seen`, which has room for
 * LAUNCHES_MAX, with the launches since launches_begin() in their order and
 * returns their number. If there was none, the program ends. */
size_t launches_end(cudaStream_t stream, launch *seen);

#endif
