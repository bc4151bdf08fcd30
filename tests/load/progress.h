/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Signs of life of long measurements, for people and for files.
 */
#ifndef WARPRSA_LOAD_PROGRESS_H
#define WARPRSA_LOAD_PROGRESS_H

#include "measure.h"
#include "process_use.h"

typedef struct load_sample {
    const load_result *result; /* what is measured; without results yet */
    double at;                 /* seconds since the window's start */
    double rate;               /* since the sample before */
    uint64_t failed;
    load_process_use use;
    load_counters counters; /* since the window's start */
} load_sample;

/* A line on stderr, and a row of options->samples if that is set. */
void load_progress(const load_options *options, const load_sample *sample);

/* Empties the file of samples and writes its first line. */
void load_progress_begin(const load_options *options);

#endif
