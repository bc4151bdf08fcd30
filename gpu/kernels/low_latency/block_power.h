/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The secret power over the product in blocks (gpu/arith/block_product.h): x stays in
 * the request's room from one product to the next.
 */
#ifndef WARPRSA_GPU_KERNELS_LOW_LATENCY_BLOCK_POWER_H
#define WARPRSA_GPU_KERNELS_LOW_LATENCY_BLOCK_POWER_H

#include "gpu/arith/private_operation.h"

/* Entries of the table: R mod P and what x makes of it, one after the other. */
WARPRSA_FN void warprsa_block_table(const warprsa_number *x,
                                    const warprsa_number *one,
                                    const warprsa_operation *op,
                                    const warprsa_modulus *p, const int rows,
                                    const int width, const int L, const int G)
{
    warprsa_number entry;

    warprsa_make_signed(&entry, x, width, L, G);
    warprsa_block_put_other(&entry, p->room, rows, width, L, G);
    warprsa_make_signed(&entry, one, width, L, G);
    warprsa_block_put(&entry, p->room, rows, width, L, G);
    WARPRSA_ROLLED
    for (int i = 0;; i++) {
        warprsa_table_put(op, i, &entry, L, G);
        if (i == WARPRSA_TABLE_SIZE - 1)
            break;
        warprsa_block_mont_mul(p->room, WARPRSA_ROOM_OTHER, rows, width, L, G);
        warprsa_block_get(&entry, p->room, rows, width, L, G);
    }
}

/* As warprsa_secret_modexp(): x = x^dp, x^dq. Squares and the product that ends
 * a digit are the same code, for a lone warp waits for its instructions, too.
 */
WARPRSA_FN void warprsa_block_modexp(warprsa_number *x,
                                     const warprsa_number *one,
                                     const warprsa_operation *op,
                                     const warprsa_modulus *p, const int rows,
                                     const int width, const int L, const int G)
{
    WARPRSA_STAGE(MODEXP);
    warprsa_number entry;
    uint32_t digit[WARPRSA_SLOTS];

    warprsa_block_table(x, one, op, p, rows, width, L, G);
    warprsa_secret_digit(digit, op, op->windows - 1, width, G);
    warprsa_table_get(&entry, op, digit, L, G);
    warprsa_block_put(&entry, p->room, rows, width, L, G);
    WARPRSA_ROLLED
    for (int place = op->windows - 2; place >= 0; place--) {
        warprsa_secret_digit(digit, op, place, width, G);
        warprsa_table_get(&entry, op, digit, L, G);
        warprsa_block_put_other(&entry, p->room, rows, width, L, G);
        WARPRSA_ROLLED
        for (int i = 0; i <= WARPRSA_WINDOW; i++)
            warprsa_block_mont_mul(p->room,
                                   i < WARPRSA_WINDOW ? WARPRSA_ROOM_OWN
                                                      : WARPRSA_ROOM_OTHER,
                                   rows, width, L, G);
    }
    warprsa_block_get(x, p->room, rows, width, L, G);
    warprsa_table_wipe(op, L, G);
}

/* First and second stage, as warprsa_blind_and_modexp(). */
WARPRSA_FN void warprsa_block_blind_and_modexp(warprsa_number *x,
                                               const warprsa_operation *op,
                                               const int rows, const int width,
                                               const int L)
{
    warprsa_modulus p;
    warprsa_number one = {0};

    warprsa_blind(x, &one, &p, op, rows, width, L);
    warprsa_block_modexp(x, &one, op, &p, rows, width, L, 2 * width);
}

#endif
