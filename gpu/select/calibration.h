/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Measures the kernel timings of a device of which none are known, when it is
 * opened. Plain C: the caller supplies the function that runs a batch.
 */
#ifndef WARPRSA_GPU_SELECT_CALIBRATION_H
#define WARPRSA_GPU_SELECT_CALIBRATION_H

#include "gpu/select/selection.h"

enum {
    /* No batch is started once the batches before it took this long in all. An
     * A100 wants 3.7 s by the estimate (tests/unit/gpu/kernels.c), which may be
     * wrong by a third. CPUs compute meanwhile. */
    WARPRSA_CALIBRATION_MS = 6000,
};

/* Runs a batch of `count` known-answer requests with this kernel and sets *ms
 * to the milliseconds that it took. False: the kernel does not run on this
 * device, or an answer was wrong. */
typedef bool (*warprsa_timed_batch)(void *arg, warprsa_size_class size,
                                    const warprsa_kernel *kernel, size_t count,
                                    double *ms);

/*
 * Measures the candidates in their order. The rows of one kernel must come
 * together, and the kernel that is fastest for one operation must come first.
 * Each is timed with one operation, with half a wave and with a wave (of at
 * most `batch_max` requests). Each of these is run three times, and the median
 * counts.
 *
 * A kernel gets no row if it does not run, if there was no time left to measure
 * it, or if it takes longer for one operation than another kernel for
 * WARPRSA_UNDER_WAY_MAX of them. False: the time was too short to measure all.
 * Calls `run` on the caller's thread.
 */
bool warprsa_calibrate(warprsa_kernel_timings *timings,
                       const warprsa_kernel_timings *candidates,
                       size_t batch_max, warprsa_timed_batch run, void *arg);

#endif
