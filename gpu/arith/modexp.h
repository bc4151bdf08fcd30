/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Exponentiations by a group of lanes: by the public exponent, and by those of
 * both primes, which are secret, with fixed windows and a table.
 *
 * Nothing here branches on, or addresses memory by, anything but sizes and the
 * public exponent, unless direct_table_reads is set. operation.h has the
 * parameters that many functions share.
 */
#ifndef WARPRSA_GPU_ARITH_MODEXP_H
#define WARPRSA_GPU_ARITH_MODEXP_H

#include "gpu/arith/operation.h"

#ifdef WARPRSA_BLOCK_ARITH
/* r = x^e, for public e >= 2; x in Montgomery form. A request has a warp, so
 * all of it has the same e. The number stays in the exchange buffer from one
 * product to the next. */
WARPRSA_FN void warprsa_public_modexp(warprsa_number *r,
                                      const warprsa_number *x,
                                      const warprsa_number *one, uint64_t e,
                                      const warprsa_modulus *p, const int limbs,
                                      const int threads_per_number,
                                      const int limbs_per_thread,
                                      const int threads_per_request)
{
    int bit = 63;

    (void)one;
    while ((e >> bit & 1) == 0)
        bit--;
    warprsa_make_signed(r, x, threads_per_number, limbs_per_thread,
                        threads_per_request);
    warprsa_block_put_a(r, p->exchange, limbs, threads_per_number,
                        limbs_per_thread, threads_per_request);
    warprsa_block_put_b(r, p->exchange, limbs, threads_per_number,
                        limbs_per_thread, threads_per_request);
    WARPRSA_ROLLED
    while (bit-- > 0) {
        WARPRSA_ROLLED
        for (int i = 0; i <= (int)(e >> bit & 1); i++)
            warprsa_block_mont_mul(p->exchange,
                                   i == 0 ? WARPRSA_EXCHANGE_A_MULTIPLIER
                                          : WARPRSA_EXCHANGE_B_MULTIPLIER,
                                   limbs, threads_per_number, limbs_per_thread,
                                   threads_per_request);
    }
    warprsa_block_get_a(r, p->exchange, limbs, threads_per_number,
                        limbs_per_thread, threads_per_request);
}
#else
/*
 * r = x^e, for public e >= 2; x in Montgomery form, `one` is R mod P; r must
 * not be x.
 *
 * Requests with different e may share a warp. All of them take as many turns as
 * the largest e of the warp has bits, and all multiply where any of them has a
 * one. e is public, so this loop may depend on it.
 */
WARPRSA_FN void warprsa_public_modexp(warprsa_number *r,
                                      const warprsa_number *x,
                                      const warprsa_number *one, uint64_t e,
                                      const warprsa_modulus *p, const int limbs,
                                      const int threads_per_number,
                                      const int limbs_per_thread,
                                      const int threads_per_request)
{
    uint32_t high = warprsa_largest_in_warp((uint32_t)(e >> 32));
    uint32_t low = warprsa_largest_in_warp((uint32_t)e);
    int top = high != 0 ? 63 : 31;
    warprsa_number multiplied;

    while ((((high != 0 ? high : low) >> (top & 31)) & 1) == 0)
        top--;
    warprsa_choose(r, (uint32_t)(e >> top) & 1, x, one, limbs_per_thread,
                   threads_per_request);
    WARPRSA_ROLLED
    for (int bit = top - 1; bit >= 0; bit--) {
        uint32_t digit = (uint32_t)(e >> bit) & 1;

        warprsa_mont_mul(r, r, r, p, limbs, threads_per_number,
                         limbs_per_thread, threads_per_request);
        if (warprsa_largest_in_warp(digit) != 0) {
            warprsa_mont_mul(&multiplied, r, x, p, limbs, threads_per_number,
                             limbs_per_thread, threads_per_request);
            warprsa_choose(r, digit, &multiplied, r, limbs_per_thread,
                           threads_per_request);
        }
    }
}
#endif

WARPRSA_FN void warprsa_table_put(const warprsa_operation *op, int entry,
                                  const warprsa_number *x,
                                  const int limbs_per_thread,
                                  const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            op->table[(entry * limbs_per_thread + i) * op->table_stride + k] =
                x->of[k][i];
    }
}

/* Loads entry `digit` of each lane by reading all entries and keeping one:
 * neither the addresses nor the number of reads depend on the digit. */
