/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The modexp with a secret exponent that multiplies in blocks
 * (gpu/arith/block_mont_mul.h). The number x stays in the request's exchange
 * buffer from one product to the next.
 */
#ifndef WARPRSA_GPU_ARITH_BLOCK_MODEXP_H
#define WARPRSA_GPU_ARITH_BLOCK_MODEXP_H

#include "gpu/arith/private_operation.h"

/* Fills the table: entry 0 is R mod P, and each entry is the one before it
 * times x. */
WARPRSA_FN void
warprsa_block_table(const warprsa_number *x, const warprsa_number *one,
                    const warprsa_operation *op, const warprsa_modulus *p,
                    const int limbs, const int threads_per_number,
                    const int limbs_per_thread, const int threads_per_request)
{
    warprsa_number entry;

    warprsa_make_signed(&entry, x, threads_per_number, limbs_per_thread,
                        threads_per_request);
    warprsa_block_put_b(&entry, p->exchange, limbs, threads_per_number,
                        limbs_per_thread, threads_per_request);
    warprsa_make_signed(&entry, one, threads_per_number, limbs_per_thread,
                        threads_per_request);
    warprsa_block_put_a(&entry, p->exchange, limbs, threads_per_number,
                        limbs_per_thread, threads_per_request);
    WARPRSA_ROLLED
    for (int i = 0;; i++) {
        warprsa_table_put(op, i, &entry, limbs_per_thread, threads_per_request);
        if (i == WARPRSA_TABLE_SIZE - 1)
            break;
        warprsa_block_mont_mul(p->exchange, WARPRSA_EXCHANGE_B_MULTIPLIER,
                               limbs, threads_per_number, limbs_per_thread,
                               threads_per_request);
        warprsa_block_get_a(&entry, p->exchange, limbs, threads_per_number,
                            limbs_per_thread, threads_per_request);
    }
}

/* Computes x = x^dp, x^dq like warprsa_secret_modexp(). The squares and the
 * product that ends a digit share one copy of the code: a single warp also
 * waits for its instructions to be fetched. */
WARPRSA_FN void
warprsa_block_modexp(warprsa_number *x, const warprsa_number *one,
                     const warprsa_operation *op, const warprsa_modulus *p,
                     const int limbs, const int threads_per_number,
                     const int limbs_per_thread, const int threads_per_request)
{
    WARPRSA_STAGE(MODEXP);
    warprsa_number entry;
    uint32_t digit[WARPRSA_LANES_EMULATED];

    warprsa_block_table(x, one, op, p, limbs, threads_per_number,
                        limbs_per_thread, threads_per_request);
    warprsa_secret_digit(digit, op, op->windows - 1, threads_per_number,
                         threads_per_request);
    warprsa_table_get(&entry, op, digit, limbs_per_thread, threads_per_request);
    warprsa_block_put_a(&entry, p->exchange, limbs, threads_per_number,
                        limbs_per_thread, threads_per_request);
    WARPRSA_ROLLED
    for (int digit_index = op->windows - 2; digit_index >= 0; digit_index--) {
        warprsa_secret_digit(digit, op, digit_index, threads_per_number,
                             threads_per_request);
        warprsa_table_get(&entry, op, digit, limbs_per_thread,
                          threads_per_request);
        warprsa_block_put_b(&entry, p->exchange, limbs, threads_per_number,
                            limbs_per_thread, threads_per_request);
        WARPRSA_ROLLED
        for (int i = 0; i <= WARPRSA_WINDOW; i++)
            warprsa_block_mont_mul(p->exchange,
                                   i < WARPRSA_WINDOW
                                       ? WARPRSA_EXCHANGE_A_MULTIPLIER
                                       : WARPRSA_EXCHANGE_B_MULTIPLIER,
                                   limbs, threads_per_number, limbs_per_thread,
                                   threads_per_request);
    }
    warprsa_block_get_a(x, p->exchange, limbs, threads_per_number,
                        limbs_per_thread, threads_per_request);
    warprsa_table_wipe(op, limbs_per_thread, threads_per_request);
}

/* The first and the second stage, like warprsa_blind_and_modexp(). */
WARPRSA_FN void warprsa_block_blind_and_modexp(warprsa_number *x,
                                               const warprsa_operation *op,
                                               const int limbs,
                                               const int threads_per_number,
                                               const int limbs_per_thread)
{
    warprsa_modulus p;
    warprsa_number one = {0};

    warprsa_blind(x, &one, &p, op, limbs, threads_per_number, limbs_per_thread);
    warprsa_block_modexp(x, &one, op, &p, limbs, threads_per_number,
                         limbs_per_thread, 2 * threads_per_number);
}

#endif
