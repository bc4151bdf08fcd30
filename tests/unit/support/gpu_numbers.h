/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Numbers for the tests of the arithmetic in gpu/: conversions between
 * libcrypto's numbers and samples, and numbers on which such arithmetic is most
 * likely to go wrong. Compiled, like those tests, once for each arithmetic of
 * gpu/arith/arithmetic.h; "2^B" is 2^WARPRSA_SAMPLE_BITS. Failures end the
 * cmocka test; main thread only.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_GPU_NUMBERS_H
#define WARPRSA_TESTS_UNIT_SUPPORT_GPU_NUMBERS_H

#include <stdio.h>

#include <openssl/bn.h>

#include "gpu/arith/private_operation.h"
#include "tests/unit/support/random_keys.h"
#include "tests/unit/support/unit_test.h"

/* How numbers are spread: a group of threads_per_request lanes holds subgroups
 * of threads_per_number lanes, each with one number of `limbs` samples; R =
 * 2^(B limbs). */
typedef struct number_view {
    int limbs, threads_per_number, limbs_per_thread, threads_per_request;
} number_view;

enum {
#ifdef WARPRSA_INT32
    NUMBER_SHAPES =
        2 * WARPRSA_CLASS_LARGE, /* for few requests, and for many */
#else
    NUMBER_SHAPES = WARPRSA_CLASS_LARGE,
#endif
    NUMBER_VIEWS = 2 * NUMBER_SHAPES,
    NUMBER_SAMPLES = WARPRSA_LANES_EMULATED * WARPRSA_LIMBS_PER_THREAD_MAX,
    NUMBER_SUBGROUPS = 2 /* at most */
};

/* Two views for each size class: its two primes at once, and its modulus. Where
 * an arithmetic has other shapes for many requests, these follow. */
number_view number_view_of(int index);
int number_subgroups(const number_view *view);
int number_samples(
    const number_view *view); /* that the lanes of a number hold; >= limbs */

/* The largest sample that results may have: 2^52 where a sample is a double. */
#ifdef WARPRSA_INT32
#define NUMBER_FULL WARPRSA_SAMPLE_MASK
#else
#define NUMBER_FULL (WARPRSA_SAMPLE_MASK + 1)
#endif

/* As warprsa_device_config has it. */
#ifdef WARPRSA_INT32
#define NUMBER_KERNEL "int32"
#else
#define NUMBER_KERNEL NULL
#endif

/* An integer from 0 to `most`. */
int number_sample_within(warprsa_sample_t sample, uint64_t most);

/* The longest modulus that the bounds in wide_sample.h allow. */
int number_modulus_bits(const number_view *view);

/* Where the tests' random choices start: WARPRSA_TEST_SEED, or 1. */
uint64_t number_seed(void);

/* Counts a wrong result and says which; `seed` makes the case again. */
void number_wrong(unsigned *wrong, const char *what, const number_view *view,
                  uint64_t seed);

/* One case of a test; counts what is wrong. */
typedef void number_case(const number_view *view, uint64_t seed,
                         unsigned *wrong);

/* Runs `count` cases with seeds in a row in each view, or in those of two
 * numbers at once alone; none may be wrong. */
void number_cases_in_views(number_case *one, unsigned count);
void number_cases_in_pairs(number_case *one, unsigned count);

/* An exponent of so many bits for windows of a modexp: random, all ones, 1 or
 * 0. `words` are those of a blinded exponent. */
void number_exponent(BIGNUM *to, uint32_t *words, int bits,
                     random_stream *stream);

/* Makes numbers of a context: `*first` and those that follow, NULL last. */
void number_make(BN_CTX *bn, BIGNUM **first, ...) __attribute__((sentinel));

/* 2^bits. */
void number_power_of_two(BIGNUM *to, int bits);

/* Unresolved columns, read unsigned. */
void number_from_columns(BIGNUM *to, const uint64_t *columns, int count);
void number_from_samples(BIGNUM *to, const warprsa_sample_t *samples,
                         int count);
/* Samples of either sign, all of them integers. */
void number_from_signed(BIGNUM *to, const double *samples, int count);
/* `from` must fit; each sample below 2^B. */
void number_to_samples(warprsa_sample_t *samples, const BIGNUM *from,
                       int count);

/* A subgroup's samples, number_samples() of them. */
void number_put(warprsa_number *to, const number_view *view, int subgroup,
                const warprsa_sample_t *samples);
void number_get(warprsa_sample_t *samples, const warprsa_number *from,
                const number_view *view, int subgroup);

/* An odd modulus from 2 bits up to max_bits, mostly of max_bits and mostly of
 * an awkward pattern: 2^k - 1, 2^(k-1) + 1, long runs, alternating bits. */
void number_modulus(BIGNUM *to, random_stream *stream, int max_bits);

/* One pattern of them; the number is odd and has exactly `bits` bits. */
enum {
    NUMBER_PATTERNS = 11
};
void number_pattern(BIGNUM *to, random_stream *stream, int pattern, int bits);

/* A number below `limit` in samples up to and with NUMBER_FULL, mostly awkward;
 * its value goes to `value`. */
void number_below(BIGNUM *value, warprsa_sample_t *samples, int count,
                  const BIGNUM *limit, random_stream *stream);

#endif
