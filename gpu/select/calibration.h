/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Measures the timings of a device that selection.c does not know, when the
 * device is opened. Plain C: the caller supplies the function that runs a
 * batch.
 */
#ifndef WARPRSA_GPU_SELECT_CALIBRATION_H
#define WARPRSA_GPU_SELECT_CALIBRATION_H

#include "gpu/select/selection.h"

enum {
    /* No batch is started once the batches before it took so long in all. */
    WARPRSA_CALIBRATION_MS = 3000,
};

/* Runs a batch of `count` known answers by this kernel and sets *ms to the
 * milliseconds that it took. False: the kernel does not run on this device, or
 * an answer was wrong. */
typedef bool (*warprsa_timed_batch)(void *arg, warprsa_size_class size,
                                    const char *kernel, size_t count,
                                    double *ms);

/*
 * Measures the candidates in their order, of which the rows of one kernel come
 * together and the kernel that is fastest for one operation comes first. Each
 * is timed with one operation, half a wave and a wave (of at most `batch_max`
 * requests), three times each, and the median counts. There is no row for a
 * kernel that does not run, for one that takes longer for one operation than
 * another kernel for batch_max of them, and for one that there was no time left
 * to measure. False: the time was too short.
 */
bool warprsa_calibrate(warprsa_kernel_timings *timings,
                       const warprsa_kernel_timings *candidates,
                       size_t batch_max, warprsa_timed_batch run, void *arg);

#endif
