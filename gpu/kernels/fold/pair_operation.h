/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs a whole private operation for a group of 16 requests of one key, each
 * number shared by two messages (pair.h). It differs from fold_operation.h in
 * that it works modulo one prime after the other, so that the matrix of one
 * prime at a time is needed. In passes:
 *
 *   Q          mod q: s_q
 *   P          mod p: s_p; s = s_q + q h (Garner); whether s^e = m mod p
 *   CHECK      mod q: whether s^e = m mod q; writes the result
 *
 * Or else s_p and s_q are made in different places and then put together:
 *
 *   ROOT_P     mod p: s_p
 *   ROOT_Q     mod q: s_q
 *   RECOMBINE  mod p: the rest of P, from both; CHECK follows
 *
 * With 20 or 30 samples, these roots are what is used on devices, and
 * fold_operation.h does the rest.
 *
 * Each pass has a program of its own and needs the matrix of its prime. What
 * need not know of parts is done by fold_operation.h, for the samples of a
 * part. No branch and no address depends on anything but sizes and the public
 * exponent.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_PAIR_OPERATION_H
#define WARPRSA_GPU_KERNELS_FOLD_PAIR_OPERATION_H

#include "gpu/kernels/fold/fold_operation.h"
#ifdef __CUDACC__
#include "gpu/kernels/fold/pair_group.cuh"
#else
#include "gpu/kernels/fold/pair_group_host.h"
#endif

enum {
    WARPRSA_FOLD_PASS_Q,
    WARPRSA_FOLD_PASS_P,
    WARPRSA_FOLD_PASS_CHECK,
    WARPRSA_FOLD_PASSES, /* of a whole operation, one after the other */
    WARPRSA_FOLD_PASS_ROOT_P = WARPRSA_FOLD_PASSES,
    WARPRSA_FOLD_PASS_ROOT_Q,
    WARPRSA_FOLD_PASS_RECOMBINE,
    /* Registers with another use earlier or later. ROOT_Q has s_q until there
     * is s; DIFFERS has in sample 0 whether s^e differs from m mod p;
     * UNRESOLVED are two for s before its carries are resolved. */
    WARPRSA_FOLD_ROOT_Q = WARPRSA_FOLD_RESULT,
    WARPRSA_FOLD_DIFFERS = WARPRSA_FOLD_ROOT,
    WARPRSA_FOLD_UNRESOLVED = WARPRSA_FOLD_BLINDING,
};

/* The prime of a pass: 0 for p, 1 for q. */
WARPRSA_FN int warprsa_fold_pass_prime(int pass)
{
    return pass % 2 == 0;
}

/* Appends the power, and leaves y u in register `root`. */
WARPRSA_FN void warprsa_fold_append_root(warprsa_fold_program *program,
                                         uint64_t e, int root)
{
    warprsa_fold_instruction *instruction;

    warprsa_fold_program_modexp(program, e);
    warprsa_fold_append(program, WARPRSA_FOLD_UNBLINDING);
    instruction = warprsa_fold_append(program, WARPRSA_FOLD_NONE);
    instruction->reduce = 1;
    instruction->store = (uint8_t)root;
}

/* Appends what makes s of s_p and s_q. */
WARPRSA_FN void warprsa_fold_append_recombine(warprsa_fold_program *program)
{
    warprsa_fold_instruction *instruction =
        warprsa_fold_append(program, WARPRSA_FOLD_QINV);

    instruction->load = WARPRSA_FOLD_ROOT_Q;
    instruction = warprsa_fold_append(program, WARPRSA_FOLD_QINV);
    instruction->reduce = 1;
    instruction->store = WARPRSA_FOLD_SUBTRAHEND;
    instruction->load = WARPRSA_FOLD_ROOT;
    instruction = warprsa_fold_append(program, WARPRSA_FOLD_Q);
    instruction->reduce = 1;
    instruction->action = WARPRSA_FOLD_SUBTRACT;
}

/* Makes the program of a pass, for an odd e >= 3. It has at most 2 * 2 * 63 +
 * 21 instructions. */
