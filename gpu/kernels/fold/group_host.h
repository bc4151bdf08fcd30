/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The host's part of fold_operation.h: a group in plain memory, and what the
 * tensor cores sum as loops over the same matrix, at the same offsets.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_GROUP_HOST_H
#define WARPRSA_GPU_KERNELS_FOLD_GROUP_HOST_H

#include "gpu/kernels/fold/table.h"

/* A group of messages. */
typedef struct warprsa_fold_group {
    warprsa_fold_memory memory;
    const warprsa_operation *operations; /* [FOLD_GROUP], of one key */
    const uint8_t *matrix[2];            /* [FOLD_MATRIX_BYTES] for p, q */
    int prime;     /* of pairs (pair.h): 0 for p, 1 for q */
    double *roots; /* [FOLD_GROUP][2][HALF_SAMPLES]; unless NULL */
} warprsa_fold_group;

static inline int warprsa_fold_index(int k)
{
    return k;
}

static inline int warprsa_fold_half(int k)
{
    return k / WARPRSA_FOLD_GROUP;
}

/* Word i, of rows of `apart` words, of the message that has the other part of
 * the number of message k (pair.h). */
static inline uint64_t warprsa_fold_other_part(const uint64_t *from, int apart,
                                               int k, int i)
{
    return from[(k ^ WARPRSA_FOLD_GROUP) * apart + i];
}

static inline warprsa_operation
warprsa_fold_operation(const warprsa_fold_group *g, int k)
{
    return g->operations[k % WARPRSA_FOLD_GROUP];
}

static inline const double *warprsa_fold_prime(const warprsa_fold_group *g,
                                               int k)
{
    return g->operations[0].key->half[warprsa_fold_half(k)].modulus;
}

static inline const double *
warprsa_fold_second_prime(const warprsa_fold_group *g, int k)
{
    (void)k;
    return g->operations[0].key->half[1].modulus;
}

static inline const uint32_t *warprsa_fold_exponent(const warprsa_fold_group *g,
                                                    int k)
{
    return g->operations[k % WARPRSA_FOLD_GROUP].exponent +
           warprsa_fold_half(k) * WARPRSA_BLINDED_WORDS;
}

/* Where the roots of message k's request are kept. */
static inline double *warprsa_fold_roots(const warprsa_fold_group *g, int k)
{
    return g->roots + k % WARPRSA_FOLD_GROUP * 2 * WARPRSA_HALF_SAMPLES;
}

/* The stash of a message. */
static inline warprsa_fold_smem_stash
warprsa_fold_own_stash(const warprsa_fold_group *g, const int limbs)
{
    warprsa_fold_smem_stash stash = {{0}};

    (void)g;
    (void)limbs;
    return stash;
}

/* Digit sums of one sample, exactly as the tensor cores make them. 16 rows of a
 * column of the matrix lie side by side. */
static inline void warprsa_fold_digit_sums(uint32_t *d, const uint8_t *matrix,
                                           const uint64_t *upper, int sample,
                                           const int limbs)
{
    const int step = warprsa_fold_matrix_offset(16, sample, 0, limbs) -
                     warprsa_fold_matrix_offset(0, sample, 0, limbs);
    uint8_t bytes[8 * WARPRSA_FOLD_LIMBS_MAX];

    for (int k = 0; k < 8 * limbs; k++)
        bytes[k] = (uint8_t)(upper[k / 8] >> (k % 8 * 8));
    for (int digit = 0; digit < WARPRSA_FOLD_DIGITS; digit++) {
        const uint8_t *of =
            matrix + warprsa_fold_matrix_offset(0, sample, digit, limbs);
        uint32_t sum = 0;

        for (int k = 0; k < 8 * limbs; k += 16, of += step)
            for (int j = 0; j < 16; j++)
                sum += (uint32_t)bytes[k + j] * of[j];
        d[digit] = sum;
    }
}

static inline void warprsa_fold_sync_table(const warprsa_fold_group *g)
{
    (void)g;
}

static inline void warprsa_fold_wait_fetched(const warprsa_fold_group *g)
{
    (void)g;
}

/* Copies the pieces of a phase of message k. */
static inline void warprsa_fold_fetch(const warprsa_fold_group *g, int phase,
                                      int k, const int limbs)
{
    for (int j = 0; j < WARPRSA_FOLD_PIECES_PER_PHASE(limbs); j++)
        for (int e = 1; e <= WARPRSA_FOLD_ENTRIES; e++)
            memcpy(warprsa_fold_smem_piece(&g->memory, j, e, k),
                   warprsa_fold_table_piece(&g->memory, phase, j, e, k, limbs),
                   WARPRSA_FOLD_PIECE_WORDS * sizeof(uint32_t));
}

static inline void warprsa_fold_fetch_next(const warprsa_fold_group *g,
                                           int phase, int k, const int limbs)
{
    warprsa_fold_fetch(g, phase, k, limbs);
}

/* Selects from the pieces that have been fetched. */
static inline void warprsa_fold_select_fetched(const warprsa_fold_group *g,
                                               int phase, uint32_t digit, int k,
                                               const int limbs)
{
    warprsa_fold_select_pieces(&g->memory, phase, digit, k, limbs);
}

static inline void warprsa_fold_fold(warprsa_fold_number *a,
                                     const warprsa_fold_group *g,
                                     warprsa_fold_columns *s,
                                     const warprsa_fold_table_work *work,
                                     uint32_t *digit, const int limbs)
{
    const int each = WARPRSA_FOLD_LIMBS_PER_LANE(limbs);

    for (int k = 0; k < WARPRSA_MESSAGES; k++) {
        uint32_t over = 0, carry = 0;
        uint64_t x[WARPRSA_FOLD_LIMBS_MAX];

        if (work->select >= 0)
            warprsa_fold_select_fetched(g, work->select, digit[k], k, limbs);
        warprsa_fold_top(s->of[k], limbs);
        WARPRSA_BOUND("The fold: no Montgomery form: The sum of the bytes",
                      warprsa_fold_bytes_hold(s->of[k] + limbs, limbs));
        for (int i = 0; i < limbs; i++) {
            uint32_t d[WARPRSA_FOLD_DIGITS];

            warprsa_fold_digit_sums(d, g->matrix[warprsa_fold_half(k)],
                                    s->of[k] + limbs, i, limbs);
            x[i] = warprsa_fold_join(d, &over, limbs);
        }
        for (int i = 0; i < limbs; i += each)
            warprsa_fold_carry(a->of[k] + i, x + i, s->of[k] + i,
                               limbs - i < each ? limbs - i : each, &carry);
        WARPRSA_BOUND(
            "The fold: no Montgomery form: The result is an operand again",
            over == 0 && carry == 0 &&
                warprsa_fold_number_holds(a->of[k], limbs));
        if (work->fetch >= 0)
            warprsa_fold_fetch(g, work->fetch, k, limbs);
        if (work->digit >= 0)
            digit[k] =
                warprsa_fold_digit(warprsa_fold_exponent(g, k), work->digit);
    }
}

#endif
