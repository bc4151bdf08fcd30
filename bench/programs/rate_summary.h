/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The summary of kernel_rate's table: for each size of RSA the fastest kernel
 * for batches of many keys, for batches of one key and for a single request,
 * and the project's goals for them.
 */
#ifndef WARPRSA_BENCH_RATE_SUMMARY_H
#define WARPRSA_BENCH_RATE_SUMMARY_H

#include "bench/programs/rate_row.h"

enum {
    RATE_SUMMARY_LINES = 4, /* of a size */
    RATE_SIZES = 4,
};

typedef struct rate_summary {
    char line[RATE_SUMMARY_LINES * RATE_SIZES][128];
    size_t count;
} rate_summary;

/* Adds the summary of `count` rows of one size. */
void rate_summary_add(rate_summary *summary, const rate_size *s,
                      const rate_row *rows, size_t count);

/* Prints it to stdout. */
void rate_summary_print(const rate_summary *summary);

#endif
