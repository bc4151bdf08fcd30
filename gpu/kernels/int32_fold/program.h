/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What comes before the secret powers and after them, as lists of products.
 * Each is folded, so a number that stands for x is x F, F = 2^32, between
 * products, and a product of x F and y F is folded to x y F.
 *
 *   begin, modulo one prime      u = m r^(e-1)
 *                                x = u r
 *   end, modulo p                h = (s_p - s_q) / q
 *                                s = s_q + q h
 *   end, modulo p and modulo q   s^e = m
 *
 * gpu/arith/private_operation.h says why the powers x^(dp-1) u and x^(dq-1) u
 * are the roots. A program depends on the public exponent and on nothing else.
 */
#ifndef WARPRSA_GPU_KERNELS_INT32_FOLD_PROGRAM_H
#define WARPRSA_GPU_KERNELS_INT32_FOLD_PROGRAM_H

#include "gpu/kernels/int32_fold/layout.h"

/* Registers of the programs: each holds one number, in memory. */
enum {
    WARPRSA_INT_FOLD_INPUT,     /* m, which takes two */
    WARPRSA_INT_FOLD_BLINDING = /* r */
        WARPRSA_INT_FOLD_INPUT + 2,
    WARPRSA_INT_FOLD_BASE,    /* of a public power */
    WARPRSA_INT_FOLD_FACTOR,  /* u: takes the blinding off */
    WARPRSA_INT_FOLD_BLINDED, /* x */
    WARPRSA_INT_FOLD_NUMBER,  /* what the next instruction goes on with */
    WARPRSA_INT_FOLD_REGISTERS,
    /* The same, of the end. */
    WARPRSA_INT_FOLD_RESULT = WARPRSA_INT_FOLD_INPUT + 2, /* s: takes two */
    WARPRSA_INT_FOLD_ROOT = WARPRSA_INT_FOLD_RESULT + 2,  /* s_q */
    WARPRSA_INT_FOLD_CHECKED = WARPRSA_INT_FOLD_ROOT,     /* s^e */
    WARPRSA_INT_FOLD_END_BASE = WARPRSA_INT_FOLD_ROOT + 1,
    /* NUMBER is the next. */
    WARPRSA_INT_FOLD_DIFFERS = WARPRSA_INT_FOLD_NUMBER + 1,
    WARPRSA_INT_FOLD_END_REGISTERS,
    /* Operands that are no registers. */
    WARPRSA_INT_FOLD_SQUARE = 16, /* the number: a square */
    WARPRSA_INT_FOLD_WIDE,        /* no product: two registers, from `load` */
    WARPRSA_INT_FOLD_QINV,        /* F / q mod p */
    WARPRSA_INT_FOLD_Q,           /* q; the product plus ROOT becomes RESULT */
    WARPRSA_INT_FOLD_POWER,       /* this plus k: F^k, k = 0 to 3 */
};

/* An instruction: register `load` is multiplied by the operand and folded, is
 * reduced exactly if `reduce` is set, and becomes register `store`. Numbers go
 * through memory between any two, so that none lives in registers while another
 * product is computed. */
typedef struct warprsa_int_fold_instruction {
    uint8_t load, operand, reduce, store;
} warprsa_int_fold_instruction;

/* The same as it is kept: the first field is the lowest byte. */
typedef struct warprsa_int_fold_word {
    uint32_t word;
} warprsa_int_fold_word;

enum {
    /* Of a power by 64 bits, and some. */
    WARPRSA_INT_FOLD_INSTRUCTIONS_MAX = 144,
};

typedef struct warprsa_int_fold_program {
    uint32_t count, check; /* the check begins at instruction `check` */
    warprsa_int_fold_word instruction[WARPRSA_INT_FOLD_INSTRUCTIONS_MAX];
} warprsa_int_fold_program;

