/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kinds of secret exponents that the constant-time tests give a batch.
 */
#ifndef WARPRSA_BENCH_EXPONENTS_H
#define WARPRSA_BENCH_EXPONENTS_H

typedef enum exponents {
    EXPONENTS_ZEROS,
    EXPONENTS_ONES,   /* every bit that the kernel reads is one */
    EXPONENTS_FIXED,  /* one random exponent for all keys and all batches */
    EXPONENTS_RANDOM, /* a new one for each key or instance of each batch */
    EXPONENTS
} exponents;

#endif
