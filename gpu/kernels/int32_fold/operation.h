/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The private operation of one request, by the fold in integers: its beginning
 * and its secret power modulo each prime, and its end. A thread of the device
 * has one number; the threads of a warp go through all of this together, since
 * they fold together. On the host each number goes by itself.
 *
 * No branch and no address depends on anything but sizes and the public
 * exponent. An entry of the table is selected by reading all of them.
 */
#ifndef WARPRSA_GPU_KERNELS_INT32_FOLD_OPERATION_H
#define WARPRSA_GPU_KERNELS_INT32_FOLD_OPERATION_H

#include "gpu/kernels/int32_fold/int_fold.h"
#include "gpu/kernels/int32_fold/key.h"
#include "gpu/kernels/int32_fold/program.h"

/* Bits of a digit of the secret exponent. With 48 limbs a product takes so long
 * that reading 15 entries pays; with 64, reading them takes longer. */
#define WARPRSA_INT_FOLD_WINDOW(limbs) ((limbs) == 48 ? 4 : 3)
#define WARPRSA_INT_FOLD_ENTRIES(limbs)                                        \
    ((1 << WARPRSA_INT_FOLD_WINDOW(limbs)) - 1)

/* Words of a thread's memory: the registers of a program; or a table, u as one
 * more entry, and the blinded exponent, of n + 2 words. */
#define WARPRSA_INT_FOLD_MEMORY_WORDS(limbs)                                   \
    ((WARPRSA_INT_FOLD_ENTRIES(limbs) + 2) * (limbs) + 4)

WARPRSA_FN void warprsa_int_fold_load(uint32_t *to, const uint32_t *from)
{
#ifdef __CUDACC__
    const uint4 words = *reinterpret_cast<const uint4 *>(from);

    to[0] = words.x;
    to[1] = words.y;
    to[2] = words.z;
    to[3] = words.w;
#else
    memcpy(to, from, 4 * sizeof(*to));
#endif
}

WARPRSA_FN void warprsa_int_fold_store(uint32_t *to, const uint32_t *from)
{
#ifdef __CUDACC__
    *reinterpret_cast<uint4 *>(to) =
        make_uint4(from[0], from[1], from[2], from[3]);
#else
    memcpy(to, from, 4 * sizeof(*to));
#endif
}

/* A number whose chunks are `apart` chunks apart. */
WARPRSA_FN void warprsa_int_fold_load_number(uint32_t *x, const uint32_t *from,
                                             int apart, const int n)
{
    WARPRSA_UNROLL
    for (int c = 0; c < WARPRSA_INT_FOLD_CHUNKS(n); c++)
        warprsa_int_fold_load(x + 4 * c, from + 4 * c * apart);
}

WARPRSA_FN void warprsa_int_fold_store_number(uint32_t *to, const uint32_t *x,
                                              int apart, const int n)
{
    WARPRSA_UNROLL
    for (int c = 0; c < WARPRSA_INT_FOLD_CHUNKS(n); c++)
        warprsa_int_fold_store(to + 4 * c * apart, x + 4 * c);
}

WARPRSA_FN uint32_t *warprsa_int_fold_register(const warprsa_int_fold_group *g,
                                               int reg, const int n)
{
    return g->registers + reg * n * g->stride;
}

/* Entry `entry` of the table, x^entry F, from 1 on. */
WARPRSA_FN uint32_t *warprsa_int_fold_entry(const warprsa_int_fold_group *g,
                                            int entry, const int n)
{
    return g->table + (entry - 1) * n * g->stride;
}

/* Puts a number into the row, as the operand of a multiplication. */
WARPRSA_FN void warprsa_int_fold_put_operand(const warprsa_int_fold_group *g,
                                             const uint32_t *from, int apart,
                                             const int n)
{
    WARPRSA_UNROLL
    for (int c = 0; c < WARPRSA_INT_FOLD_CHUNKS(n); c++) {
        uint32_t four[4];

        warprsa_int_fold_load(four, from + 4 * c * apart);
        warprsa_int_fold_put_words(
            warprsa_int_fold_chunk(g->row, c, WARPRSA_INT_FOLD_KIND(n)),
            four[0], four[1], four[2], four[3]);
    }
}

