/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A whole private operation as a script of products, each folded (fold.h).
 * All messages of a group go through it together: 16 requests of one key,
 * messages 0..15 their halves mod p, 16..31 those mod q. Only e, the key's
 * public exponent, changes the program.
 *
 *   x = m r^e                m reduced by one fold
 *   y = x^dp, x^dq           fixed windows of 3 bits
 *   s_p, s_q = y / r         1/r from warprsa_blinding_inverse(); exactly reduced
 *   s = s_q + q h            h = (s_p - s_q) / q mod p (Garner)
 *   s^e = m                  mod p and mod q, from the s that is released:
 *                            as p and q are prime to each other, mod pq
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_PROGRAM_H
#define WARPRSA_GPU_KERNELS_FOLD_PROGRAM_H

#include "gpu/kernels/fold/fold.h"

enum {
    WARPRSA_FOLD_GROUP = 16, /* requests */
    WARPRSA_FOLD_INSTRUCTIONS_MAX = 320,
};

/* Bits of a digit, and entries of the table: x^1.. . Smaller than for the other
 * kernels: there is room for so many near, and the second cache holds the
 * tables of all blocks, or nearly (45 MB with 30 samples). */
enum {
    WARPRSA_FOLD_WINDOW = 3,
    WARPRSA_FOLD_ENTRIES = (1 << WARPRSA_FOLD_WINDOW) - 1,
};

/* Places for a message's numbers. */
enum {
    WARPRSA_FOLD_BLINDING, /* r */
    WARPRSA_FOLD_INVERSE,  /* 1/r */
    WARPRSA_FOLD_INPUT,    /* m, exactly reduced */
    WARPRSA_FOLD_BASE,     /* of a power */
    WARPRSA_FOLD_ROOT,     /* y / r */
    WARPRSA_FOLD_SUBTRAHEND,
    WARPRSA_FOLD_RESULT, /* s, which takes two places */
    WARPRSA_FOLD_REGISTERS = WARPRSA_FOLD_RESULT + 2,
    /* What is no place but may stand for a factor. */
    WARPRSA_FOLD_SQUARE = WARPRSA_FOLD_REGISTERS,
    WARPRSA_FOLD_OF_INPUT,  /* no product: m as columns */
    WARPRSA_FOLD_OF_RESULT, /* likewise s */
    WARPRSA_FOLD_OF_ITSELF, /* likewise the number */
    WARPRSA_FOLD_QINV,      /* 1/q mod p */
    WARPRSA_FOLD_Q,         /* q; the columns plus s_q are s: not folded */
    WARPRSA_FOLD_NONE,
};

typedef enum warprsa_fold_action {
    WARPRSA_FOLD_NO_ACTION,
    WARPRSA_FOLD_STORE_ENTRY,  /* the number into the table */
    WARPRSA_FOLD_MODEXP_START, /* likewise the last; the power's first digit */
    WARPRSA_FOLD_MODEXP,       /* stays here until the power is done */
    WARPRSA_FOLD_SUBTRACT,     /* less OTHER */
    WARPRSA_FOLD_COMPARE,      /* with INPUT; the end */
} warprsa_fold_action;

/* In this order: the number of the last product is reduced exactly if `exact`;
 * put into place `keep`; `action`; replaced by `take` of message ^ partner;
 * multiplied by `by`. */
typedef struct warprsa_fold_instruction {
    uint8_t reduce, store, action, entry;
    uint8_t load, partner, operand, unused;
} warprsa_fold_instruction;

typedef struct warprsa_fold_program {
    int count;
    warprsa_fold_instruction instruction[WARPRSA_FOLD_INSTRUCTIONS_MAX];
} warprsa_fold_program;

/* Appends a step: multiply by `by`, and nothing else yet. */
WARPRSA_FN warprsa_fold_instruction *
warprsa_fold_append(warprsa_fold_program *program, int operand)
{
    warprsa_fold_instruction *instruction =
        &program->instruction[program->count++];

    instruction->reduce = 0;
    instruction->store = WARPRSA_FOLD_NONE;
    instruction->action = WARPRSA_FOLD_NO_ACTION;
    instruction->entry = 0;
    instruction->load = WARPRSA_FOLD_NONE;
    instruction->partner = 0;
    instruction->operand = (uint8_t)operand;
    instruction->unused = 0;
    return instruction;
}

