/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See selection.h. This file also has the table of known devices.
 */
#include "gpu/select/selection.h"

#include <string.h>

#include "gpu/kernels/kernel_names.h"

enum {
    KNOWN_ROWS_MAX = 20,
};

/* The devices whose timings are known. doc/kernels/README.md says what they
 * were measured with, and why RSA-2048 by "narrow_fold" has 3450 us. */
static const struct {
    const char *device;
    warprsa_kernel_timing row[KNOWN_ROWS_MAX]; /* unused rows: NULL */
} known[] = {
    {"NVIDIA H200",
     {{WARPRSA_CLASS_1024, "cooperative", 16896, 709, 1134, 2066},
      {WARPRSA_CLASS_2048, "cooperative", 8448, 2259, 3668, 6924},
      {WARPRSA_CLASS_3072, "cooperative", 4224, 5368, 7280, 13223},
      {WARPRSA_CLASS_4096, "cooperative", 4224, 8125, 13272, 25380},
      {WARPRSA_CLASS_1024, "thread", 25344, 1833, 2395, 2914},
      {WARPRSA_CLASS_2048, "thread", 25344, 7406, 11142, 15605},
      {WARPRSA_CLASS_3072, "thread", 16896, 21108, 22982, 35473},
      {WARPRSA_CLASS_4096, "thread", 16896, 46480, 58839, 77434},
      {WARPRSA_CLASS_1024, "low_latency", 2112, 425, 675, 1253},
      {WARPRSA_CLASS_2048, "low_latency", 2112, 1097, 1890, 3591},
      {WARPRSA_CLASS_3072, "low_latency", 1056, 2953, 2964, 5384},
      {WARPRSA_CLASS_4096, "low_latency", 1056, 5392, 5430, 9512},
      {WARPRSA_CLASS_2048, "fold", 16896, 3320, 4649, 6623},
      {WARPRSA_CLASS_3072, "fold", 16896, 8586, 14577, 20476},
      {WARPRSA_CLASS_4096, "fold", 16896, 14930, 24849, 47143},
      {WARPRSA_CLASS_2048, "narrow_fold", 4224, 710, 1900, 3450},
      {WARPRSA_CLASS_3072, "narrow_fold", 2112, 2012, 3035, 5903},
      {WARPRSA_CLASS_4096, "narrow_fold", 2112, 3229, 6150, 12109}}},
    {"NVIDIA H100 80GB HBM3",
     {{WARPRSA_CLASS_1024, "cooperative", 16896, 707, 1135, 2055},
      {WARPRSA_CLASS_2048, "cooperative", 8448, 2265, 3664, 6925},
      {WARPRSA_CLASS_3072, "cooperative", 4224, 5357, 7269, 13157},
      {WARPRSA_CLASS_4096, "cooperative", 4224, 8066, 13195, 25197},
      {WARPRSA_CLASS_1024, "thread", 25344, 1815, 2417, 2941},
      {WARPRSA_CLASS_2048, "thread", 25344, 7375, 11155, 15698},
      {WARPRSA_CLASS_3072, "thread", 16896, 20846, 23052, 35387},
      {WARPRSA_CLASS_4096, "thread", 16896, 44878, 58353, 77503},
      {WARPRSA_CLASS_1024, "low_latency", 2112, 425, 677, 1249},
      {WARPRSA_CLASS_2048, "low_latency", 2112, 1081, 1860, 3536},
      {WARPRSA_CLASS_3072, "low_latency", 1056, 2956, 2971, 5388},
      {WARPRSA_CLASS_4096, "low_latency", 1056, 5349, 5392, 9437},
      {WARPRSA_CLASS_2048, "fold", 16896, 3200, 4707, 6544},
      {WARPRSA_CLASS_3072, "fold", 16896, 8923, 14448, 20309},
      {WARPRSA_CLASS_4096, "fold", 16896, 15297, 24303, 45765},
      {WARPRSA_CLASS_2048, "narrow_fold", 4224, 698, 1866, 3450},
      {WARPRSA_CLASS_3072, "narrow_fold", 2112, 2153, 3020, 5901},
      {WARPRSA_CLASS_4096, "narrow_fold", 2112, 3272, 6351, 12457}}},
};

static bool is_fold(const warprsa_kernel_timing *timing)
{
    return strcmp(timing->kernel, WARPRSA_KERNEL_FOLD) == 0;
}

/* Whether a kernel takes parts of batches, and is no choice for a whole one. */
static bool takes_items(const warprsa_kernel_timing *timing)
{
    return is_fold(timing) ||
           strcmp(timing->kernel, WARPRSA_KERNEL_NARROW_FOLD) == 0;
}

/* The fold's milliseconds of less than a wave. A block of it is full with the
 * first requests of its key. Its items are cut (launch.h), so that blocks have
 * an SM to themselves up to a quarter of a wave, and above half a wave they are
 * not: a few that have to share an SM then take as long as if all did. */
