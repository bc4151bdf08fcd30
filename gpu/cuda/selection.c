/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gpu/cuda/selection.h"

enum {
    LANES,
    THREAD,
    CANDIDATES, /* the first in warprsa_variants; others are chosen by device */
    MEASURED_MULTIPROCESSORS = 132,
};

/* tests/bench/kernel_select on an NVIDIA H200; gpu/NOTES.md. */
static const warprsa_pace paces[WARPRSA_CLASSES][CANDIDATES] = {
    [WARPRSA_CLASS_1024] = {[LANES] = {16896, 0.777f, 1.265f, 2.256f},
                            [THREAD] = {25344, 2.946f, 3.082f, 3.268f}},
    [WARPRSA_CLASS_2048] = {[LANES] = {8448, 2.389f, 3.807f, 7.136f},
                            [THREAD] = {25344, 15.65f, 15.83f, 16.23f}},
    [WARPRSA_CLASS_3072] = {[LANES] = {4224, 5.494f, 7.615f, 13.608f},
                            [THREAD] = {16896, 35.91f, 36.60f, 36.90f}},
    [WARPRSA_CLASS_4096] = {[LANES] = {4224, 8.367f, 13.612f, 25.871f},
                            [THREAD] = {16896, 78.61f, 83.50f, 83.98f}},
};

double warprsa_foretell_ms(const warprsa_pace *pace, size_t count)
{
    const double rest = (double)(count % pace->wave) / (double)pace->wave;
    const double waves = (double)(count / pace->wave);
    double ms = waves * (double)pace->wave_ms;

    if (rest == 0)
        return ms;
    if (rest < 0.5)
        return ms + (double)pace->one_ms +
               2 * rest * (double)(pace->half_ms - pace->one_ms);
    return ms + (double)pace->half_ms +
           (2 * rest - 1) * (double)(pace->wave_ms - pace->half_ms);
}

const warprsa_variant *warprsa_fastest_variant(warprsa_size_class size,
                                               size_t count,
                                               unsigned multiprocessors)
{
    int best = LANES;
    double best_ms = 0;

    for (int i = 0; i < CANDIDATES; i++) {
        warprsa_pace pace = paces[size][i];
        double ms;

        pace.wave = pace.wave * multiprocessors / MEASURED_MULTIPROCESSORS;
        if (pace.wave == 0)
            continue;
        ms = warprsa_foretell_ms(&pace, count);
        if (best_ms == 0 || ms < best_ms) {
            best = i;
            best_ms = ms;
        }
    }
    return &warprsa_variants[best];
}
