/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The options of kernel_rate: what it is asked to measure.
 */
#ifndef WARPRSA_BENCH_RATE_OPTIONS_H
#define WARPRSA_BENCH_RATE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    RATE_LIST_MAX = 16,
    RATE_RUNS_MAX = 99,
};

typedef struct rate_options {
    size_t bits[RATE_LIST_MAX], bits_count;
    size_t batches[RATE_LIST_MAX], batches_count;
    const char *kernels[RATE_LIST_MAX];
    size_t kernels_count;
    size_t keys[RATE_LIST_MAX], keys_count;
    bool scan, direct;       /* how tables are read: one or both */
    size_t runs, whole_runs; /* timed, of a kernel and of all around it */
    size_t checks;           /* results of a row that are checked */
    const char *csv;         /* NULL: none */
} rate_options;

/* Parses the command line. Ends the program with a message and status 2 if an
 * argument is not allowed. --help, --list and --csv-header print their text and
 * end the program, too. */
void rate_options_parse(rate_options *o, int argc, char **argv);

/* The largest number of a list that has at least one. */
size_t rate_largest(const size_t *list, size_t count);

#endif