WARPRSA_FN void warprsa_fold_pass_program(warprsa_fold_program *program,
                                          uint64_t e, int pass)
{
    program->count = 0;
    if (pass == WARPRSA_FOLD_PASS_Q)
        warprsa_fold_append_root(program, e, WARPRSA_FOLD_ROOT_Q);
    if (pass == WARPRSA_FOLD_PASS_P || pass == WARPRSA_FOLD_PASS_ROOT_P ||
        pass == WARPRSA_FOLD_PASS_ROOT_Q)
        warprsa_fold_append_root(program, e, WARPRSA_FOLD_ROOT);
    if (pass == WARPRSA_FOLD_PASS_RECOMBINE || pass == WARPRSA_FOLD_PASS_CHECK)
        warprsa_fold_append_input(program);
    if (pass == WARPRSA_FOLD_PASS_P || pass == WARPRSA_FOLD_PASS_RECOMBINE)
        warprsa_fold_append_recombine(program);
    if (pass == WARPRSA_FOLD_PASS_P || pass == WARPRSA_FOLD_PASS_CHECK ||
        pass == WARPRSA_FOLD_PASS_RECOMBINE)
        warprsa_fold_program_check(program, e);
}

/*
 * Sample i of s, 0..2 N - 1, of the request of message t. Each message has the
 * columns that pair.h gives it, the lower ones in the first of two registers.
 */
WARPRSA_FN double *warprsa_fold_pair_register(const warprsa_fold_memory *m,
                                              int reg, int i, int t)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS, which = i / part_limbs;
    const int of = (t & ~WARPRSA_FOLD_GROUP) + which % 2 * WARPRSA_FOLD_GROUP;

    return warprsa_fold_register(m, reg + which / 2, i % part_limbs, of,
                                 part_limbs);
}

/* Once for all passes: the blinded exponents, mod p by the messages of part 0,
 * mod q by the messages of part 1. */
WARPRSA_FN void warprsa_fold_pair_blind_exponents(const warprsa_fold_group *g)
{
    WARPRSA_EACH_MESSAGE(k)
    {
        const warprsa_operation op = warprsa_fold_operation(g, k);

        warprsa_blind_exponent(&op, warprsa_fold_part(k),
                               WARPRSA_FOLD_PAIR_LIMBS);
    }
    warprsa_sync_lanes();
}

/* Sets up a pass: r mod its prime. */
WARPRSA_FN void warprsa_fold_pair_begin(warprsa_fold_number *a,
                                        const warprsa_fold_group *g)
{
    const warprsa_fold_memory *m = &g->memory;
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;

    WARPRSA_EACH_MESSAGE(k)
    {
        const int t = warprsa_fold_index(k);
        const int first = warprsa_fold_part(k) * part_limbs;
        const warprsa_operation op = warprsa_fold_operation(g, k);

        WARPRSA_ROLLED
        for (int i = 0; i < part_limbs; i++)
            *warprsa_fold_register(m, WARPRSA_FOLD_BLINDING, i, t, part_limbs) =
                warprsa_blinding_sample(op.random, op.key->half[g->prime].bits,
                                        first + i);
        WARPRSA_UNROLL
        for (int i = 0; i < part_limbs; i++)
            a->of[k][i] = 0;
    }
    warprsa_sync_lanes();
}

/* See warprsa_fold_first_digits(). */
WARPRSA_FN void warprsa_fold_pair_first_digits(warprsa_fold_number *a,
                                               const warprsa_fold_group *g,
                                               int position)
{
    const warprsa_fold_memory *m = &g->memory;
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS,
              phases = WARPRSA_FOLD_PHASES(WARPRSA_FOLD_PART_LIMBS);
    const int ahead = WARPRSA_FOLD_ONE_PHASE_PER_SQR(part_limbs) ? 0 : 1;

    warprsa_fold_pair_put_entry(m, WARPRSA_FOLD_ENTRIES, a);
    WARPRSA_ROLLED
    for (int i = 0; i < phases + ahead; i++) {
        if (i == phases)
            warprsa_fold_pair_get_selected(a, m);
        WARPRSA_EACH_MESSAGE(k)
        {
            warprsa_fold_sync_table(g);
            warprsa_fold_fetch(g, i % phases, k, part_limbs);
            warprsa_fold_wait_fetched(g);
            warprsa_fold_pair_select_pieces(
                m, i % phases,
                warprsa_fold_digit(warprsa_fold_pair_exponent(g, k),
                                   position - i / phases),
                k);
        }
    }
    if (!ahead)
        warprsa_fold_pair_get_selected(a, m);
    warprsa_fold_sync_table(g);
}