WARPRSA_FN void warprsa_int_fold_append(warprsa_int_fold_program *program,
                                        int load, int operand, int reduce,
                                        int store)
{
    program->instruction[program->count++].word =
        (uint32_t)load | (uint32_t)operand << 8 | (uint32_t)reduce << 16 |
        (uint32_t)store << 24;
}

/* Appends the power of e >= 2 of register `base`. */
WARPRSA_FN void warprsa_int_fold_append_power(warprsa_int_fold_program *program,
                                              uint64_t e, int base, int store)
{
    const int number = WARPRSA_INT_FOLD_NUMBER;
    int bit = 63;

    while ((e >> bit & 1) == 0)
        bit--;
    for (int load = base; bit-- > 0; load = number) {
        const int multiplies = (int)(e >> bit & 1);
        const int last = bit == 0 ? store : number;

        warprsa_int_fold_append(program, load, WARPRSA_INT_FOLD_SQUARE, 0,
                                multiplies ? number : last);
        if (multiplies)
            warprsa_int_fold_append(program, number, base, 0, last);
    }
}

/* u = m r^(e-1), which is kept as it is, and x = u r, as x F. The random number
 * stands for r F: r is as random as r F is. m is folded to m / F, and a product
 * with F^3 makes m F of it. */
WARPRSA_FN void warprsa_int_fold_begin(warprsa_int_fold_program *program,
                                       uint64_t e)
{
    const int number = WARPRSA_INT_FOLD_NUMBER;
    const int factor = WARPRSA_INT_FOLD_FACTOR;

    program->count = program->check = 0;
    warprsa_int_fold_append_power(program, e - 1, WARPRSA_INT_FOLD_BLINDING,
                                  WARPRSA_INT_FOLD_BASE);
    warprsa_int_fold_append(program, WARPRSA_INT_FOLD_INPUT,
                            WARPRSA_INT_FOLD_WIDE, 0, number);
    warprsa_int_fold_append(program, number, WARPRSA_INT_FOLD_POWER + 3, 0,
                            number);
    warprsa_int_fold_append(program, number, WARPRSA_INT_FOLD_BASE, 0, factor);
    warprsa_int_fold_append(program, factor, WARPRSA_INT_FOLD_BLINDING, 0,
                            WARPRSA_INT_FOLD_BLINDED);
    warprsa_int_fold_append(program, factor, WARPRSA_INT_FOLD_POWER, 0, factor);
}

/* h and s, of s_p - s_q mod p in END_BASE, for the prime p alone; then, for
 * each prime, s^e in CHECKED and m in NUMBER, both exactly reduced. */
WARPRSA_FN void warprsa_int_fold_end(warprsa_int_fold_program *program,
                                     uint64_t e)
{
    const int number = WARPRSA_INT_FOLD_NUMBER;
    const int base = WARPRSA_INT_FOLD_END_BASE;

    program->count = 0;
    warprsa_int_fold_append(program, base, WARPRSA_INT_FOLD_QINV, 1, number);
    warprsa_int_fold_append(program, number, WARPRSA_INT_FOLD_Q, 0,
                            WARPRSA_INT_FOLD_RESULT);
    program->check = program->count;
    warprsa_int_fold_append(program, WARPRSA_INT_FOLD_RESULT,
                            WARPRSA_INT_FOLD_WIDE, 0, number);
    warprsa_int_fold_append(program, number, WARPRSA_INT_FOLD_POWER + 3, 0,
                            base);
    warprsa_int_fold_append_power(program, e, base, number);
    warprsa_int_fold_append(program, number, WARPRSA_INT_FOLD_POWER, 1,
                            WARPRSA_INT_FOLD_CHECKED);
    warprsa_int_fold_append(program, WARPRSA_INT_FOLD_INPUT,
                            WARPRSA_INT_FOLD_WIDE, 0, number);
    warprsa_int_fold_append(program, number, WARPRSA_INT_FOLD_POWER + 2, 1,
                            number);
}

#endif
