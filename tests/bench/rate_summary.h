/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What kernel_rate's table comes down to: of each size of RSA the best kernel
 * for batches of many keys, for those of one key and for a single request,
 * beside what this project wants of it.
 */
#ifndef WARPRSA_BENCH_RATE_SUMMARY_H
#define WARPRSA_BENCH_RATE_SUMMARY_H

#include "tests/bench/rate_row.h"

enum {
    RATE_SUMMARY_LINES = 4, /* of a size */
    RATE_SIZES = 4,
};

typedef struct rate_summary {
    char line[RATE_SUMMARY_LINES * RATE_SIZES][128];
    size_t count;
} rate_summary;

/* Adds what the rows of a size come down to. */
void rate_summary_add(rate_summary *summary, const rate_size *s,
                      const rate_row *rows, size_t count);

void rate_summary_print(const rate_summary *summary);

#endif
