/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How long a batch's kernels take, in clocks of the SMs.
 *
 * A kernel reads the clock of every SM before and after each launch that
 * launches.h records. One thread; errors end the program.
 */
#ifndef WARPRSA_BENCH_SM_CLOCKS_H
#define WARPRSA_BENCH_SM_CLOCKS_H

#include <stddef.h>

#include "bench/programs/launches.h"
#include "bench/programs/sm_stamp.h"
#include "bench/programs/spread.h"

typedef struct sm_clocks {
    uint64_t *stamps; /* device memory: sm_stamps */
    unsigned sms;     /* of the device */
    unsigned least;   /* SMs that a batch's clocks were ever read of */
    size_t launches;  /* recorded since sm_clocks_take() */
} sm_clocks;

/* Reads clocks around all launches that are recorded from now on, until
 * sm_clocks_free(). `c` must not move. */
void sm_clocks_new(sm_clocks *c);
void sm_clocks_free(sm_clocks *c);

/* The clocks that the recorded launches took since the last call, added up: the
 * spread over the SMs. The stream is the launches', which are done. */
spread sm_clocks_take(sm_clocks *c, cudaStream_t stream);

#endif
