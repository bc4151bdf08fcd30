/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/cuda/selection.h"

#include <string.h>

enum {
    KNOWN_ROWS_MAX = 16,
};

/* gpu/NOTES.md has what they were measured with. */
static const struct {
    const char *device;
    warprsa_pace row[KNOWN_ROWS_MAX]; /* the rest: no variant */
} known[] = {
    {"NVIDIA H200",
     {{WARPRSA_CLASS_1024, "lanes", 16896, 723, 1150, 2147},
      {WARPRSA_CLASS_1024, "thread", 25344, 2841, 3023, 3091},
      {WARPRSA_CLASS_2048, "lanes", 8448, 2288, 3720, 7008},
      {WARPRSA_CLASS_2048, "thread", 25344, 15370, 15526, 15823},
      {WARPRSA_CLASS_3072, "lanes", 4224, 5925, 7708, 13429},
      {WARPRSA_CLASS_3072, "thread", 16896, 35831, 36616, 36616},
      {WARPRSA_CLASS_4096, "lanes", 4224, 8139, 13453, 25622},
      {WARPRSA_CLASS_4096, "thread", 16896, 77976, 79764, 79764},
      {WARPRSA_CLASS_1024, "blocks", 2112, 471, 734, 1316},
      {WARPRSA_CLASS_2048, "blocks", 2112, 1130, 1932, 3592},
      {WARPRSA_CLASS_3072, "blocks", 1056, 3026, 3057, 5431},
      {WARPRSA_CLASS_4096, "blocks", 1056, 5510, 5563, 9740},
      {WARPRSA_CLASS_2048, "fold", 16896, 4758, 5341, 7319},
      {WARPRSA_CLASS_3072, "fold", 16896, 28631, 29630, 29818}}},
};

static bool is_fold(const warprsa_pace *pace)
{
    return strcmp(pace->variant, WARPRSA_VARIANT_FOLD) == 0;
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
                                    warprsa_size_class size,
                                    const char *variant)
{
    for (size_t i = 0; i < paces->count; i++)
        if (paces->row[i].size == size &&
            strcmp(paces->row[i].variant, variant) == 0)
            return &paces->row[i];
    return NULL;
}

/* The fastest row's variant, or NULL, and its time. */
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
            best = pace->variant;
            *best_ms = ms;
        }
    }
    return best;
}

const char *warprsa_fastest_variant(const warprsa_paces *paces,
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
                   known[i].row[paces->count].variant != NULL) {
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
        if (warprsa_fastest_variant(paces, (warprsa_size_class)size, 1) == NULL)
            return false;
    for (size_t i = 0; i < paces->count; i++)
        if (!fits(&paces->row[i],
                  warprsa_pace_of(candidates, paces->row[i].size,
                                  paces->row[i].variant),
                  batch_max))
            return false;
    return true;
}