WARPRSA_FN void warprsa_table_scan(warprsa_number *to,
                                   const warprsa_operation *op,
                                   const uint32_t *digit,
                                   const int limbs_per_thread,
                                   const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        uint64_t kept[WARPRSA_LIMBS_PER_THREAD_MAX] = {0};

        WARPRSA_UNROLL
        for (uint32_t entry = 0; entry < WARPRSA_TABLE_SIZE; entry++) {
            /* All ones if equal, else zero: the difference is below 2^31. */
            uint64_t mask =
                (uint64_t)(int64_t)((int32_t)((entry ^ digit[k]) - 1) >> 31);

#ifndef __CUDACC__
            /* Clang 19 would know the mask's two values, and branch. */
            __asm__("" : "+r"(mask));
#endif
            WARPRSA_UNROLL
            for (int i = 0; i < limbs_per_thread; i++)
                kept[i] |=
                    mask &
                    warprsa_bits(op->table[((int)entry * limbs_per_thread + i) *
                                               op->table_stride +
                                           k]);
        }
        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            to->of[k][i] = warprsa_from_bits(kept[i]);
    }
}

/* The same by reading one entry alone, at an address that reveals the digit. */
WARPRSA_FN void warprsa_table_pick(warprsa_number *to,
                                   const warprsa_operation *op,
                                   const uint32_t *digit,
                                   const int limbs_per_thread,
                                   const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            to->of[k][i] = op->table[((int)digit[k] * limbs_per_thread + i) *
                                         op->table_stride +
                                     k];
    }
}

WARPRSA_FN void warprsa_table_get(warprsa_number *to,
                                  const warprsa_operation *op,
                                  const uint32_t *digit,
                                  const int limbs_per_thread,
                                  const int threads_per_request)
{
    if (op->direct_table_reads)
        warprsa_table_pick(to, op, digit, limbs_per_thread,
                           threads_per_request);
    else
        warprsa_table_scan(to, op, digit, limbs_per_thread,
                           threads_per_request);
}

/* Digit `index` of each half's blinded exponent, 0 the lowest. */
WARPRSA_FN void warprsa_secret_digit(uint32_t *digit,
                                     const warprsa_operation *op, int index,
                                     const int threads_per_number,
                                     const int threads_per_request)
{
    const int per_word = 32 / WARPRSA_WINDOW;

    WARPRSA_EACH_LANE (k, threads_per_request) {
        const uint32_t *exponent =
            op->exponent +
            (warprsa_lane(k, threads_per_request) >= threads_per_number
                 ? WARPRSA_BLINDED_WORDS
                 : 0);

        digit[k] = (exponent[index / per_word] >>
                    (WARPRSA_WINDOW * (index % per_word))) &
                   (WARPRSA_TABLE_SIZE - 1);
    }
}

/* Wipes the table: the powers of x are secret. */
WARPRSA_FN void warprsa_table_wipe(const warprsa_operation *op,
                                   const int limbs_per_thread,
                                   const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        WARPRSA_ROLLED
        for (int i = 0; i < WARPRSA_TABLE_SIZE * limbs_per_thread; i++)
            *(volatile warprsa_sample_t *)&op->table[i * op->table_stride + k] =
                0;
    }
}

#ifndef WARPRSA_BLOCK_ARITH /* gpu/arith/block_modexp.h instead */
/* x = x^dp, x^dq. Fixed windows over all bits that a blinded exponent may have,
 * so that neither its value nor its length shows in the time. */
WARPRSA_FN void
warprsa_secret_modexp(warprsa_number *x, const warprsa_number *one,
                      const warprsa_operation *op, const warprsa_modulus *p,
                      const int limbs, const int threads_per_number,
                      const int limbs_per_thread, const int threads_per_request)
{
    WARPRSA_STAGE(MODEXP);
    warprsa_number entry = *one;
    uint32_t digit[WARPRSA_LANES_EMULATED];
    int index = op->windows - 1;

    WARPRSA_ROLLED
    for (int i = 0; i < WARPRSA_TABLE_SIZE; i++) {
        warprsa_table_put(op, i, &entry, limbs_per_thread, threads_per_request);
        warprsa_mont_mul(&entry, &entry, x, p, limbs, threads_per_number,
                         limbs_per_thread, threads_per_request);
    }
    warprsa_secret_digit(digit, op, index, threads_per_number,
                         threads_per_request);
    warprsa_table_get(x, op, digit, limbs_per_thread, threads_per_request);
    WARPRSA_ROLLED
    for (index--; index >= 0; index--) {
        WARPRSA_ROLLED
        for (int i = 0; i < WARPRSA_WINDOW; i++)
            warprsa_mont_sqr(x, x, p, limbs, threads_per_number,
                             limbs_per_thread, threads_per_request);
        warprsa_secret_digit(digit, op, index, threads_per_number,
                             threads_per_request);
        warprsa_table_get(&entry, op, digit, limbs_per_thread,
                          threads_per_request);
        warprsa_mont_mul(x, x, &entry, p, limbs, threads_per_number,
                         limbs_per_thread, threads_per_request);
    }
    warprsa_table_wipe(op, limbs_per_thread, threads_per_request);
}
#endif

#endif