static double predict_fold(const warprsa_kernel_timing *timing, double rest)
{
    const double one = timing->one_us / 1e3, half = timing->half_us / 1e3;

    if (rest > 0.5)
        return timing->wave_us / 1e3;
    return rest <= 0.25 ? one : one + (4 * rest - 1) * (half - one);
}

/* The milliseconds of `waves` waves on the line through half a wave and a whole
 * one. */
static double line_of(const warprsa_kernel_timing *timing, double waves)
{
    const double half = timing->half_us / 1e3, wave = timing->wave_us / 1e3;

    return half + (2 * waves - 1) * (wave - half);
}

/* Predicts the milliseconds of less than a wave: `rest` is the fraction of it.
 * Below half a wave, a few operations leave part of an SM unused, and the next
 * operations use that part at no cost. So they take the time of one operation
 * until the extension of the second half's line is above that time. */
static double predict_part(const warprsa_kernel_timing *timing, double rest)
{
    const double one = timing->one_us / 1e3, half = timing->half_us / 1e3;
    const double chord = one + 2 * rest * (half - one);
    const double line = line_of(timing, rest);

    if (is_fold(timing))
        return predict_fold(timing, rest);
    if (rest >= 0.5)
        return line;
    if (line >= chord)
        return chord;
    return line > one ? line : one;
}

/* Whether blocks share all powers of a batch evenly, so that no wave waits for
 * the end of another. */
static bool shares_evenly(const warprsa_kernel_timing *timing)
{
    return strcmp(timing->kernel, WARPRSA_KERNEL_NARROW_FOLD) == 0;
}

double warprsa_predict_ms(const warprsa_kernel_timing *timing, size_t count)
{
    if (shares_evenly(timing) && count > timing->wave)
        return line_of(timing, (double)count / (double)timing->wave);

    const size_t rest = count % timing->wave;
    const double ms = (double)(count / timing->wave) * timing->wave_us / 1e3;

    return rest == 0
               ? ms
               : ms + predict_part(timing, (double)rest / (double)timing->wave);
}

const warprsa_kernel_timing *
warprsa_kernel_timing_of(const warprsa_kernel_timings *timings,
                         warprsa_size_class size, const char *kernel)
{
    for (size_t i = 0; i < timings->count; i++)
        if (timings->row[i].size == size &&
            strcmp(timings->row[i].kernel, kernel) == 0)
            return &timings->row[i];
    return NULL;
}

/* The kernel of the fastest row, or NULL. Sets *best_ms to its predicted
 * milliseconds, or to 0. */
static const char *fastest(const warprsa_kernel_timings *timings,
                           warprsa_size_class size, size_t count,
                           double *best_ms)
{
    const char *best = NULL;

    *best_ms = 0;
    for (size_t i = 0; i < timings->count; i++) {
        const warprsa_kernel_timing *timing = &timings->row[i];
        double ms;

        if (timing->size != size || takes_items(timing))
            continue;
        ms = warprsa_predict_ms(timing, count);
        if (best == NULL || ms < *best_ms) {
            best = timing->kernel;
            *best_ms = ms;
        }
    }
    return best;
}

const char *warprsa_fastest_kernel(const warprsa_kernel_timings *timings,
                                   warprsa_size_class size, size_t count)
{
    double ms;

    return fastest(timings, size, count, &ms);
}

double warprsa_fastest_ms(const warprsa_kernel_timings *timings,
                          warprsa_size_class size, size_t count)
{
    double ms;

    (void)fastest(timings, size, count, &ms);
    return ms;
}

bool warprsa_kernel_timings_known(const char *device,
                                  warprsa_kernel_timings *timings)
{
    timings->count = 0;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].device, device) == 0)
            while (timings->count < KNOWN_ROWS_MAX &&
                   known[i].row[timings->count].kernel != NULL) {
                timings->row[timings->count] = known[i].row[timings->count];
                timings->count++;
            }
    return timings->count != 0;
}

/* Whether a row can be used; `candidate` is that of its class and kernel, or
 * NULL. */
static bool fits(const warprsa_kernel_timing *timing,
                 const warprsa_kernel_timing *candidate, size_t batch_max)
{
    return candidate != NULL &&
           timing->wave ==
               (candidate->wave < batch_max ? candidate->wave : batch_max) &&
           timing->one_us > 0 && timing->one_us <= timing->half_us &&
           timing->half_us <= timing->wave_us &&
           timing->wave_us <= WARPRSA_KERNEL_TIMING_US_MAX;
}

bool warprsa_kernel_timings_fit(const warprsa_kernel_timings *timings,
                                const warprsa_kernel_timings *candidates,
                                size_t batch_max)
{
    for (int size = 0; size < WARPRSA_CLASS_LARGE; size++)
        if (warprsa_fastest_kernel(timings, (warprsa_size_class)size, 1) ==
            NULL)
            return false;
    for (size_t i = 0; i < timings->count; i++)
        if (!fits(&timings->row[i],
                  warprsa_kernel_timing_of(candidates, timings->row[i].size,
                                           timings->row[i].kernel),
                  batch_max))
            return false;
    return true;
}
