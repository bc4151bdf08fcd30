/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See calibration.h.
 */
#include "gpu/select/calibration.h"

enum {
    RUNS = 3,
};

typedef struct measurement {
    warprsa_timed_batch run;
    void *arg;
    double left_ms;
    bool short_of_time;
} measurement;

/* Runs one batch unless the time is used up, and subtracts what it took. */
static bool run_once(measurement *m, const warprsa_kernel_timing *timing,
                     size_t count, double *ms)
{
    if (m->left_ms <= 0) {
        m->short_of_time = true;
        return false;
    }
    if (!m->run(m->arg, timing->size, timing->kernel, count, ms))
        return false;
    m->left_ms -= *ms;
    return true;
}

/* The median. */
static double median(const double ms[RUNS])
{
    const double low = ms[0] < ms[1] ? ms[0] : ms[1];
    const double high = ms[0] < ms[1] ? ms[1] : ms[0];

    return ms[2] < low ? low : ms[2] > high ? high : ms[2];
}

/* Sets *us to the median time of a batch, in microseconds, but at least to
 * `least`. The caller passes the time of fewer operations for it: more
 * operations never take less, except for chance in the clock and the device. */
static bool time_batch(measurement *m, const warprsa_kernel_timing *timing,
                       size_t count, uint32_t least, uint32_t *us)
{
    double ms[RUNS];

    for (int i = 0; i < RUNS; i++)
        if (!run_once(m, timing, count, &ms[i]))
            return false;
    if (median(ms) > WARPRSA_KERNEL_TIMING_US_MAX / 1e3)
        return false;
    *us = (uint32_t)(median(ms) * 1e3 + 0.5);
    *us = *us < least ? least : *us;
    return true;
}

/* Whether the kernel can be the fastest for any batch, by its time for one
 * operation. It cannot if another kernel takes no longer for as many operations
 * as can be under way: a batch shares the device with other batches, and the
 * choice counts their operations, too. */
static bool can_win(const warprsa_kernel_timings *timings,
                    const warprsa_kernel_timing *timing)
{
    for (size_t i = 0; i < timings->count; i++)
        if (timings->row[i].size == timing->size &&
            warprsa_predict_ms(&timings->row[i], WARPRSA_UNDER_WAY_MAX) <=
                timing->one_us / 1e3)
            return false;
    return true;
}

bool warprsa_calibrate(warprsa_kernel_timings *timings,
                       const warprsa_kernel_timings *candidates,
                       size_t batch_max, warprsa_timed_batch run, void *arg)
{
    measurement m = {run, arg, WARPRSA_CALIBRATION_MS, false};

    timings->count = 0;
    for (size_t i = 0; i < candidates->count && !m.short_of_time; i++) {
        warprsa_kernel_timing timing = candidates->row[i];
        double first_ms; /* includes loading the kernel, so it is not used */

        if (timing.wave > batch_max)
            timing.wave = (uint32_t)batch_max;
        if (run_once(&m, &timing, 1, &first_ms) &&
            time_batch(&m, &timing, 1, 1, &timing.one_us) &&
            can_win(timings, &timing) &&
            time_batch(&m, &timing, (timing.wave + 1) / 2, timing.one_us,
                       &timing.half_us) &&
            time_batch(&m, &timing, timing.wave, timing.half_us,
                       &timing.wave_us))
            timings->row[timings->count++] = timing;
    }
    return !m.short_of_time;
}