/* Resolves the carries of s, whose columns are in UNRESOLVED. Both parts do the
 * same, and each stores its own samples. */
WARPRSA_FN void warprsa_fold_pair_resolve_result(const warprsa_fold_group *g)
{
    const warprsa_fold_memory *m = &g->memory;

    WARPRSA_EACH_MESSAGE(k)
    {
        const int t = warprsa_fold_index(k);
        int64_t carry = 0;

        WARPRSA_ROLLED
        for (int i = 0; i < 2 * WARPRSA_FOLD_PAIR_LIMBS; i++) {
            const int64_t x = (int64_t)warprsa_bits(*warprsa_fold_pair_register(
                                  m, WARPRSA_FOLD_UNRESOLVED, i, t)) +
                              carry;

            carry = x >> 52;
            if (i / WARPRSA_FOLD_PART_LIMBS % 2 == warprsa_fold_part(k))
                *warprsa_fold_pair_register(m, WARPRSA_FOLD_RESULT, i, t) =
                    warprsa_sample((uint64_t)x & WARPRSA_SAMPLE_MASK);
        }
    }
    warprsa_sync_lanes();
}

/* s = q h + s_q from the columns of q h. a becomes zero;
 * warprsa_fold_put_result() says why. */
WARPRSA_FN void warprsa_fold_pair_put_result(warprsa_fold_number *a,
                                             const warprsa_fold_group *g,
                                             warprsa_fold_columns *s)
{
    const warprsa_fold_memory *m = &g->memory;
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;

    WARPRSA_EACH_MESSAGE(k)
    {
        const int t = warprsa_fold_index(k);
        const uint64_t upper = warprsa_fold_upper_mask(k);

        /* warprsa_fold_unbias(): both are part 1's. */
        s->of[k][part_limbs] -= WARPRSA_FOLD_BIAS & upper;
        s->of[k][2 * part_limbs - 2] -= ((uint64_t)1 << 56) & upper;
        WARPRSA_UNROLL
        for (int i = 0; i < part_limbs; i++) {
            s->of[k][i] += warprsa_fold_integer(*warprsa_fold_register(
                m, WARPRSA_FOLD_ROOT_Q, i, t, part_limbs));
            *warprsa_fold_register(m, WARPRSA_FOLD_UNRESOLVED, i, t,
                                   part_limbs) = warprsa_from_bits(s->of[k][i]);
            *warprsa_fold_register(m, WARPRSA_FOLD_UNRESOLVED + 1, i, t,
                                   part_limbs) =
                warprsa_from_bits(s->of[k][part_limbs + i]);
            a->of[k][i] = 0;
        }
    }
    warprsa_sync_lanes();
    warprsa_fold_pair_resolve_result(g);
}

/* Writes the result, half of its bytes by each part, and the status. */
WARPRSA_FN void warprsa_fold_pair_put_bytes(const warprsa_fold_group *g)
{
    WARPRSA_STAGE(OUTPUT);
    const warprsa_fold_memory *m = &g->memory;
    const int limbs = WARPRSA_FOLD_PAIR_LIMBS;

    WARPRSA_EACH_MESSAGE(k)
    {
        const int t = warprsa_fold_index(k), part = warprsa_fold_part(k);
        const warprsa_operation op = warprsa_fold_operation(g, k);

        WARPRSA_ROLLED
        for (int i = part * limbs; i < part * limbs + limbs; i += 2)
            warprsa_fold_two_samples_out(
                &op,
                warprsa_fold_integer(
                    *warprsa_fold_pair_register(m, WARPRSA_FOLD_RESULT, i, t)),
                warprsa_fold_integer(*warprsa_fold_pair_register(
                    m, WARPRSA_FOLD_RESULT, i + 1, t)),
                i);
        if (part == 0)
            warprsa_fold_put_status(&op, m, WARPRSA_FOLD_DIFFERS, t,
                                    WARPRSA_FOLD_PART_LIMBS);
    }
}

/* Compares s^e with m. Pass 1 keeps whether they differ; pass 2 adds whether
 * they do, and writes the result. */
