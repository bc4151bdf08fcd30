/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the timings of a device come from. Plain C; who calls says how a batch is
 * run.
 */
#ifndef WARPRSA_GPU_SELECT_TIMING_SOURCE_H
#define WARPRSA_GPU_SELECT_TIMING_SOURCE_H

#include "gpu/select/calibration.h"

typedef struct warprsa_timing_source {
    const char *model;   /* the name that CUDA gives the device */
    const char *subject; /* warprsa_calibration_read()'s */
    const warprsa_kernel_timings *candidates;
    size_t batch_max;
    const char *file; /* NULL or empty: none */
    warprsa_timed_batch run;
    void *run_arg;
    warprsa_trace_fn trace; /* may be NULL */
    void *trace_arg;
} warprsa_timing_source;

/*
 * The table by device name, else the calibration file, else a calibration,
 * which is then put into the file: "table", "file" or "calibration", one word
 * of static storage. What is wrong with the file is traced and hinders nothing;
 * a class without a row has the first kernel. Takes WARPRSA_CALIBRATION_MS and
 * a batch at most. One thread per device.
 */
const char *warprsa_timing_source_choose(warprsa_kernel_timings *timings,
                                         const warprsa_timing_source *wanted);

#endif
