/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs the program of a private operation (program.h) for a group of messages.
 * On the device each thread has one message and a warp is a group; four warps
 * work together in the fold only. On the host one thread plays all messages of
 * a group in turn, as in gpu/arith/lanes.h.
 *
 * No branch and no address depends on anything but sizes and the public
 * exponent. Entries of the table are selected by reading all of them, a piece
 * at a time, during the multiplications before each multiplication by an entry.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_FOLD_OPERATION_H
#define WARPRSA_GPU_KERNELS_FOLD_FOLD_OPERATION_H

#ifdef __CUDACC__
#include "gpu/kernels/fold/group.cuh"
#else
#include "gpu/kernels/fold/group_host.h"
#endif

/* Sample i of register `reg` of message t. */
WARPRSA_FN double *warprsa_fold_register(const warprsa_fold_memory *m, int reg,
                                         int i, int t, const int limbs)
{
    return m->registers + (reg * limbs + i) * m->stride + t;
}

/* Stores the number of every message in register `reg`. */
WARPRSA_FN void warprsa_fold_store(const warprsa_fold_group *g, int reg,
                                   const warprsa_fold_number *a,
                                   const int limbs)
{
    WARPRSA_EACH_MESSAGE(k)
    {
        WARPRSA_UNROLL
        for (int i = 0; i < limbs; i++)
            *warprsa_fold_register(&g->memory, reg, i, warprsa_fold_index(k),
                                   limbs) = a->of[k][i];
    }
    warprsa_sync_lanes();
}

/* Loads register `reg` of message (own index ^ partner). */
WARPRSA_FN void warprsa_fold_load(warprsa_fold_number *a,
                                  const warprsa_fold_group *g, int reg,
                                  int partner, const int limbs)
{
    WARPRSA_EACH_MESSAGE(k)
    {
        int t = warprsa_fold_index(k) ^ partner;

        WARPRSA_UNROLL
        for (int i = 0; i < limbs; i++)
            a->of[k][i] = *warprsa_fold_register(&g->memory, reg, i, t, limbs);
    }
}

/* Windows of the fold for an exponent that has `windows` windows of
 * WARPRSA_WINDOW bits. */
WARPRSA_FN int warprsa_fold_windows(int windows)
{
    return (windows * WARPRSA_WINDOW + WARPRSA_FOLD_WINDOW - 1) /
           WARPRSA_FOLD_WINDOW;
}

/* Stores the last entry of the table. Then a is the entry of the first digit,
 * and of the second digit the pieces are selected that are needed before its
 * squarings, if there are any. */
WARPRSA_FN void warprsa_fold_first_digits(warprsa_fold_number *a,
                                          const warprsa_fold_group *g,
                                          int position, const int limbs)
{
    const warprsa_fold_memory *m = &g->memory;
    const int phases = WARPRSA_FOLD_PHASES(limbs);
    const int ahead = WARPRSA_FOLD_TWO_PHASES_PER_SQR(limbs) ? 0 : 1;

    WARPRSA_EACH_MESSAGE(k)
    {
        int t = warprsa_fold_index(k);

        warprsa_fold_put_entry(m, WARPRSA_FOLD_ENTRIES, a->of[k], t, limbs);
        WARPRSA_ROLLED
        for (int i = 0; i < phases + ahead; i++) {
            if (i == phases)
                warprsa_fold_get_selected(a->of[k], m, t, limbs);
            warprsa_fold_sync_table(g);
            warprsa_fold_fetch(g, i % phases, k, limbs);
            warprsa_fold_wait_fetched(g);
            warprsa_fold_select_pieces(
                m, i % phases,
                warprsa_fold_digit(warprsa_fold_exponent(g, k),
                                   position - i / phases),
                t, limbs);
        }
        if (!ahead)
            warprsa_fold_get_selected(a->of[k], m, t, limbs);
        warprsa_fold_sync_table(g);
    }
}

