/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See selection.h.
 */
#include "gpu/select/selection.h"

#include <string.h>

/* The milliseconds of less than a wave of items. A block is full with the first
 * requests of its key. Items are cut, so that blocks have an SM to themselves
 * up to a quarter of a wave. Above half a wave they are not: a few that have to
 * share an SM then take as long as if all did. */
static double predict_items(const warprsa_kernel_timing *timing, double rest)
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

    if (timing->kernel->growth == WARPRSA_GROWS_BY_ITEMS)
        return predict_items(timing, rest);
    if (rest >= 0.5)
        return line;
    if (line >= chord)
        return chord;
    return line > one ? line : one;
}

double warprsa_predict_ms(const warprsa_kernel_timing *timing, size_t count)
{
    if (timing->kernel->growth == WARPRSA_GROWS_EVENLY && count > timing->wave)
        return line_of(timing, (double)count / (double)timing->wave);

    const size_t rest = count % timing->wave;
    const double ms = (double)(count / timing->wave) * timing->wave_us / 1e3;

    return rest == 0
               ? ms
               : ms + predict_part(timing, (double)rest / (double)timing->wave);
}

const warprsa_kernel_timing *
warprsa_kernel_timing_of(const warprsa_kernel_timings *timings,
                         warprsa_size_class size, const warprsa_kernel *kernel)
{
    for (size_t i = 0; i < timings->count; i++)
        if (timings->row[i].size == size && timings->row[i].kernel == kernel)
            return &timings->row[i];
    return NULL;
}

/* The kernel of the fastest row, or NULL. Sets *best_ms to its predicted
 * milliseconds, or to 0. */
static const warprsa_kernel *fastest(const warprsa_kernel_timings *timings,
                                     warprsa_size_class size, size_t count,
                                     double *best_ms)
{
    const warprsa_kernel *best = NULL;

    *best_ms = 0;
    for (size_t i = 0; i < timings->count; i++) {
        const warprsa_kernel_timing *timing = &timings->row[i];
        double ms;

        if (timing->size != size || timing->kernel->shares_key)
            continue;
        ms = warprsa_predict_ms(timing, count);
        if (best == NULL || ms < *best_ms) {
            best = timing->kernel;
            *best_ms = ms;
        }
    }
    return best;
}

const warprsa_kernel *
warprsa_fastest_kernel(const warprsa_kernel_timings *timings,
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

/* Appends the rows of one kernel on one GPU. */
static void add_known(warprsa_kernel_timings *timings,
                      const warprsa_kernel *kernel,
                      const warprsa_known_timings *known)
{
    for (int i = 0; i < WARPRSA_CLASS_LARGE; i++)
        if (known->of[i].wave != 0)
            timings->row[timings->count++] = (warprsa_kernel_timing){
                (warprsa_size_class)i, kernel,
                known->of[i].wave,     known->of[i].one_us,
                known->of[i].half_us,  known->of[i].wave_us};
}

bool warprsa_kernel_timings_known(const char *model,
                                  warprsa_kernel_timings *timings)
{
    timings->count = 0;
    for (int i = 0; i < WARPRSA_KERNELS; i++) {
        const warprsa_known_timings *known = warprsa_kernels[i]->known;

        for (; known != NULL && known->model != NULL; known++)
            if (strcmp(known->model, model) == 0)
                add_known(timings, warprsa_kernels[i], known);
    }
    return timings->count != 0;
}

void warprsa_kernel_timings_keep(warprsa_kernel_timings *timings,
                                 const warprsa_kernel_timings *candidates)
{
    size_t kept = 0;

    for (size_t i = 0; i < timings->count; i++)
        if (warprsa_kernel_timing_of(candidates, timings->row[i].size,
                                     timings->row[i].kernel) != NULL)
            timings->row[kept++] = timings->row[i];
    timings->count = kept;
}

/* Whether a row can be used; `candidate` is the candidate of its class and
 * kernel, or NULL. */
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
