/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See timing_source.h.
 */
#include "gpu/select/timing_source.h"

#include <stdint.h>
#include <stdio.h>

#include "gpu/select/calibration_file.h"

enum {
    WHY_SIZE = 400,
};

static void trace(const warprsa_timing_source *wanted, const char *what,
                  const char *why)
{
    char line[WHY_SIZE + 160];

    if (wanted->trace == NULL)
        return;
    snprintf(line, sizeof(line), "%s: %s%s", wanted->model, what, why);
    wanted->trace(wanted->trace_arg, 1, line);
}

static bool has_file(const warprsa_timing_source *wanted)
{
    return wanted->file != NULL && wanted->file[0] != '\0';
}

static bool read_file(warprsa_kernel_timings *timings,
                      const warprsa_timing_source *wanted)
{
    char why[WHY_SIZE] = "";
    const warprsa_calibration_found found = warprsa_calibration_read(
        wanted->file, wanted->subject, wanted->candidates, wanted->batch_max,
        timings, why, sizeof(why));

    if (found == WARPRSA_CALIBRATION_BAD)
        trace(wanted, "calibration file not used: ", why);
    return found == WARPRSA_CALIBRATION_FOUND;
}

static void calibrate(warprsa_kernel_timings *timings,
                      const warprsa_timing_source *wanted)
{
    char why[WHY_SIZE] = "";

    trace(wanted, "calibrated: its kernel timings are not known", "");
    if (!warprsa_calibrate(timings, wanted->candidates, wanted->batch_max,
                           wanted->run, wanted->run_arg))
        trace(wanted, "not all kernels were tried: there was no time", "");
    if (!has_file(wanted) ||
        !warprsa_kernel_timings_fit(timings, wanted->candidates,
                                    wanted->batch_max))
        return;
    if (!warprsa_calibration_write(wanted->file, wanted->subject, timings, why,
                                   sizeof(why)))
        trace(wanted, "calibration file not written: ", why);
}

const char *warprsa_timing_source_choose(warprsa_kernel_timings *timings,
                                         const warprsa_timing_source *wanted)
{
    (void)warprsa_kernel_timings_known(wanted->model, timings);
    warprsa_kernel_timings_keep(timings, wanted->candidates);
    if (warprsa_kernel_timings_fit(timings, wanted->candidates, SIZE_MAX))
        return "table";
    if (has_file(wanted) && read_file(timings, wanted))
        return "file";
    calibrate(timings, wanted);
    return "calibration";
}
