/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A row of kernel_rate's table: one kernel with batches of one size.
 */
#ifndef WARPRSA_BENCH_RATE_ROW_H
#define WARPRSA_BENCH_RATE_ROW_H

#include <stdbool.h>
#include <stdio.h>

#include "bench/programs/launches.h"
#include "bench/programs/paper_kernel.h"
#include "bench/programs/spread.h"

/* The first line of the CSV file: the names of rate_row_write()'s columns. */
extern const char rate_csv_header[];

typedef struct rate_machine {
    char name[256];
    int sms;
    int fp64_lanes; /* units for double precision of one SM */
} rate_machine;

/* What the rows of one size of RSA have in common. */
typedef struct rate_size {
    const rate_machine *machine;
    const paper_shape *shape;
    spread baseline; /* half the paper's exponentiations per second */
} rate_size;

typedef struct rate_row {
    const char *name;
    bool direct; /* tables are read at secret indices, not scanned */
    size_t keys, batch, checked;
    spread kernel_ms, whole_ms; /* whole_ms.median 0: not measured */
    launch main;                /* the launch that took the most time */
    size_t kernels;             /* launches of a batch */
    double clock;               /* Hz */
    double paper_ms; /* of the paper's kernel with this batch; 0: not run */
} rate_row;

/* Describes device 0; errors end the program. */
void rate_machine_describe(rate_machine *m);

/* Operations per second, by the kernel's median time. */
double rate_of(const rate_row *r);

/* Print the table's head and a row to stdout, and a row to a CSV file. */
void rate_head_print(void);
void rate_row_print(const rate_size *s, const rate_row *r);
void rate_row_write(FILE *csv, const rate_size *s, const rate_row *r);

#endif