/* Sets up the messages: r and the blinded exponent. */
WARPRSA_FN void warprsa_fold_begin(warprsa_fold_number *a,
                                   const warprsa_fold_group *g, const int limbs)
{
    const warprsa_fold_memory *m = &g->memory;

    WARPRSA_EACH_MESSAGE(k)
    {
        const int t = warprsa_fold_index(k), half = warprsa_fold_half(k);
        const warprsa_operation op = warprsa_fold_operation(g, k);

        warprsa_blind_exponent(&op, half, limbs);
        WARPRSA_UNROLL
        for (int i = 0; i < limbs; i++)
            *warprsa_fold_register(m, WARPRSA_FOLD_BLINDING, i, t, limbs) =
                warprsa_blinding_sample(op.random, op.key->half[half].bits, i);
        WARPRSA_UNROLL
        for (int i = 0; i < limbs; i++)
            a->of[k][i] = 0;
    }
    warprsa_sync_lanes();
}

/*
 * s = q h + s_q from the columns of q h, which the messages mod p have; stored
 * for both halves. The numbers become zero, as a fold would have replaced them,
 * too. If one path kept them, they would take registers during every
 * multiplication and fold.
 */
WARPRSA_FN void warprsa_fold_put_result(warprsa_fold_number *a,
                                        const warprsa_fold_group *g,
                                        warprsa_fold_columns *s,
                                        const int limbs)
{
    const warprsa_fold_memory *m = &g->memory;

    WARPRSA_EACH_MESSAGE(k)
    {
        int t = warprsa_fold_index(k), other = t ^ WARPRSA_FOLD_GROUP;
        double r[2 * WARPRSA_FOLD_LIMBS_MAX];

        warprsa_fold_unbias(s->of[k], limbs);
        WARPRSA_UNROLL
        for (int i = 0; i < limbs; i++)
            s->of[k][i] += warprsa_fold_integer(
                *warprsa_fold_register(m, WARPRSA_FOLD_ROOT, i, other, limbs));
        WARPRSA_BOUND("The private operation: Garner modulo n",
                      (t & WARPRSA_FOLD_GROUP) != 0 ||
                          warprsa_fold_resolve(r, s->of[k], 2 * limbs) == 0);
        (void)warprsa_fold_resolve(r, s->of[k], 2 * limbs);
        WARPRSA_UNROLL
        for (int i = 0; i < limbs; i++)
            a->of[k][i] = 0;
        if ((t & WARPRSA_FOLD_GROUP) == 0) {
            WARPRSA_UNROLL
            for (int i = 0; i < 2 * limbs; i++) {
                *warprsa_fold_register(m, WARPRSA_FOLD_RESULT, i, t, limbs) =
                    r[i];
                *warprsa_fold_register(m, WARPRSA_FOLD_RESULT, i, other,
                                       limbs) = r[i];
            }
        }
    }
    warprsa_sync_lanes();
}

/* Writes the 13 bytes of samples `first`, which is even, and first + 1. */
WARPRSA_FN void warprsa_fold_two_samples_out(const warprsa_operation *op,
                                             uint64_t low, uint64_t high,
                                             int first)
{
    const int length = (int)op->key->modulus_bytes, at = first / 2 * 13;

    WARPRSA_UNROLL
    for (int j = 0; j < 13; j++)
        if (at + j < length)
            op->output[length - 1 - at - j] =
                (uint8_t)(j < 6    ? low >> 8 * j
                          : j == 6 ? low >> 48 | high << 4
                                   : high >> (8 * j - 52));
}

/* Writes the status of a request. Register `reg` has in sample 0 of both its
 * messages 1 if they found s^e to differ from m, else 0. */
WARPRSA_FN void warprsa_fold_put_status(const warprsa_operation *op,
                                        const warprsa_fold_memory *m, int reg,
                                        int t, const int limbs)
{
    const double differ =
        *warprsa_fold_register(m, reg, 0, t, limbs) +
        *warprsa_fold_register(m, reg, 0, t ^ WARPRSA_FOLD_GROUP, limbs);

    *op->status = differ == 0 ? WARPRSA_OK : WARPRSA_CHECK_FAILED;
}

/* Writes the result, half of its bytes by each message of a request, 13 from
 * every two samples, and the status. */
