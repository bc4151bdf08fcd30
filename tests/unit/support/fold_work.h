/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What tests of gpu/kernels/fold share, with one thread a number or two: the
 * operands and primes that strain the bounds most, what columns and folded
 * numbers must be, and the memory of one group of whole operations. Failures
 * end the cmocka test.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_FOLD_WORK_H
#define WARPRSA_TESTS_UNIT_SUPPORT_FOLD_WORK_H

#include "gpu/kernels/fold/fold_operation.h"
#include "tests/unit/support/gpu_keys.h"
#include "tests/unit/support/gpu_numbers.h"

/* An operand: samples may be 2^52, but for those that fold.h bounds. */
void fold_operand(double *samples, int limbs, random_stream *stream);

/* `plain` are the columns of m n, each at its place: they stand for that, none
 * is negative or above the bound that fold.h states, and byte 7 of the last is
 * free. */
void fold_columns_are_right(uint64_t *plain, const double *m, const double *n,
                            int limbs, BN_CTX *bn);

/* The samples are of `expected` modulo the prime, up to 2^52, and below the
 * bound that fold.h states. */
void fold_result_is_right(const double *samples, const BIGNUM *expected,
                          const BIGNUM *prime, int limbs, BN_CTX *bn);

/* Row k of the matrix: the power of two that stands for byte k. */
int fold_row_bit(int k, int limbs);
/* That row: the power modulo p, or minus it where it stands for the bias. */
void fold_row(BIGNUM *to, const BIGNUM *p, int k, int limbs, BN_CTX *bn);
/* The matrix of a prime, from libcrypto's numbers. */
void fold_matrix(uint8_t *matrix, const BIGNUM *prime, int limbs, BN_CTX *bn);

/* The i-th prime for products: now and then one of fewer bits. */
void fold_prime(BIGNUM *to, unsigned i, int limbs, random_stream *stream);
/* The i-th prime for reductions, of any length that there may be. */
void fold_prime_to_reduce_by(BIGNUM *to, unsigned i, int limbs,
                             random_stream *stream);
/* A number around a multiple of the prime, below 2^39.5 p, `about` away from
 * it, -2 to 2. */
void fold_about_a_multiple(BIGNUM *to, const BIGNUM *prime, int about,
                           int limbs, random_stream *stream, BN_CTX *bn);

/* One group's memory, and the key it is for. */
typedef struct fold_work {
    warprsa_prepared_key key;
    made_key made;
    uint8_t matrix[2][WARPRSA_FOLD_MATRIX_BYTES(WARPRSA_FOLD_LIMBS_MAX)];
    double qinv[WARPRSA_FOLD_LIMBS_MAX];
    double registers[WARPRSA_FOLD_REGISTERS * WARPRSA_FOLD_LIMBS_MAX *
                     WARPRSA_MESSAGES];
    double roots[WARPRSA_FOLD_GROUP][2][WARPRSA_HALF_SAMPLES];
    uint32_t table[WARPRSA_FOLD_ENTRIES *
                   WARPRSA_FOLD_WORDS(WARPRSA_FOLD_LIMBS_MAX) *
                   WARPRSA_MESSAGES];
    uint32_t smem_pieces[WARPRSA_FOLD_PIECES_PER_PHASE(WARPRSA_FOLD_LIMBS_MAX) *
                         WARPRSA_FOLD_ENTRIES * WARPRSA_FOLD_PIECE_WORDS *
                         WARPRSA_MESSAGES];
    uint32_t
        selected[WARPRSA_FOLD_WORDS(WARPRSA_FOLD_LIMBS_MAX) * WARPRSA_MESSAGES];
    uint64_t random[WARPRSA_FOLD_GROUP][WARPRSA_RANDOM_WORDS];
    uint32_t exponent[WARPRSA_FOLD_GROUP][2][WARPRSA_BLINDED_WORDS];
    uint8_t input[WARPRSA_FOLD_GROUP][WARPRSA_MODULUS_BYTES_MAX];
    uint8_t output[WARPRSA_FOLD_GROUP][WARPRSA_MODULUS_BYTES_MAX];
    uint32_t status[WARPRSA_FOLD_GROUP];
    warprsa_operation operations[WARPRSA_FOLD_GROUP];
    warprsa_fold_program program;
    warprsa_fold_group group; /* of what is above */
} fold_work;

/* NULL if there is no memory. To be freed by free(). */
fold_work *fold_work_new(void);

/* A key with its matrices; made_key_free(&w->made) frees it. Returns how many
 * samples its primes have. */
int fold_use_key(fold_work *w, const key_recipe *recipe);

/* Operation i: blinding that is as long as it may be, and a message: 0, 1, 2,
 * n - 1, n - 2, p, q, -1 modulo one of them, all ones, or any. */
void fold_use_message(fold_work *w, int i, int which, random_stream *stream);

/* All operations have libcrypto's answers. */
void fold_answers_are_right(fold_work *w);

/* Runs a group with one wrong bit in an exponent of p (0) or q (1), of which a
 * result would be a factor for whoever got it: none passes, but for 0, which
 * has the same root whatever the exponent. */
void fold_wrong_half_does_not_pass(fold_work *w, const key_recipe *recipe,
                                   int half, void (*run)(void),
                                   random_stream *stream);

#endif