/* The number, which is also in `place`, to the power of e >= 2; the first of
 * the steps. */
WARPRSA_FN warprsa_fold_instruction *
warprsa_fold_append_power(warprsa_fold_program *program, uint64_t e, int reg)
{
    warprsa_fold_instruction *first = &program->instruction[program->count];
    int top = 63;

    while ((e >> top & 1) == 0)
        top--;
    for (int bit = top - 1; bit >= 0; bit--) {
        warprsa_fold_append(program, WARPRSA_FOLD_SQUARE);
        if (e >> bit & 1)
            warprsa_fold_append(program, reg);
    }
    return first;
}

/* x = m r^e and the table of its powers, up to the secret power. */
WARPRSA_FN void warprsa_fold_program_modexp(warprsa_fold_program *program,
                                            uint64_t e)
{
    warprsa_fold_instruction *instruction;

    warprsa_fold_append(program, WARPRSA_FOLD_OF_INPUT);
    instruction = warprsa_fold_append_power(program, e, WARPRSA_FOLD_BLINDING);
    instruction->reduce = 1;
    instruction->store = WARPRSA_FOLD_INPUT;
    instruction->load = WARPRSA_FOLD_BLINDING;
    warprsa_fold_append(program, WARPRSA_FOLD_INPUT);
    for (int i = 1; i < WARPRSA_FOLD_ENTRIES; i++) {
        instruction = warprsa_fold_append(program, i == 1 ? WARPRSA_FOLD_SQUARE
                                                          : WARPRSA_FOLD_BASE);
        instruction->store = i == 1 ? WARPRSA_FOLD_BASE : WARPRSA_FOLD_NONE;
        instruction->reduce = 1;
        instruction->action = WARPRSA_FOLD_STORE_ENTRY;
        instruction->entry = (uint8_t)i;
    }
    instruction = warprsa_fold_append(program, WARPRSA_FOLD_OF_ITSELF);
    instruction->reduce = 1;
    instruction->action = WARPRSA_FOLD_MODEXP_START;
    instruction = warprsa_fold_append(program, WARPRSA_FOLD_NONE);
    instruction->action = WARPRSA_FOLD_MODEXP;
}

/* s^e and its comparison with m. */
WARPRSA_FN void warprsa_fold_program_check(warprsa_fold_program *program,
                                           uint64_t e)
{
    warprsa_fold_instruction *instruction;

    warprsa_fold_append(program, WARPRSA_FOLD_OF_RESULT);
    instruction = warprsa_fold_append_power(program, e, WARPRSA_FOLD_BASE);
    instruction->store = WARPRSA_FOLD_BASE;
    instruction = warprsa_fold_append(program, WARPRSA_FOLD_NONE);
    instruction->reduce = 1;
    instruction->action = WARPRSA_FOLD_COMPARE;
}

/* From y to s, and its check. */
WARPRSA_FN void warprsa_fold_program_recombine(warprsa_fold_program *program,
                                               uint64_t e)
{
    warprsa_fold_instruction *instruction;

    warprsa_fold_append(program, WARPRSA_FOLD_INVERSE);
    instruction = warprsa_fold_append(program, WARPRSA_FOLD_QINV);
    instruction->reduce = 1;
    instruction->store = WARPRSA_FOLD_ROOT;
    instruction->load = WARPRSA_FOLD_ROOT;
    instruction->partner = WARPRSA_FOLD_GROUP;
    instruction = warprsa_fold_append(program, WARPRSA_FOLD_QINV);
    instruction->reduce = 1;
    instruction->store = WARPRSA_FOLD_SUBTRAHEND;
    instruction->load = WARPRSA_FOLD_ROOT;
    instruction = warprsa_fold_append(program, WARPRSA_FOLD_Q);
    instruction->reduce = 1;
    instruction->action = WARPRSA_FOLD_SUBTRACT;
    warprsa_fold_program_check(program, e);
}

/* The script for odd e >= 3: at most 2 * 2 * 63 + 26 steps. */
WARPRSA_FN void warprsa_fold_program_make(warprsa_fold_program *program,
                                          uint64_t e)
{
    program->count = 0;
    warprsa_fold_program_modexp(program, e);
    warprsa_fold_program_recombine(program, e);
}

#endif