/* Puts F^k there. */
WARPRSA_FN void warprsa_int_fold_put_power_of_f(const warprsa_int_fold_group *g,
                                                int k, const int n)
{
    WARPRSA_UNROLL
    for (int c = 0; c < WARPRSA_INT_FOLD_CHUNKS(n); c++)
        warprsa_int_fold_put_words(
            warprsa_int_fold_chunk(g->row, c, WARPRSA_INT_FOLD_KIND(n)),
            c == 0 && k == 0, c == 0 && k == 1, c == 0 && k == 2,
            c == 0 && k == 3);
}

/* Puts chunk c of entry `digit` of the table there. Entry 0 is F. */
WARPRSA_FN void warprsa_int_fold_select_chunk(const warprsa_int_fold_group *g,
                                              uint32_t digit, int c,
                                              const int n)
{
    uint32_t chosen[4] = {0, c == 0 && digit == 0, 0, 0};

    WARPRSA_UNROLL
    for (int e = 1; e <= WARPRSA_INT_FOLD_ENTRIES(n); e++) {
        const uint32_t mask = digit == (uint32_t)e ? 0xFFFFFFFFu : 0;
        uint32_t four[4];

        warprsa_int_fold_load(four, warprsa_int_fold_entry(g, e, n) +
                                        4 * c * g->stride);
        WARPRSA_UNROLL
        for (int i = 0; i < 4; i++)
            chosen[i] |= four[i] & mask;
    }
    warprsa_int_fold_put_words(
        warprsa_int_fold_chunk(g->row, c, WARPRSA_INT_FOLD_KIND(n)), chosen[0],
        chosen[1], chosen[2], chosen[3]);
}

/* Puts that entry there. Some chunks of all entries are read together. */
WARPRSA_FN void warprsa_int_fold_select(const warprsa_int_fold_group *g,
                                        uint32_t digit, const int n)
{
    const int together = n == 48 ? 3 : 4;

    WARPRSA_ROLLED
    for (int c = 0; c < WARPRSA_INT_FOLD_CHUNKS(n); c += together) {
        WARPRSA_UNROLL
        for (int i = 0; i < together; i++)
            warprsa_int_fold_select_chunk(g, digit, c + i, n);
    }
}

/* Word i of the blinded exponent, behind the table. */
WARPRSA_FN uint32_t *
warprsa_int_fold_exponent_word(const warprsa_int_fold_group *g, int i,
                               const int n)
{
    return warprsa_int_fold_entry(g, WARPRSA_INT_FOLD_ENTRIES(n) + 2, n) +
           i / 4 * 4 * g->stride + i % 4;
}

/* Digit `position` of it. */
WARPRSA_FN uint32_t warprsa_int_fold_exponent_digit(
    const warprsa_int_fold_group *g, int position, const int n)
{
    const int bit = WARPRSA_INT_FOLD_WINDOW(n) * position, word = bit / 32;
    const uint64_t words =
        *warprsa_int_fold_exponent_word(g, word, n) |
        (uint64_t)*warprsa_int_fold_exponent_word(g, word + 1, n) << 32;

    return (uint32_t)(words >> bit % 32) & WARPRSA_INT_FOLD_ENTRIES(n);
}

/* Digits of an exponent that has `windows` windows of WARPRSA_WINDOW bits. */
WARPRSA_FN int warprsa_int_fold_digits_of(int windows, const int n)
{
    return (windows * WARPRSA_WINDOW + WARPRSA_INT_FOLD_WINDOW(n) - 1) /
           WARPRSA_INT_FOLD_WINDOW(n);
}

/*
 * x = x^exponent u, exactly reduced, where x F is entry 1, and u and the
 * exponent lie behind the table. The other entries come first, then digit by
 * digit squares and a product with an entry, and at last the product with u. It
 * is one loop, so that there is one square, one multiplication and one fold for
 * the instruction cache to hold.
 */
