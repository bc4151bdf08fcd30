/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A numbered step of the papers' benchmark: one system in one shape with one
 * batch. It is warmed up, checked against libcrypto, and only then timed. One
 * thread; errors, and wrong results, end the program.
 */
#ifndef WARPRSA_PAPERS_STEP_H
#define WARPRSA_PAPERS_STEP_H

#include <stdio.h>

#include "bench/programs/launches.h"
#include "bench/programs/papers/common/number.h"
#include "bench/programs/spread.h"

typedef struct papers_bench {
    char device[256];
    int sms;
    size_t runs;      /* timed ones of each step */
    bool quick;       /* the smallest batch of each shape alone */
    size_t steps;     /* done */
    const char *only; /* the system to run; NULL: all */
    FILE *csv;        /* or NULL */
    cudaStream_t stream;
} papers_bench;

typedef struct papers_step {
    const char *system, *variant, *operation;
    size_t bits;     /* of the modulus, of RSA or of the curve */
    size_t threads;  /* that compute one operation */
    size_t batch;    /* operations */
    double products; /* modular products of one operation */
    /* Queues the batch on the stream. */
    cudaError_t (*launch)(void *arg, cudaStream_t stream);
    /* Compares results with libcrypto's; returns how many, 0 if one is
     * wrong. */
    size_t (*check)(void *arg);
    void *arg;
} papers_step;

/* The first line of the CSV file. */
extern const char papers_csv_header[];

/* Runs the step, prints its line, and writes its row. */
void papers_step_run(papers_bench *b, const papers_step *step);

/* Writes a row for a step that ran on CPUs: `seconds` of one operation. */
void papers_cpu_row(papers_bench *b, const papers_step *step, spread seconds);

/* What the systems offer; each runs all of its steps. */
typedef void papers_system(papers_bench *b);
papers_system cios_steps, fios_steps, narrow_sample_steps, rns_steps,
    pshs_steps, p224_steps, wide_sample_steps;

#endif