WARPRSA_FN void warprsa_fold_put_bytes(const warprsa_fold_group *g,
                                       const int limbs)
{
    WARPRSA_STAGE(OUTPUT);
    const warprsa_fold_memory *m = &g->memory;

    WARPRSA_EACH_MESSAGE(k)
    {
        int t = warprsa_fold_index(k), half = warprsa_fold_half(k);
        const warprsa_operation op = warprsa_fold_operation(g, k);

        WARPRSA_ROLLED
        for (int i = 0; i < limbs; i += 2) {
            int first = half * limbs + i;
            uint64_t low = warprsa_fold_integer(*warprsa_fold_register(
                m, WARPRSA_FOLD_RESULT, first, t, limbs));
            uint64_t high = warprsa_fold_integer(*warprsa_fold_register(
                m, WARPRSA_FOLD_RESULT, first + 1, t, limbs));

            warprsa_fold_two_samples_out(&op, low, high, first);
        }
        if (half == 0)
            warprsa_fold_put_status(&op, m, WARPRSA_FOLD_SUBTRAHEND, t, limbs);
    }
}

/* Compares s^e with m, leaves 1 in SUBTRAHEND if they differ, else 0, and
 * writes the result. */
WARPRSA_FN void warprsa_fold_compare(const warprsa_fold_group *g,
                                     const warprsa_fold_number *a,
                                     const int limbs)
{
    const warprsa_fold_memory *m = &g->memory;

    WARPRSA_EACH_MESSAGE(k)
    {
        int t = warprsa_fold_index(k);
        uint64_t differs = 0;

        WARPRSA_UNROLL
        for (int i = 0; i < limbs; i++)
            differs |= warprsa_bits(a->of[k][i]) ^
                       warprsa_bits(*warprsa_fold_register(
                           m, WARPRSA_FOLD_INPUT, i, t, limbs));
        *warprsa_fold_register(m, WARPRSA_FOLD_SUBTRAHEND, 0, t, limbs) =
            differs != 0;
    }
    warprsa_sync_lanes();
    warprsa_fold_put_bytes(g, limbs);
}

/* What an instruction does before its multiplication. */
WARPRSA_FN void
warprsa_fold_prepare(warprsa_fold_number *a, const warprsa_fold_group *g,
                     const warprsa_fold_instruction *instruction,
                     const int windows, const int limbs)
{
    if (instruction->reduce) {
        WARPRSA_EACH_MESSAGE(k)
        {
            warprsa_fold_reduce(a->of[k], warprsa_fold_prime(g, k), limbs);
        }
    }
    if (instruction->store < WARPRSA_FOLD_REGISTERS)
        warprsa_fold_store(g, instruction->store, a, limbs);
    if (instruction->action == WARPRSA_FOLD_STORE_ENTRY) {
        WARPRSA_EACH_MESSAGE(k)
        {
            warprsa_fold_put_entry(&g->memory, instruction->entry, a->of[k],
                                   warprsa_fold_index(k), limbs);
        }
    }
    if (instruction->action == WARPRSA_FOLD_MODEXP_START) {
        warprsa_fold_first_digits(a, g, windows - 1, limbs);
    }
    if (instruction->action == WARPRSA_FOLD_SUBTRACT) {
        warprsa_fold_number other;

        warprsa_fold_load(&other, g, WARPRSA_FOLD_SUBTRAHEND, 0, limbs);
        WARPRSA_EACH_MESSAGE(k)
        {
            warprsa_fold_subtract(a->of[k], other.of[k],
                                  warprsa_fold_prime(g, k), limbs);
        }
    }
    if (instruction->action == WARPRSA_FOLD_COMPARE)
        warprsa_fold_compare(g, a, limbs);
    if (instruction->load < WARPRSA_FOLD_REGISTERS)
        warprsa_fold_load(a, g, instruction->load, instruction->partner, limbs);
}

/* Columns that are no product: m, s or the number itself. */
WARPRSA_FN void warprsa_fold_columns_of(warprsa_fold_columns *s,
                                        const warprsa_fold_number *a,
                                        const warprsa_fold_group *g,
                                        int operand, const int limbs)
{
    WARPRSA_EACH_MESSAGE(k)
    {
        const warprsa_operation op = warprsa_fold_operation(g, k);
        const int length = (int)op.key->modulus_bytes;
        const int t = warprsa_fold_index(k);

        WARPRSA_UNROLL
        for (int i = 0; i < 2 * limbs; i++) {
            double sample = i < limbs ? a->of[k][i] : 0;

            if (operand == WARPRSA_FOLD_OF_INPUT)
                sample = warprsa_sample_of_bytes(op.input, length, i);
            if (operand == WARPRSA_FOLD_OF_RESULT)
                sample = *warprsa_fold_register(&g->memory, WARPRSA_FOLD_RESULT,
                                                i, t, limbs);
            s->of[k][i] = warprsa_fold_integer(sample);
        }
    }
}