WARPRSA_FN void warprsa_fold_pair_compare(const warprsa_fold_group *g,
                                          const warprsa_fold_number *a)
{
    const warprsa_fold_memory *m = &g->memory;
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS, last = g->prime == 1;

    WARPRSA_EACH_MESSAGE(k)
    {
        const int t = warprsa_fold_index(k);
        double *kept =
            warprsa_fold_register(m, WARPRSA_FOLD_DIFFERS, 0, t, part_limbs);
        uint64_t differs = 0;

        WARPRSA_UNROLL
        for (int i = 0; i < part_limbs; i++)
            differs |= warprsa_bits(a->of[k][i]) ^
                       warprsa_bits(*warprsa_fold_register(
                           m, WARPRSA_FOLD_INPUT, i, t, part_limbs));
        *kept = (last ? *kept : 0) + (double)(differs != 0);
    }
    warprsa_sync_lanes();
    if (last)
        warprsa_fold_pair_put_bytes(g);
}

/* What an instruction does before its multiplication. */
WARPRSA_FN void
warprsa_fold_pair_prepare(warprsa_fold_number *a, const warprsa_fold_group *g,
                          const warprsa_fold_instruction *instruction,
                          const int windows)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;

    if (instruction->reduce)
        warprsa_fold_pair_reduce(a, warprsa_fold_pair_prime(g));
    if (instruction->store < WARPRSA_FOLD_REGISTERS)
        warprsa_fold_store(g, instruction->store, a, part_limbs);
    if (instruction->action == WARPRSA_FOLD_STORE_ENTRY)
        warprsa_fold_pair_put_entry(&g->memory, instruction->entry, a);
    if (instruction->action == WARPRSA_FOLD_MODEXP_START)
        warprsa_fold_pair_first_digits(a, g, windows - 1);
    if (instruction->action == WARPRSA_FOLD_SUBTRACT) {
        warprsa_fold_number other;

        warprsa_fold_load(&other, g, WARPRSA_FOLD_SUBTRAHEND, 0, part_limbs);
        warprsa_fold_pair_subtract(a, &other, warprsa_fold_pair_prime(g));
    }
    if (instruction->action == WARPRSA_FOLD_COMPARE)
        warprsa_fold_pair_compare(g, a);
    if (instruction->load < WARPRSA_FOLD_REGISTERS)
        warprsa_fold_load(a, g, instruction->load, 0, part_limbs);
}

/* Columns that are no product: m, s or the number itself. */
WARPRSA_FN void warprsa_fold_pair_columns_of(warprsa_fold_columns *s,
                                             const warprsa_fold_number *a,
                                             const warprsa_fold_group *g,
                                             int operand)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;

    WARPRSA_EACH_MESSAGE(k)
    {
        const warprsa_operation op = warprsa_fold_operation(g, k);
        const int length = (int)op.key->modulus_bytes;
        const int t = warprsa_fold_index(k), part = warprsa_fold_part(k);

        WARPRSA_UNROLL
        for (int i = 0; i < 2 * part_limbs; i++) {
            const int at = part * part_limbs + i % part_limbs +
                           i / part_limbs * 2 * part_limbs;
            double sample = i < part_limbs ? a->of[k][i] : 0;

            if (operand == WARPRSA_FOLD_OF_INPUT)
                sample = warprsa_sample_of_bytes(op.input, length, at);
            if (operand == WARPRSA_FOLD_OF_RESULT)
                sample = *warprsa_fold_pair_register(
                    &g->memory, WARPRSA_FOLD_RESULT, at, t);
            s->of[k][i] = warprsa_fold_integer(sample);
        }
    }
}

/* s = columns of a b, where b is the selected entry of the table or the operand
 * of the instruction. */
WARPRSA_FN void warprsa_fold_pair_mul_group(
    warprsa_fold_columns *s, const warprsa_fold_number *a,
    const warprsa_fold_group *g, const warprsa_fold_instruction *instruction,
    warprsa_fold_pair_smem_stash *stash)
{
    const warprsa_fold_memory *m = &g->memory;
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;
    warprsa_fold_number b;

    if (instruction->action == WARPRSA_FOLD_MODEXP) {
        warprsa_fold_pair_get_selected(&b, m);
    } else {
        WARPRSA_EACH_MESSAGE(k)
        {
            const int first = warprsa_fold_part(k) * part_limbs;
            const double *from =
                instruction->operand == WARPRSA_FOLD_QINV ? m->qinv + first
                : instruction->operand == WARPRSA_FOLD_Q
                    ? warprsa_fold_second_prime(g, k) + first
                    : warprsa_fold_register(m, instruction->operand, 0,
                                            warprsa_fold_index(k), part_limbs);
            const int apart =
                instruction->operand < WARPRSA_FOLD_REGISTERS ? m->stride : 1;

            WARPRSA_UNROLL
            for (int i = 0; i < part_limbs; i++)
                b.of[k][i] = from[i * apart];
        }
    }
    warprsa_fold_pair_mul(s, a, &b, stash);
}

