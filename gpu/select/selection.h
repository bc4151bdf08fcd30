/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel that is predicted to finish a batch first, from measured timings
 * of batches. Plain C: no device is asked.
 */
#ifndef WARPRSA_GPU_SELECT_SELECTION_H
#define WARPRSA_GPU_SELECT_SELECTION_H

#include <stdbool.h>

#include "gpu/kernels/kernels.h"

enum {
    /* A row for each class of each kernel. */
    WARPRSA_KERNEL_TIMINGS_MAX = WARPRSA_KERNELS * WARPRSA_CLASS_LARGE,
    WARPRSA_KERNEL_TIMING_US_MAX = 60000000,
};

/* The timings of one kernel for one size class. A wave is the number of
 * operations that a full device computes at the same time. one_us, half_us and
 * wave_us are the times of a batch of one operation, of half a wave and of a
 * whole wave, in microseconds; 0 means not measured. */
typedef struct warprsa_kernel_timing {
    warprsa_size_class size;
    const warprsa_kernel *kernel;
    uint32_t wave;
    uint32_t one_us, half_us, wave_us;
} warprsa_kernel_timing;

/* The timings of one device. Each pair of class and kernel has at most one
 * row. */
typedef struct warprsa_kernel_timings {
    size_t count;
    warprsa_kernel_timing row[WARPRSA_KERNEL_TIMINGS_MAX];
} warprsa_kernel_timings;

/*
 * Predicts the milliseconds that a batch of `count` operations takes. Whole
 * waves run one after the other, unless the kernel's time grows evenly: then
 * more than one wave is on the straight line from half a wave to a whole wave,
 * too. The rest counts as a batch of its own:
 * - From half a wave to a whole wave, its time lies on the straight line
 *   through those two timings.
 * - Below half a wave, its time is on the extension of that line or is the time
 *   of one operation, whichever is more. It is never above the straight line
 *   from one operation to half a wave.
 * - Where the time grows by items, up to a quarter of a wave takes the time of
 *   one operation, and more than half of one takes that of a whole. Between
 *   them lies a straight line to the time of half a wave.
 *
 * A pure function; the row must have its three times and a wave above 0.
 */
double warprsa_predict_ms(const warprsa_kernel_timing *timing, size_t count);

/* The row of this class and kernel, inside `timings`; NULL if it has none. A
 * pure function. */
const warprsa_kernel_timing *
warprsa_kernel_timing_of(const warprsa_kernel_timings *timings,
                         warprsa_size_class size, const warprsa_kernel *kernel);

/* The kernel with the shortest predicted time for a batch of `count`
 * operations. Among equal times it is the first row's. Kernels that share keys
 * are left out: their timings hold for requests of one key only. NULL: there is
 * no other row of this class. A pure function. */
const warprsa_kernel *
warprsa_fastest_kernel(const warprsa_kernel_timings *timings,
                       warprsa_size_class size, size_t count);

/* The predicted milliseconds of warprsa_fastest_kernel(); 0 if `count` is 0 or
 * if there is no such kernel. A pure function. */
double warprsa_fastest_ms(const warprsa_kernel_timings *timings,
                          warprsa_size_class size, size_t count);

/* Copies the timings that the kernels have of the GPU that CUDA calls `model`.
 * False: there are none, and the count is 0. bench/programs/kernel_select
 * measures them. Any thread. */
bool warprsa_kernel_timings_known(const char *model,
                                  warprsa_kernel_timings *timings);

/* Leaves out the rows that have no candidate of their class and kernel: a build
 * need not have all kernels, nor a device use them. */
void warprsa_kernel_timings_keep(warprsa_kernel_timings *timings,
                                 const warprsa_kernel_timings *candidates);

/* Whether the timings can be used with these candidates. Each class but the
 * large ones must have a row of a kernel for whole batches, and each row must
 * have a candidate of its class and kernel. A row's wave must be the
 * candidate's, or `batch_max` where that is less. Its times must be above 0,
 * must not decrease from one operation to a wave, and must be at most
 * WARPRSA_KERNEL_TIMING_US_MAX. A pure function. */
bool warprsa_kernel_timings_fit(const warprsa_kernel_timings *timings,
                                const warprsa_kernel_timings *candidates,
                                size_t batch_max);

#endif