WARPRSA_FN void warprsa_int_fold_power(uint32_t *x,
                                       const warprsa_int_fold_group *g,
                                       int digits, const int n)
{
    const int window = WARPRSA_INT_FOLD_WINDOW(n);
    const int made = WARPRSA_INT_FOLD_ENTRIES(n) - 1;
    const int steps = made + (digits - 1) * (window + 1) + 1;
    int phase = 0, position = digits - 1;

    warprsa_int_fold_load_number(x, warprsa_int_fold_entry(g, 1, n), g->stride,
                                 n);
    WARPRSA_ROLLED
    for (int step = 0; step < steps; step++) {
        const bool makes = step < made, last = step == steps - 1;
        uint32_t s[2 * WARPRSA_INT_FOLD_LIMBS_MAX];

        if (makes || last || phase == window) {
            if (makes || last) {
                warprsa_int_fold_put_operand(
                    g, warprsa_int_fold_entry(g, last ? made + 2 : 1, n),
                    g->stride, n);
            } else {
                warprsa_int_fold_select(
                    g, warprsa_int_fold_exponent_digit(g, position, n), n);
                phase = -1;
                position--;
            }
            warprsa_int_fold_multiply(s, x, g->row, g->stage, n);
        } else {
            warprsa_int_fold_square(s, x, g->row, g->stage, n);
        }
        warprsa_int_fold(x, s, g, n);
        if (makes) {
            warprsa_int_fold_store_number(
                warprsa_int_fold_entry(g, step + 2, n), x, g->stride, n);
            if (step == made - 1) {
                warprsa_int_fold_select(
                    g, warprsa_int_fold_exponent_digit(g, position, n), n);
                warprsa_int_fold_get(x, g->row, 0, WARPRSA_INT_FOLD_KIND(n), n);
                position--;
            }
        } else {
            phase++;
        }
    }
    warprsa_int_fold_reduce(x, g->prime, n);
}

/* Puts the operand of an instruction that multiplies into the row. */
WARPRSA_FN void
warprsa_int_fold_put_operand_of(const warprsa_int_fold_group *g,
                                const warprsa_int_fold_shared_key *key,
                                uint32_t operand, const int n)
{
    if (operand >= WARPRSA_INT_FOLD_POWER) {
        warprsa_int_fold_put_power_of_f(
            g, (int)(operand - WARPRSA_INT_FOLD_POWER), n);
    } else {
        const bool of_key = operand >= WARPRSA_INT_FOLD_SQUARE;
        const uint32_t *from =
            operand == WARPRSA_INT_FOLD_QINV ? key->qinv
            : operand == WARPRSA_INT_FOLD_Q
                ? key->q
                : warprsa_int_fold_register(g, (int)operand, n);

        warprsa_int_fold_put_operand(g, from, of_key ? 1 : g->stride, n);
    }
}

/* Puts the number of two registers where a product would be. */
WARPRSA_FN void warprsa_int_fold_put_wide(uint32_t *s,
                                          const warprsa_int_fold_group *g,
                                          int reg, const int n)
{
    warprsa_int_fold_load_number(s, warprsa_int_fold_register(g, reg, n),
                                 g->stride, n);
    if (WARPRSA_INT_FOLD_STAGES(n))
        warprsa_int_fold_put(g->stage, 0, s, WARPRSA_INT_FOLD_STAGE, n);
    warprsa_int_fold_put_operand(g, warprsa_int_fold_register(g, reg + 1, n),
                                 g->stride, n);
}