/* What is done to the table during the next multiplication: nothing, unless it
 * belongs to the modexp. */
WARPRSA_FN warprsa_fold_table_work warprsa_fold_pair_modexp_work(
    const warprsa_fold_modexp_state *state, int in_modexp, int multiply)
{
    const int phases = WARPRSA_FOLD_PHASES(WARPRSA_FOLD_PART_LIMBS);
    warprsa_fold_table_work work = {-1, -1, -1, -1};

    if (!in_modexp)
        return work;
    if (WARPRSA_FOLD_ONE_PHASE_PER_SQR(WARPRSA_FOLD_PART_LIMBS)) {
        if (!multiply)
            work.select = state->phase;
        if (multiply ? state->position > 0
                     : state->phase < WARPRSA_FOLD_WINDOW - 1)
            work.fetch = multiply ? 0 : state->phase + 1;
        if (multiply)
            work.digit = state->position - 1;
        return work;
    }
    work.select = (state->phase + 1) % phases;
    if (state->position > 0 || !multiply)
        work.fetch = (state->phase + 2) % phases;
    if (state->phase == WARPRSA_FOLD_WINDOW - 1)
        work.digit = state->position - 1;
    return work;
}

/* Multiplies, or makes the columns that stand for a product, and folds them. On
 * any path a is nothing but its result: warprsa_fold_put_result() says why. */
WARPRSA_FN void
warprsa_fold_pair_execute(warprsa_fold_number *a, const warprsa_fold_group *g,
                          const warprsa_fold_instruction *instruction,
                          int squares, const warprsa_fold_table_work *work,
                          uint32_t *digit)
{
    warprsa_fold_pair_smem_stash stash = warprsa_fold_pair_own_stash(g);
    warprsa_fold_columns s;

    if (squares)
        warprsa_fold_pair_sqr(&s, a, &stash);
    else if (instruction->operand >= WARPRSA_FOLD_OF_INPUT &&
             instruction->operand <= WARPRSA_FOLD_OF_ITSELF)
        warprsa_fold_pair_columns_of(&s, a, g, instruction->operand);
    else
        warprsa_fold_pair_mul_group(&s, a, g, instruction, &stash);
    if (instruction->operand == WARPRSA_FOLD_Q)
        warprsa_fold_pair_put_result(a, g, &s);
    else
        warprsa_fold_pair_fold(a, g, &s, work, digit);
}

/* Where the batch has sample i, of 0..h - 1, of a root mod `prime` of message
 * k's part. */
WARPRSA_FN double *warprsa_fold_root_of_part(const warprsa_fold_group *g, int k,
                                             int prime, int i)
{
    return warprsa_fold_roots(g, k) + prime * WARPRSA_HALF_SAMPLES +
           warprsa_fold_part(k) * WARPRSA_FOLD_PART_LIMBS + i;
}

/* After a pass for a root: leaves the root for whoever goes on. */
WARPRSA_FN void warprsa_fold_pair_put_root(const warprsa_fold_group *g)
{
    WARPRSA_EACH_MESSAGE(k)
    {
        WARPRSA_ROLLED
        for (int i = 0; i < WARPRSA_FOLD_PART_LIMBS; i++)
            *warprsa_fold_root_of_part(g, k, g->prime, i) =
                *warprsa_fold_register(&g->memory, WARPRSA_FOLD_ROOT, i,
                                       warprsa_fold_index(k),
                                       WARPRSA_FOLD_PART_LIMBS);
    }
}

