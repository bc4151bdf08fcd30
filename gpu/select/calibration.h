/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The timings of a device that selection.c does not know, measured when it is
 * opened. Plain C; who calls says how a batch is run.
 */
#ifndef WARPRSA_GPU_SELECT_CALIBRATION_H
#define WARPRSA_GPU_SELECT_CALIBRATION_H

#include "gpu/select/selection.h"

enum {
    /* Batches are started only while those before took less in all. */
    WARPRSA_CALIBRATION_MS = 3000,
};

/* Runs a batch of `count` known answers by this kernel; the milliseconds that
 * it took. False: it can't be run on this device, or answered wrong. */
typedef bool (*warprsa_timed_batch)(void *arg, warprsa_size_class size,
                                    const char *kernel, size_t count,
                                    double *ms);

/*
 * Measures candidates, those of one kernel for all classes together and the
 * fastest for one operation first: one operation, half a wave and a wave, or as
 * much of one as `batch_max` is, three times each, of which the middle one
 * counts. No rows for what can't be run, for what takes longer for one
 * operation than another for batch_max of them, and for what there was no time
 * left for. False: the time was too short.
 */
bool warprsa_calibrate(warprsa_kernel_timings *timings,
                       const warprsa_kernel_timings *candidates,
                       size_t batch_max, warprsa_timed_batch run, void *arg);

#endif