/* The operand of an instruction: a register, or a number of the key. */
WARPRSA_FN void
warprsa_fold_operand(double *b, const warprsa_fold_group *g,
                     const warprsa_fold_instruction *instruction, int k,
                     const int limbs)
{
    const warprsa_fold_memory *m = &g->memory;
    const int t = warprsa_fold_index(k);
    const double *from =
        instruction->operand == WARPRSA_FOLD_QINV ? m->qinv
        : instruction->operand == WARPRSA_FOLD_Q
            ? warprsa_fold_second_prime(g, k)
            : warprsa_fold_register(m, instruction->operand, 0, t, limbs);
    const int apart =
        instruction->operand < WARPRSA_FOLD_REGISTERS ? m->stride : 1;

    WARPRSA_UNROLL
    for (int i = 0; i < limbs; i++)
        b[i] = from[i * apart];
}

/* How far a modexp is. */
typedef struct warprsa_fold_modexp_state {
    int position; /* of the next digit; -1 at the end */
    int phase;    /* 0..FOLD_WINDOW-1: squares; FOLD_WINDOW: multiplies */
} warprsa_fold_modexp_state;

/* Selects from the pieces that have been fetched, and fetches the next. */
WARPRSA_FN void warprsa_fold_select_between(const warprsa_fold_group *g,
                                            const warprsa_fold_table_work *work,
                                            uint32_t digit, int k,
                                            const int limbs)
{
    if (work->select_between < 0)
        return;
    warprsa_fold_select_fetched(g, work->select_between, digit, k, limbs);
    warprsa_sync_lanes();
    warprsa_fold_fetch_next(g, work->select_between + 1, k, limbs);
}

/* s = columns of a a; amid it, pieces are selected if two phases belong to a
 * squaring. */
WARPRSA_FN void warprsa_fold_sqr_group(warprsa_fold_columns *s,
                                       const warprsa_fold_number *a,
                                       const warprsa_fold_group *g,
                                       const warprsa_fold_table_work *work,
                                       const uint32_t *digit, const int limbs)
{
    const warprsa_fold_smem_stash stash = warprsa_fold_own_stash(g, limbs);

    WARPRSA_EACH_MESSAGE(k)
    {
        if (WARPRSA_FOLD_TWO_PHASES_PER_SQR(limbs)) {
            warprsa_fold_sqr_lower_middle(s->of[k], a->of[k], &stash,
                                          limbs / 2);
            warprsa_fold_select_between(g, work, digit[k], k, limbs);
            warprsa_fold_sqr_add_upper(s->of[k], a->of[k], &stash, limbs / 2);
        } else {
            warprsa_fold_sqr(s->of[k], a->of[k], &stash, limbs);
        }
    }
}

/* s = columns of a b, where b is the selected entry of the table or the operand
 * of the instruction. */
WARPRSA_FN void
warprsa_fold_mul_group(warprsa_fold_columns *s, const warprsa_fold_number *a,
                       const warprsa_fold_group *g,
                       const warprsa_fold_instruction *instruction,
                       const int limbs)
{
    warprsa_fold_smem_stash stash = warprsa_fold_own_stash(g, limbs);

    WARPRSA_EACH_MESSAGE(k)
    {
        double b[WARPRSA_FOLD_LIMBS_MAX];

        if (instruction->action == WARPRSA_FOLD_MODEXP)
            warprsa_fold_get_selected(b, &g->memory, warprsa_fold_index(k),
                                      limbs);
        else
            warprsa_fold_operand(b, g, instruction, k, limbs);
        warprsa_fold_mul(s->of[k], a->of[k], b, &stash, limbs);
    }
}

/* Goes on to the next squaring or multiplication; 0 if that was the last. */
WARPRSA_FN int warprsa_fold_modexp_next(warprsa_fold_modexp_state *state)
{
    state->phase = state->phase == WARPRSA_FOLD_WINDOW ? 0 : state->phase + 1;
    state->position -= state->phase == 0;
    return state->position >= 0;
}

