/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which variant computes a batch soonest, from measured times.
 */
#ifndef WARPRSA_SELECTION_H
#define WARPRSA_SELECTION_H

#include "gpu/cuda/variants.h"

/* What a batch takes by one variant: `wave` operations are under way at once
 * on a full device, and one operation, half a wave and a whole one take these
 * times. A wave of 0: the variant has no kernel for the class. */
typedef struct warprsa_pace {
    uint32_t wave;
    float one_ms, half_ms, wave_ms;
} warprsa_pace;

/* Milliseconds that a batch of `count` takes: whole waves one after the other,
 * and the rest as fast as a batch of its size, between the measured points on
 * straight lines. A pure function. */
double warprsa_foretell_ms(const warprsa_pace *pace, size_t count);

/* The variant that takes the shortest time for a batch of this class. The
 * times are an H200's (tests/bench/kernel_select prints a device's own); waves
 * follow the number of multiprocessors. Any thread. */
const warprsa_variant *warprsa_fastest_variant(warprsa_size_class size,
                                               size_t count,
                                               unsigned multiprocessors);

#endif
