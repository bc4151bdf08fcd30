/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which kernel computes a batch soonest, from what batches have taken. Plain C;
 * no device is asked.
 */
#ifndef WARPRSA_GPU_SELECT_SELECTION_H
#define WARPRSA_GPU_SELECT_SELECTION_H

#include <stdbool.h>

#include "gpu/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WARPRSA_KERNEL_TIMINGS_MAX = 32,
    WARPRSA_KERNEL_TIMING_US_MAX = 60000000,
};

/* What batches of one class take by one kernel. `wave` operations are under
 * way at once on a full device, and one operation, half a wave and a whole one
 * take these times, in microseconds and in this order; 0: not measured. */
typedef struct warprsa_kernel_timing {
    warprsa_size_class size;
    const char *kernel; /* static storage */
    uint32_t wave;
    uint32_t one_us, half_us, wave_us;
} warprsa_kernel_timing;

/* Of one device, each class and kernel once at most. */
typedef struct warprsa_kernel_timings {
    size_t count;
    warprsa_kernel_timing row[WARPRSA_KERNEL_TIMINGS_MAX];
} warprsa_kernel_timings;

/* Milliseconds that a batch of `count` takes: whole waves one after the other,
 * and the rest as a batch of its size: on a straight line from half a wave to a
 * whole one, and below, on that line carried on or at the time of one, whatever
 * is more; of the fold, on a straight line from one to half a wave. A pure
 * function. */
double warprsa_predict_ms(const warprsa_kernel_timing *timing, size_t count);

/* The row of this class and kernel, or NULL. */
const warprsa_kernel_timing *
warprsa_kernel_timing_of(const warprsa_kernel_timings *timings,
                         warprsa_size_class size, const char *kernel);

/* The kernel that takes the shortest time for a batch; of equal ones the
 * first. NULL: no row is of this class. A pure function. */
const char *warprsa_fastest_kernel(const warprsa_kernel_timings *timings,
                                   warprsa_size_class size, size_t count);

/* The milliseconds that it takes; 0 for no operation, or if there is none. A
 * pure function. */
double warprsa_fastest_ms(const warprsa_kernel_timings *timings,
                          warprsa_size_class size, size_t count);

/* The timings measured for this device before, by the name that CUDA gives it;
 * false if it is not known. tests/bench/kernel_select prints them. */
bool warprsa_kernel_timings_known(const char *device,
                                  warprsa_kernel_timings *timings);

/* Whether timings are of kernels that are there: each class has a row, and each
 * row is a candidate's, with its wave or, where that is less, `batch_max`, and
 * with times that make sense. */
bool warprsa_kernel_timings_fit(const warprsa_kernel_timings *timings,
                                const warprsa_kernel_timings *candidates,
                                size_t batch_max);

#ifdef __cplusplus
}
#endif
#endif
