/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/select/selection.h"

#include <string.h>

#include "gpu/kernels/kernel_names.h"

enum {
    KNOWN_ROWS_MAX = 16,
};

/* doc/kernels/README.md has what they were measured with. */
static const struct {
    const char *device;
    warprsa_pace row[KNOWN_ROWS_MAX]; /* the rest: no kernel */
} known[] = {
    {"NVIDIA H200",
     {{WARPRSA_CLASS_1024, "cooperative", 16896, 726, 1157, 2154},
      {WARPRSA_CLASS_2048, "cooperative", 8448, 2294, 3716, 7016},
      {WARPRSA_CLASS_3072, "cooperative", 4224, 5924, 7709, 13424},
      {WARPRSA_CLASS_4096, "cooperative", 4224, 8145, 13490, 25660},
      {WARPRSA_CLASS_1024, "thread", 25344, 2772, 2948, 3010},
      {WARPRSA_CLASS_2048, "thread", 25344, 15095, 15247, 15712},
      {WARPRSA_CLASS_3072, "thread", 16896, 34572, 35136, 35598},
      {WARPRSA_CLASS_4096, "thread", 16896, 75632, 77314, 77749},
      {WARPRSA_CLASS_1024, "low_latency", 2112, 472, 736, 1306},
      {WARPRSA_CLASS_2048, "low_latency", 2112, 1133, 1910, 3561},
      {WARPRSA_CLASS_3072, "low_latency", 1056, 3024, 3059, 5435},
      {WARPRSA_CLASS_4096, "low_latency", 1056, 5531, 5583, 9759},
      {WARPRSA_CLASS_2048, "fold", 16896, 4154, 4720, 6767},
      {WARPRSA_CLASS_3072, "fold", 16896, 19090, 20611, 20789},
      {WARPRSA_CLASS_4096, "fold", 16896, 43871, 47928, 47928}}},
    {"NVIDIA H100 80GB HBM3",
     {{WARPRSA_CLASS_1024, "cooperative", 16896, 724, 1154, 2167},
      {WARPRSA_CLASS_2048, "cooperative", 8448, 2292, 3723, 7028},
      {WARPRSA_CLASS_3072, "cooperative", 4224, 5920, 7716, 13404},
      {WARPRSA_CLASS_4096, "cooperative", 4224, 8150, 13453, 25613},
      {WARPRSA_CLASS_1024, "thread", 25344, 2762, 2960, 3039},
      {WARPRSA_CLASS_2048, "thread", 25344, 15188, 15252, 15887},
      {WARPRSA_CLASS_3072, "thread", 16896, 34538, 35405, 35494},
      {WARPRSA_CLASS_4096, "thread", 16896, 75233, 77478, 78098},
      {WARPRSA_CLASS_1024, "low_latency", 2112, 470, 731, 1317},
      {WARPRSA_CLASS_2048, "low_latency", 2112, 1131, 1924, 3606},
      {WARPRSA_CLASS_3072, "low_latency", 1056, 3019, 3052, 5428},
      {WARPRSA_CLASS_4096, "low_latency", 1056, 5505, 5557, 9745},
      {WARPRSA_CLASS_2048, "fold", 16896, 4011, 4678, 6770},
      {WARPRSA_CLASS_3072, "fold", 16896, 18916, 20430, 20467},
      {WARPRSA_CLASS_4096, "fold", 16896, 43041, 45991, 45991}}},
};

static bool is_fold(const warprsa_pace *pace)
{
    return strcmp(pace->kernel, WARPRSA_KERNEL_FOLD) == 0;
}

/* Less than half a wave, `rest` of one: what a few operations leave of a
 * multiprocessor costs the next ones nothing, so that they take what one takes
 * until the line of the second half, carried on downwards, is above that. A
 * block of the fold is full with the first requests of its key, and more of
 * them share the second cache and the power from the beginning. */
static double foretell_part(const warprsa_pace *pace, double rest)
{
    const double one = pace->one_us / 1e3, half = pace->half_us / 1e3;
    const double wave = pace->wave_us / 1e3;
    const double chord = one + 2 * rest * (half - one);
    const double line = half + (2 * rest - 1) * (wave - half);

    if (rest >= 0.5)
        return line;
    if (line >= chord || is_fold(pace))
        return chord;
    return line > one ? line : one;
}

double warprsa_foretell_ms(const warprsa_pace *pace, size_t count)
{
    const size_t rest = count % pace->wave;
    const double ms = (double)(count / pace->wave) * pace->wave_us / 1e3;

    return rest == 0
               ? ms
               : ms + foretell_part(pace, (double)rest / (double)pace->wave);
}

const warprsa_pace *warprsa_pace_of(const warprsa_paces *paces,
                                    warprsa_size_class size, const char *kernel)
{
    for (size_t i = 0; i < paces->count; i++)
        if (paces->row[i].size == size &&
            strcmp(paces->row[i].kernel, kernel) == 0)
            return &paces->row[i];
    return NULL;
}

/* The fastest row's kernel, or NULL, and its time. */
static const char *fastest(const warprsa_paces *paces, warprsa_size_class size,
                           size_t count, double *best_ms)
{
    const char *best = NULL;

    *best_ms = 0;
    for (size_t i = 0; i < paces->count; i++) {
        const warprsa_pace *pace = &paces->row[i];
        double ms;

        if (pace->size != size || is_fold(pace))
            continue;
        ms = warprsa_foretell_ms(pace, count);
        if (best == NULL || ms < *best_ms) {
            best = pace->kernel;
            *best_ms = ms;
        }
    }
    return best;
}

const char *warprsa_fastest_kernel(const warprsa_paces *paces,
                                   warprsa_size_class size, size_t count)
{
    double ms;

    return fastest(paces, size, count, &ms);
}

double warprsa_fastest_ms(const warprsa_paces *paces, warprsa_size_class size,
                          size_t count)
{
    double ms;

    (void)fastest(paces, size, count, &ms);
    return ms;
}

bool warprsa_paces_known(const char *device, warprsa_paces *paces)
{
    paces->count = 0;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].device, device) == 0)
            while (paces->count < KNOWN_ROWS_MAX &&
                   known[i].row[paces->count].kernel != NULL) {
                paces->row[paces->count] = known[i].row[paces->count];
                paces->count++;
            }
    return paces->count != 0;
}

static bool fits(const warprsa_pace *pace, const warprsa_pace *candidate,
                 size_t batch_max)
{
    return candidate != NULL &&
           pace->wave ==
               (candidate->wave < batch_max ? candidate->wave : batch_max) &&
           pace->one_us > 0 && pace->one_us <= pace->half_us &&
           pace->half_us <= pace->wave_us &&
           pace->wave_us <= WARPRSA_PACE_US_MAX;
}

bool warprsa_paces_fit(const warprsa_paces *paces,
                       const warprsa_paces *candidates, size_t batch_max)
{
    for (int size = 0; size < WARPRSA_CLASSES; size++)
        if (warprsa_fastest_kernel(paces, (warprsa_size_class)size, 1) == NULL)
            return false;
    for (size_t i = 0; i < paces->count; i++)
        if (!fits(&paces->row[i],
                  warprsa_pace_of(candidates, paces->row[i].size,
                                  paces->row[i].kernel),
                  batch_max))
            return false;
    return true;
}
