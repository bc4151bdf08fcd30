/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Random instances of the paper's modular exponentiation on the device, and
 * the check of their results. One thread; errors end the program.
 */
#ifndef WARPRSA_BENCH_PAPER_RUN_H
#define WARPRSA_BENCH_PAPER_RUN_H

#include "bench/programs/exponents.h"
#include "bench/programs/launches.h"
#include "bench/programs/paper_kernel.h"

enum {
    PAPER_MODULI = 16, /* random odd ones with their top bit set, in turns */
};

typedef struct paper_run {
    const paper_shape *shape;
    size_t count;
    paper_batch batch; /* device memory, owned */
    uint64_t *a;       /* host */
    uint32_t *k;       /* host */
    uint64_t *p;       /* host, of all moduli */
    uint32_t *fixed;   /* host, the exponent of EXPONENTS_FIXED */
} paper_run;

/* The paper's kernel for numbers of half an RSA modulus of `bits`; NULL if it
 * has none. */
const paper_shape *paper_shape_of(size_t modulus_bits);

/* Makes `count` instances with random bases and exponents and copies them to
 * the device. paper_run_free() frees them. */
void paper_run_new(paper_run *run, const paper_shape *shape, size_t count);
void paper_run_free(paper_run *run);

/* Replaces the exponents. */
void paper_run_exponents(paper_run *run, exponents which);

typedef cudaError_t paper_launcher(const paper_shape *, const paper_batch *,
                                   cudaStream_t);

/* Runs the batch by one of the launchers of paper_kernel.h and returns the
 * kernel's time by CUDA events in milliseconds. `launched`, unless NULL, gets
 * the launch. */
double paper_run_kernel(const paper_run *run, paper_launcher *launcher,
                        cudaStream_t stream, launch *launched);

/* Compares up to `most` results, spread over the batch, with BN_mod_exp().
 * A wrong one ends the program. Returns how many were compared. */
size_t paper_run_check(const paper_run *run, size_t most);

#endif