/* Before the pass RECOMBINE: takes both roots. */
WARPRSA_FN void warprsa_fold_pair_take_roots(const warprsa_fold_group *g)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;

    WARPRSA_EACH_MESSAGE(k)
    {
        const int t = warprsa_fold_index(k);

        WARPRSA_ROLLED
        for (int i = 0; i < part_limbs; i++) {
            *warprsa_fold_register(&g->memory, WARPRSA_FOLD_ROOT, i, t,
                                   part_limbs) =
                *warprsa_fold_root_of_part(g, k, 0, i);
            *warprsa_fold_register(&g->memory, WARPRSA_FOLD_ROOT_Q, i, t,
                                   part_limbs) =
                *warprsa_fold_root_of_part(g, k, 1, i);
        }
    }
    warprsa_sync_lanes();
}

/* Runs the power to its end, in a loop of its own (fold_operation.h says
 * why). */
WARPRSA_FN void warprsa_fold_pair_modexp(warprsa_fold_number *a,
                                         const warprsa_fold_group *g,
                                         warprsa_fold_modexp_state *state,
                                         uint32_t *digit)
{
    WARPRSA_ROLLED
    while (state->position >= 0) {
        const int multiply = state->phase == WARPRSA_FOLD_WINDOW;
        const warprsa_fold_table_work work =
            warprsa_fold_pair_modexp_work(state, 1, multiply);
        warprsa_fold_pair_smem_stash stash = warprsa_fold_pair_own_stash(g);
        warprsa_fold_columns s;

        if (multiply) {
            warprsa_fold_number b;

            warprsa_fold_pair_get_selected(&b, &g->memory);
            warprsa_fold_pair_mul(&s, a, &b, &stash);
        } else {
            warprsa_fold_pair_sqr(&s, a, &stash);
        }
        warprsa_fold_pair_fold(a, g, &s, &work, digit);
        (void)warprsa_fold_modexp_next(state);
    }
}

/* Runs one pass. Its program and the matrix of its prime must be there, and
 * before the first pass warprsa_fold_pair_blind_exponents() must have run.
 * `windows` is as warprsa_operation has it. `apart` gives the power a loop of
 * its own: only the passes for roots have the registers for a second copy of
 * multiplication and fold. */
WARPRSA_FN void warprsa_fold_pair_run(const warprsa_fold_group *g,
                                      const warprsa_fold_program *program,
                                      int pass, const bool apart,
                                      const int windows)
{
    WARPRSA_STAGE(BLINDING);
    const int digits = warprsa_fold_windows(windows);
    const int count = (int)warprsa_largest_in_warp((uint32_t)program->count);
    /* CHECK has no modexp, and RECOMBINE has none either. */
    warprsa_fold_modexp_state state = {
        pass == WARPRSA_FOLD_PASS_CHECK ? -1 : digits - 2, 0};
    warprsa_fold_number a;
    uint32_t digit[WARPRSA_MESSAGES] = {0};
    int at = 0, more = 0;

    warprsa_fold_pair_begin(&a, g);
    WARPRSA_ROLLED
    while (at < count) {
        const warprsa_fold_instruction instruction =
            more ? warprsa_fold_modexp_instruction()
                 : warprsa_fold_instruction_at(program, at);
        WARPRSA_STAGE_OF_INSTRUCTION(&instruction, state.position >= 0);
        const int in_modexp = instruction.action == WARPRSA_FOLD_MODEXP;
        const int multiply = in_modexp && state.phase == WARPRSA_FOLD_WINDOW;
        const int squares =
            in_modexp ? !multiply : instruction.operand == WARPRSA_FOLD_SQUARE;
        warprsa_fold_table_work work =
            warprsa_fold_pair_modexp_work(&state, in_modexp, multiply);

        if (in_modexp && apart) {
            warprsa_fold_pair_modexp(&a, g, &state, digit);
            at++;
            continue;
        }
        if (instruction.action == WARPRSA_FOLD_MODEXP_START) {
            work.fetch =
                WARPRSA_FOLD_ONE_PHASE_PER_SQR(WARPRSA_FOLD_PART_LIMBS) ? 0 : 1;
            work.digit = digits - 2;
        }
        if (!in_modexp)
            warprsa_fold_pair_prepare(&a, g, &instruction, digits);
        more = in_modexp && warprsa_fold_modexp_next(&state);
        at += !more;
        if (!in_modexp && instruction.operand == WARPRSA_FOLD_NONE)
            continue;
        warprsa_fold_pair_execute(&a, g, &instruction, squares, &work, digit);
    }
}

#endif
