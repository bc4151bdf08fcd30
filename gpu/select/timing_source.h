/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the kernel timings of a device come from: the table of known devices, a
 * file, or a measurement. Plain C: the caller supplies the function that runs a
 * batch.
 */
#ifndef WARPRSA_GPU_SELECT_TIMING_SOURCE_H
#define WARPRSA_GPU_SELECT_TIMING_SOURCE_H

#include "gpu/select/calibration.h"

typedef struct warprsa_timing_source {
    const char *model;   /* the name that CUDA gives the device */
    const char *subject; /* as for warprsa_calibration_read() */
    const warprsa_kernel_timings *candidates;
    size_t batch_max;
    const char *file; /* NULL or empty: none */
    warprsa_timed_batch run;
    void *run_arg;
    warprsa_trace_fn trace; /* may be NULL */
    void *trace_arg;
} warprsa_timing_source;

/*
 * Finds the timings of a device. It looks in the table by the device's name,
 * then in the calibration file. If neither has them, it calibrates the device
 * and writes the timings to the file. Returns which source it was: "table",
 * "file" or "calibration", in static storage.
 *
 * A fault of the file is traced and has no other consequence. A size class may
 * be left without a row; the engine then uses the first kernel for it. A
 * calibration takes at most WARPRSA_CALIBRATION_MS and the time of one batch.
 * One thread per device.
 */
const char *warprsa_timing_source_choose(warprsa_kernel_timings *timings,
                                         const warprsa_timing_source *wanted);

#endif
