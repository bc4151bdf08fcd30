/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which secret exponents a batch is given, for the tests of constant time.
 */
#ifndef WARPRSA_BENCH_EXPONENTS_H
#define WARPRSA_BENCH_EXPONENTS_H

typedef enum exponents {
    EXPONENTS_ZEROS,
    EXPONENTS_ONES,   /* every bit that is raised by */
    EXPONENTS_FIXED,  /* one random one, the same each time, for all */
    EXPONENTS_RANDOM, /* other ones each time, for each key or instance */
    EXPONENTS
} exponents;

#endif
