/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A line of kernel_rate's table: one kernel with batches of one size.
 */
#ifndef WARPRSA_BENCH_RATE_ROW_H
#define WARPRSA_BENCH_RATE_ROW_H

#include <stdbool.h>
#include <stdio.h>

#include "tests/bench/launches.h"
#include "tests/bench/paper_kernel.h"
#include "tests/bench/spread.h"

/* Names of the columns of rate_row_write(); a line. */
extern const char rate_csv_header[];

typedef struct rate_machine {
    char name[256];
    int sms;
    int fp64_lanes; /* of one */
} rate_machine;

/* What the rows of one size of RSA have in common. */
typedef struct rate_size {
    const rate_machine *machine;
    const paper_shape *shape;
    spread baseline; /* halved rate of the paper's kernel, operations/s */
} rate_size;

typedef struct rate_row {
    const char *name;
    bool direct; /* table reads */
    size_t keys, batch, checked;
    spread kernel_ms, whole_ms; /* whole_ms.median 0: not there */
    launch main;                /* the longest kernel */
    size_t kernels;
    double clock;    /* Hz */
    double paper_ms; /* of the paper's kernel with this batch; 0: not run */
} rate_row;

/* Of the device that is current; errors end the program. */
void rate_machine_describe(rate_machine *m);

/* Operations a second, by the kernel's median time. */
double rate_of(const rate_row *r);

/* The table's head, its lines, and the same as CSV. */
void rate_head_print(void);
void rate_row_print(const rate_size *s, const rate_row *r);
void rate_row_write(FILE *csv, const rate_size *s, const rate_row *r);

#endif
