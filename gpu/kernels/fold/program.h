/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The program of a private operation: its multiplications in order, each folded
 * (fold.h), and what happens to the number between them.
 *
 * A message is one number in work: a half of a request, modulo p or q. A group
 * is 16 requests of one key, so 32 messages: 0..15 are the halves mod p, 16..31
 * those mod q. All messages of a group run the program together, instruction by
 * instruction. The program depends on e, the public exponent, and on nothing
 * else.
 *
 *   u = m r^(e-1)            m is reduced by one fold
 *   x = u r
 *   y = x^(dp-1), x^(dq-1)   fixed windows of 3 bits
 *   s_p, s_q = y u           exactly reduced; why they are the roots, says
 *                            gpu/arith/private_operation.h
 *   s = s_q + q h            h = (s_p - s_q) / q mod p (Garner)
 *   s^e = m                  checked mod p and mod q, from the s that is
 *                            released: as p and q are coprime, it holds mod pq
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_PROGRAM_H
#define WARPRSA_GPU_KERNELS_FOLD_PROGRAM_H

#include "gpu/kernels/fold/fold.h"

enum {
    WARPRSA_FOLD_GROUP = 16, /* requests of a group; messages are twice that */
    WARPRSA_FOLD_INSTRUCTIONS_MAX = 320,
};

/* Bits of a digit of the secret exponent, and entries of the table of powers:
 * x^1, x^2, ... Windows are smaller than those of the other kernels. Shared
 * memory has room for the pieces of so many entries, and L2 holds the tables of
 * all blocks, or nearly: they are 45 MB with 30 samples. */
enum {
    WARPRSA_FOLD_WINDOW = 3,
    WARPRSA_FOLD_ENTRIES = (1 << WARPRSA_FOLD_WINDOW) - 1,
};

/* The registers of the program: each holds one number of every message. */
enum {
    WARPRSA_FOLD_BLINDING,   /* r */
    WARPRSA_FOLD_UNBLINDING, /* u */
    WARPRSA_FOLD_INPUT,      /* m, exactly reduced */
    WARPRSA_FOLD_BASE,       /* the base of a power */
    WARPRSA_FOLD_ROOT,       /* y u */
    WARPRSA_FOLD_SUBTRAHEND, /* s_q / q; at the end, whether s^e differs */
    WARPRSA_FOLD_RESULT,     /* s, which takes two registers */
    WARPRSA_FOLD_REGISTERS = WARPRSA_FOLD_RESULT + 2,
    /* Operands that are no registers. */
    WARPRSA_FOLD_SQUARE = WARPRSA_FOLD_REGISTERS, /* the number: a squaring */
    WARPRSA_FOLD_OF_INPUT,  /* no multiplication: m as columns */
    WARPRSA_FOLD_OF_RESULT, /* no multiplication: s as columns */
    WARPRSA_FOLD_OF_ITSELF, /* no multiplication: the number itself */
    WARPRSA_FOLD_QINV,      /* 1/q mod p */
    WARPRSA_FOLD_Q,         /* q; columns plus s_q are s, and not folded */
    WARPRSA_FOLD_NONE,
};

/* What an instruction does besides: most do nothing. */
typedef enum warprsa_fold_action {
    WARPRSA_FOLD_NO_ACTION,
    WARPRSA_FOLD_STORE_ENTRY,  /* the number becomes an entry of the table */
    WARPRSA_FOLD_MODEXP_START, /* the last entry; then the first digit */
    WARPRSA_FOLD_MODEXP,       /* the modexp: stays here until it is done */
    WARPRSA_FOLD_SUBTRACT,     /* subtracts SUBTRAHEND */
    WARPRSA_FOLD_COMPARE,      /* compares with INPUT; the end */
} warprsa_fold_action;

/*
 * One instruction. A message has one current number, the result of the last
 * multiplication. An instruction does this with it, in this order:
 *
 *   reduce    if 1, reduces it exactly
 *   store     copies it to this register, unless it is NONE
 *   action    what warprsa_fold_action says; `entry` is for STORE_ENTRY
 *   load      replaces it by this register of message (own index ^ partner),
 *             unless `load` is NONE
 *   operand   multiplies it by this operand and folds, unless it is NONE
 */
typedef struct warprsa_fold_instruction {
    uint8_t reduce, store, action, entry;
    uint8_t load, partner, operand, unused;
} warprsa_fold_instruction;

typedef struct warprsa_fold_program {
    int count;
    warprsa_fold_instruction instruction[WARPRSA_FOLD_INSTRUCTIONS_MAX];
} warprsa_fold_program;

/* Appends an instruction that multiplies by `operand` and does nothing else
 * yet; the caller may fill in the rest. Returns it. */
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

/* Appends instructions that raise the number, which register `reg` holds as
 * well, to the power of e >= 2. Returns the first of them. */
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

/* Appends u = m r^(e-1), x = u r, the table of its powers and the modexp. */
WARPRSA_FN void warprsa_fold_program_modexp(warprsa_fold_program *program,
                                            uint64_t e)
{
    warprsa_fold_instruction *instruction;

    warprsa_fold_append(program, WARPRSA_FOLD_OF_INPUT);
    instruction =
        warprsa_fold_append_power(program, e - 1, WARPRSA_FOLD_BLINDING);
    instruction->reduce = 1;
    instruction->store = WARPRSA_FOLD_INPUT;
    instruction->load = WARPRSA_FOLD_BLINDING;
    warprsa_fold_append(program, WARPRSA_FOLD_INPUT);
    instruction = warprsa_fold_append(program, WARPRSA_FOLD_BLINDING);
    instruction->store = WARPRSA_FOLD_UNBLINDING;
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

/* Appends s^e and its comparison with m. */
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

/* Appends m mod the primes, exactly reduced, for the check. */
WARPRSA_FN void warprsa_fold_append_input(warprsa_fold_program *program)
{
    warprsa_fold_instruction *instruction;

    warprsa_fold_append(program, WARPRSA_FOLD_OF_INPUT);
    instruction = warprsa_fold_append(program, WARPRSA_FOLD_NONE);
    instruction->reduce = 1;
    instruction->store = WARPRSA_FOLD_INPUT;
}

/* Appends what makes s of y or, with `roots`, of the roots, and its check. */
WARPRSA_FN void warprsa_fold_program_recombine(warprsa_fold_program *program,
                                               uint64_t e, bool roots)
{
    warprsa_fold_instruction *instruction;

    if (!roots)
        warprsa_fold_append(program, WARPRSA_FOLD_UNBLINDING);
    instruction = warprsa_fold_append(program, WARPRSA_FOLD_QINV);
    if (!roots) {
        instruction->reduce = 1;
        instruction->store = WARPRSA_FOLD_ROOT;
    }
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

/* Makes the program for an odd e >= 3; with `roots`, of what is left when both
 * roots are in ROOT. It has at most 2 * 2 * 63 + 26 instructions, which
 * INSTRUCTIONS_MAX allows for. */
WARPRSA_FN void warprsa_fold_program_make(warprsa_fold_program *program,
                                          uint64_t e, bool roots)
{
    program->count = 0;
    if (roots)
        warprsa_fold_append_input(program);
    else
        warprsa_fold_program_modexp(program, e);
    warprsa_fold_program_recombine(program, e, roots);
}

#endif