/* What is done to the table during the next squaring or multiplication of the
 * modexp. Each selects from the pieces that were fetched before it; its fold
 * fetches the next and reads the next digit. With two phases in a squaring, the
 * multiplication has none. */
WARPRSA_FN warprsa_fold_table_work warprsa_fold_modexp_work(
    const warprsa_fold_modexp_state *state, const int limbs)
{
    const int phases = WARPRSA_FOLD_PHASES(limbs);
    const int multiply = state->phase == WARPRSA_FOLD_WINDOW;
    const int last = state->phase == WARPRSA_FOLD_WINDOW - 1;
    warprsa_fold_table_work work = {-1, -1, -1, -1};

    if (WARPRSA_FOLD_TWO_PHASES_PER_SQR(limbs)) {
        if (!multiply) {
            work.select_between = 2 * state->phase;
            work.select = work.select_between + 1;
        }
        if (multiply ? state->position > 0 : !last)
            work.fetch = multiply ? 0 : work.select + 1;
        if (multiply)
            work.digit = state->position - 1;
    } else {
        work.select = (state->phase + 1) % phases;
        if (state->position > 0 || !multiply)
            work.fetch = (state->phase + 2) % phases;
        if (last)
            work.digit = state->position - 1;
    }
    return work;
}

/* s = columns of the next squaring of the modexp, or of its multiplication by
 * the selected entry. Between the two parts of either, pieces are selected. */
WARPRSA_FN void warprsa_fold_modexp_columns(warprsa_fold_columns *s,
                                            const warprsa_fold_number *a,
                                            const warprsa_fold_group *g,
                                            int multiply, int select,
                                            const uint32_t *digit,
                                            const int limbs)
{
    warprsa_fold_smem_stash stash = warprsa_fold_own_stash(g, limbs);

    WARPRSA_EACH_MESSAGE(k)
    {
        warprsa_fold_halves parts;

        if (multiply) {
            double b[WARPRSA_FOLD_LIMBS_MAX];

            warprsa_fold_get_selected(b, &g->memory, warprsa_fold_index(k),
                                      limbs);
            warprsa_fold_mul_begin(&parts, a->of[k], b, &stash, limbs);
            warprsa_fold_select_fetched(g, select, digit[k], k, limbs);
            warprsa_fold_mul_end(s->of[k], &parts, a->of[k], b, &stash, limbs);
        } else {
            warprsa_fold_sqr_begin(&parts, a->of[k], limbs);
            warprsa_fold_select_fetched(g, select, digit[k], k, limbs);
            warprsa_fold_sqr_end(s->of[k], &parts, a->of[k], limbs);
        }
    }
}

/* Whether the modexp has a loop of its own. What the loop over the instructions
 * has to find out before each multiplication takes as long as a fifth of a
 * squaring of 20 samples. With 30 samples it is one part in twenty, and a
 * second copy of multiplication and fold costs registers. */
#define WARPRSA_FOLD_POWER_APART(limbs) ((limbs) == 20)

/* Runs the modexp to its end. */
WARPRSA_FN void warprsa_fold_modexp(warprsa_fold_number *a,
                                    const warprsa_fold_group *g,
                                    warprsa_fold_modexp_state *state,
                                    uint32_t *digit, const int limbs)
{
    WARPRSA_ROLLED
    while (state->position >= 0) {
        const int multiply = state->phase == WARPRSA_FOLD_WINDOW;
        warprsa_fold_table_work work = warprsa_fold_modexp_work(state, limbs);
        warprsa_fold_columns s;

        warprsa_fold_modexp_columns(&s, a, g, multiply, work.select, digit,
                                    limbs);
        work.select = -1;
        warprsa_fold_fold(a, g, &s, &work, digit, limbs);
        (void)warprsa_fold_modexp_next(state);
    }
}

/* An instruction of the program. All messages have it in common: this tells the
 * compiler so, and whoever reads the machine code. */
WARPRSA_FN warprsa_fold_instruction
warprsa_fold_instruction_at(const warprsa_fold_program *program, int at)
{
    uint32_t words[sizeof(warprsa_fold_instruction) / 4];
    warprsa_fold_instruction instruction;

    memcpy(words, &program->instruction[at], sizeof(instruction));
    words[0] = warprsa_largest_in_warp(words[0]);
    words[1] = warprsa_largest_in_warp(words[1]);
    memcpy(&instruction, words, sizeof(instruction));
    return instruction;
}

