/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The progress of long measurements, for people and in a file.
 */
#ifndef WARPRSA_LOAD_PROGRESS_H
#define WARPRSA_LOAD_PROGRESS_H

#include "bench/load/measure.h"
#include "bench/load/process_use.h"

typedef struct load_sample {
    const load_result *result; /* its settings; the results are not set yet */
    double at;                 /* seconds since the window's start */
    double rate;               /* since the sample before */
    uint64_t failed;
    /* Of operations that have ended since the sample before, each from when it
     * was due. */
    uint64_t p50_ns, p99_ns, p999_ns, most_ns;
    load_process_use use;
    load_counters counters; /* events since the window's start; others now */
} load_sample;

/* Prints a line on stderr, and adds a row to the file options->samples if that
 * is set. */
void load_progress(const load_options *options, const load_sample *sample);

/* Empties the file of samples and writes the line of its columns' names. */
void load_progress_begin(const load_options *options);

#endif