/* RESULT = the product, q h, and ROOT, s_q: it is below n. */
WARPRSA_FN void warprsa_int_fold_put_result(uint32_t *s,
                                            const warprsa_int_fold_group *g,
                                            const int n)
{
    uint32_t root[WARPRSA_INT_FOLD_LIMBS_MAX];
    warprsa_carry carry = {0};

    if (WARPRSA_INT_FOLD_STAGES(n))
        warprsa_int_fold_get(s, g->stage, 0, WARPRSA_INT_FOLD_STAGE, n);
    warprsa_int_fold_load_number(
        root, warprsa_int_fold_register(g, WARPRSA_INT_FOLD_ROOT, n), g->stride,
        n);
    s[0] = warprsa_add_cc(&carry, s[0], root[0]);
    WARPRSA_UNROLL
    for (int i = 1; i < n; i++)
        s[i] = warprsa_addc_cc(&carry, s[i], root[i]);
    warprsa_int_fold_store_number(
        warprsa_int_fold_register(g, WARPRSA_INT_FOLD_RESULT, n), s, g->stride,
        n);
    warprsa_int_fold_get(root, g->row, 0, WARPRSA_INT_FOLD_KIND(n), n);
    WARPRSA_UNROLL
    for (int i = 0; i < n - 1; i++)
        root[i] = warprsa_addc_cc(&carry, root[i], 0);
    root[n - 1] = warprsa_last_addc(&carry, root[n - 1], 0);
    warprsa_int_fold_store_number(
        warprsa_int_fold_register(g, WARPRSA_INT_FOLD_RESULT + 1, n), root,
        g->stride, n);
    warprsa_sync_lanes();
}

/* An instruction of the program, as a word that is read again where it is
 * needed. It is the same for all of a warp: this tells the compiler so, and
 * whoever reads the machine code. */
WARPRSA_FN warprsa_int_fold_instruction warprsa_int_fold_instruction_at(
    const warprsa_int_fold_program *program, uint32_t at)
{
    const volatile warprsa_int_fold_word *from = &program->instruction[at];
    const uint32_t word = warprsa_largest_in_warp(from->word);
    warprsa_int_fold_instruction instruction;

    instruction.load = (uint8_t)word;
    instruction.operand = (uint8_t)(word >> 8);
    instruction.reduce = (uint8_t)(word >> 16);
    instruction.store = (uint8_t)(word >> 24);
    return instruction;
}

/* The product that an instruction wants, or what stands for one. */
WARPRSA_FN void
warprsa_int_fold_product_of(uint32_t *s, const warprsa_int_fold_group *g,
                            const warprsa_int_fold_shared_key *key,
                            const warprsa_int_fold_instruction i, const int n)
{
    uint32_t x[WARPRSA_INT_FOLD_LIMBS_MAX];

    if (i.operand == WARPRSA_INT_FOLD_WIDE) {
        warprsa_int_fold_put_wide(s, g, i.load, n);
        return;
    }
    warprsa_int_fold_load_number(x, warprsa_int_fold_register(g, i.load, n),
                                 g->stride, n);
    if (i.operand == WARPRSA_INT_FOLD_SQUARE) {
        warprsa_int_fold_square(s, x, g->row, g->stage, n);
    } else {
        warprsa_int_fold_put_operand_of(g, key, i.operand, n);
        warprsa_int_fold_multiply(s, x, g->row, g->stage, n);
    }
}

/* Runs a program from instruction `at` on. */
WARPRSA_FN void warprsa_int_fold_run(const warprsa_int_fold_group *g,
                                     const warprsa_int_fold_shared_key *key,
                                     uint32_t at, const int n)
{
    const volatile uint32_t *count = &key->program.count;

    WARPRSA_ROLLED
    for (; at < warprsa_largest_in_warp(*count); at++) {
        warprsa_int_fold_instruction i =
            warprsa_int_fold_instruction_at(&key->program, at);
        uint32_t s[2 * WARPRSA_INT_FOLD_LIMBS_MAX],
            x[WARPRSA_INT_FOLD_LIMBS_MAX];

        warprsa_int_fold_product_of(s, g, key, i, n);
        i = warprsa_int_fold_instruction_at(&key->program, at);
        if (i.operand == WARPRSA_INT_FOLD_Q) {
            warprsa_int_fold_put_result(s, g, n);
            continue;
        }
        warprsa_int_fold(x, s, g, n);
        i = warprsa_int_fold_instruction_at(&key->program, at);
        if (i.reduce)
            warprsa_int_fold_reduce(x, g->prime, n);
        warprsa_int_fold_store_number(warprsa_int_fold_register(g, i.store, n),
                                      x, g->stride, n);
    }
}

#endif