/* The instruction that a modexp stays at. */
WARPRSA_FN warprsa_fold_instruction warprsa_fold_modexp_instruction(void)
{
    warprsa_fold_instruction instruction = {0};

    instruction.action = WARPRSA_FOLD_MODEXP;
    instruction.operand = WARPRSA_FOLD_NONE;
    return instruction;
}

/* Takes the roots that a batch has, of both halves. */
WARPRSA_FN void warprsa_fold_take_roots(warprsa_fold_number *a,
                                        const warprsa_fold_group *g,
                                        const int limbs)
{
    WARPRSA_EACH_MESSAGE(k)
    {
        const double *root = warprsa_fold_roots(g, k) +
                             warprsa_fold_half(k) * WARPRSA_HALF_SAMPLES;

        WARPRSA_ROLLED
        for (int i = 0; i < limbs; i++)
            *warprsa_fold_register(&g->memory, WARPRSA_FOLD_ROOT, i,
                                   warprsa_fold_index(k), limbs) = root[i];
        WARPRSA_UNROLL
        for (int i = 0; i < limbs; i++)
            a->of[k][i] = 0;
    }
    warprsa_sync_lanes();
}

/* Runs the whole operation or, with `roots`, what is left when a batch has the
 * roots. The program must be complete. `windows` is as warprsa_operation has
 * it. */
WARPRSA_FN void warprsa_fold_run(const warprsa_fold_group *g,
                                 const warprsa_fold_program *program,
                                 const int windows, const bool roots,
                                 const int limbs)
{
    WARPRSA_STAGE(BLINDING);
    const int digits = warprsa_fold_windows(windows);
    const int count = (int)warprsa_largest_in_warp((uint32_t)program->count);
    warprsa_fold_modexp_state state = {digits - 2, 0};
    warprsa_fold_columns s;
    warprsa_fold_number a;
    uint32_t digit[WARPRSA_MESSAGES] = {0};
    int at = 0, more = 0;

    if (roots)
        warprsa_fold_take_roots(&a, g, limbs);
    else
        warprsa_fold_begin(&a, g, limbs);
    WARPRSA_ROLLED
    while (at < count) {
        const warprsa_fold_instruction instruction =
            more ? warprsa_fold_modexp_instruction()
                 : warprsa_fold_instruction_at(program, at);
        WARPRSA_STAGE_OF_INSTRUCTION(&instruction, state.position >= 0);
        const int in_modexp =
            !roots && instruction.action == WARPRSA_FOLD_MODEXP;
        const int multiply = in_modexp && state.phase == WARPRSA_FOLD_WINDOW;
        const int squares =
            in_modexp ? !multiply : instruction.operand == WARPRSA_FOLD_SQUARE;
        warprsa_fold_table_work work = {-1, -1, -1, -1};

        if (in_modexp && WARPRSA_FOLD_POWER_APART(limbs)) {
            warprsa_fold_modexp(&a, g, &state, digit, limbs);
            at++;
            continue;
        }
        if (in_modexp) {
            work = warprsa_fold_modexp_work(&state, limbs);
        } else {
            if (instruction.action == WARPRSA_FOLD_MODEXP_START) {
                work.fetch = WARPRSA_FOLD_TWO_PHASES_PER_SQR(limbs) ? 0 : 1;
                work.digit = digits - 2;
            }
            warprsa_fold_prepare(&a, g, &instruction, digits, limbs);
        }
        more = in_modexp && warprsa_fold_modexp_next(&state);
        at += !more;
        if (!in_modexp && instruction.operand == WARPRSA_FOLD_NONE)
            continue;
        if (squares)
            warprsa_fold_sqr_group(&s, &a, g, &work, digit, limbs);
        else if (instruction.operand >= WARPRSA_FOLD_OF_INPUT &&
                 instruction.operand <= WARPRSA_FOLD_OF_ITSELF)
            warprsa_fold_columns_of(&s, &a, g, instruction.operand, limbs);
        else
            warprsa_fold_mul_group(&s, &a, g, &instruction, limbs);
        if (instruction.operand == WARPRSA_FOLD_Q)
            warprsa_fold_put_result(&a, g, &s, limbs);
        else
            warprsa_fold_fold(&a, g, &s, &work, digit, limbs);
    }
}

#endif
