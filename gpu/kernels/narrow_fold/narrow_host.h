/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The narrow fold (narrow.h) on the CPU: a number's 16 lanes one after another,
 * and what the tensor cores sum as loops over the same matrix, at the same
 * offsets.
 */
#ifndef WARPRSA_GPU_KERNELS_NARROW_FOLD_NARROW_HOST_H
#define WARPRSA_GPU_KERNELS_NARROW_FOLD_NARROW_HOST_H

#include "gpu/kernels/narrow_fold/narrow_matrix.h"
#include "gpu/kernels/narrow_fold/narrow_operation.h"

/* One number. SECRET. */
typedef struct warprsa_narrow_host {
    uint8_t shared[WARPRSA_NARROW_SHARED];
    warprsa_narrow_lane lane[WARPRSA_NARROW_LANES];
    const warprsa_narrow_key *key;
} warprsa_narrow_host;

static inline void warprsa_narrow_host_new(warprsa_narrow_host *h,
                                           const warprsa_narrow_key *key)
{
    memset(h->shared, 0, sizeof(h->shared));
    h->key = key;
    for (int i = 0; i < WARPRSA_NARROW_LANES; i++) {
        warprsa_narrow_set_lane(&h->lane[i], h->shared, 0, i, key);
#if WARPRSA_NARROW_LIMBS == 30
        warprsa_narrow_store_starts(&h->lane[i], i, key);
#endif
    }
}

/* The digit sum `digit`, 0..3, of word `place`: the lower two are of the first
 * tile. Thread t of four has two columns of a step, which it reads from the
 * upper columns of a number as the device does. */
static inline uint32_t warprsa_narrow_host_sum(const warprsa_narrow_host *h,
                                               int place, int digit)
{
    const uint8_t *matrix = (const uint8_t *)h->key->matrix +
                            16 * 32 * WARPRSA_NARROW_STEPS *
                                (place / 8 * WARPRSA_NARROW_TILES + digit / 2) +
                            16 * 4 * (place % 8) + 4 * (digit % 2);
    const uint8_t *upper = h->shared + WARPRSA_NARROW_UPPER;
    const uint8_t *last = h->shared + WARPRSA_NARROW_LAST;
    uint32_t sum = 0;

    for (int step = 0; step < WARPRSA_NARROW_STEPS; step++)
        for (int t = 0; t < 4; t++) {
            const uint8_t *row = matrix + 16 * (32 * step + t);
            const uint8_t *column =
                WARPRSA_NARROW_ROUNDS == 1 && step == 4
                    ? last + 8 * t
                    : upper + 16 * t + step % 2 * 8 + step / 2 * 64;

            for (int i = 0; i < 4; i++)
                sum += row[i] * column[i] + row[8 + i] * column[4 + i];
        }
    return sum;
}

#ifdef WARPRSA_VERIFIES
/* The sum of all bytes that are folded. */
static inline int warprsa_narrow_byte_sum(const warprsa_narrow_host *h)
{
    const int last = WARPRSA_NARROW_ROUNDS == 1 ? 8 * 4 : 0;
    int sum = 0;

    for (int i = 0; i < WARPRSA_NARROW_ROWS - last; i++)
        sum += h->shared[WARPRSA_NARROW_UPPER + i];
    for (int i = 0; i < last; i++)
        sum += h->shared[WARPRSA_NARROW_LAST + i];
    return sum;
}
#endif

/* What is carried into a lane's pair of a round. With two rounds it comes from
 * the pair of lanes below in the second round, from its own pair in the first,
 * and within a pair of lanes from the one to the other. With 30 samples only
 * the first lane of the pair has a second round. */
static inline uint32_t
warprsa_narrow_host_carry(const warprsa_narrow_lane *me,
                          uint32_t carry[][WARPRSA_NARROW_ROUNDS], int round)
{
#if WARPRSA_NARROW_LIMBS > 20
    if (round == 1)
        return carry[me->other_carry_from][me->odd ? 1 : 0];
    if (!me->odd)
        return carry[me->carry_from][1];
#endif
    return carry[me->carry_from][round];
}

/* a = a a or, with `multiply`, a = a b. */
WARPRSA_NOINLINE_FN void warprsa_narrow_host_step(warprsa_narrow_host *h,
                                                  int multiply)
{
    static const warprsa_narrow_word_places words[] =
        WARPRSA_NARROW_WORD_PLACES;
    const int lanes = WARPRSA_NARROW_LANES;
    uint64_t c[WARPRSA_NARROW_LANES][WARPRSA_NARROW_ROUNDS][2];
    uint64_t y[WARPRSA_NARROW_LANES][WARPRSA_NARROW_ROUNDS][2];
    uint32_t carry[WARPRSA_NARROW_LANES][WARPRSA_NARROW_ROUNDS];
    double a[2];

    for (int i = 0; i < lanes; i++)
        warprsa_narrow_product(&h->lane[i], multiply);
    for (int i = 0; i < lanes; i++)
        warprsa_narrow_columns(&h->lane[i], c[i], multiply);
    for (int i = 0; i < lanes; i++)
        warprsa_narrow_top(&h->lane[i], c[i]);
    WARPRSA_BOUND("The narrow fold: Digit sums",
                  warprsa_narrow_byte_sum(h) < WARPRSA_NARROW_MOST_BYTES);
    for (int i = 0; i < WARPRSA_NARROW_DIGITS / 4; i++)
        warprsa_narrow_put_word(
            h->shared + WARPRSA_NARROW_WORDS + words[i].low,
            h->shared + WARPRSA_NARROW_WORDS + words[i].high, words[i].shift,
            warprsa_narrow_host_sum(h, i, 0), warprsa_narrow_host_sum(h, i, 1),
            warprsa_narrow_host_sum(h, i, 2), warprsa_narrow_host_sum(h, i, 3));
    for (int i = 0; i < lanes; i++)
        for (int round = 0; round < WARPRSA_NARROW_ROUNDS; round++)
            carry[i][round] = warprsa_narrow_sums(&h->lane[i], c[i][round],
                                                  y[i][round], round);
    for (int i = 0; i < lanes; i++)
        for (int round = 0; round < WARPRSA_NARROW_ROUNDS; round++)
            warprsa_narrow_samples(
                &h->lane[i], a, y[i][round],
                warprsa_narrow_host_carry(&h->lane[i], carry, round), round);
}

/* Copies a number's samples into or out of memory where pairs lie apart. */
static inline void warprsa_narrow_host_put(uint8_t *at, const double *a)
{
    for (int k = 0; k < WARPRSA_NARROW_LIMBS / 2; k++)
        memcpy(at + warprsa_narrow_pair_at(k), a + 2 * k, 16);
}

static inline void warprsa_narrow_host_get(double *a, const uint8_t *at)
{
    for (int k = 0; k < WARPRSA_NARROW_LIMBS / 2; k++)
        memcpy(a + 2 * k, at + warprsa_narrow_pair_at(k), 16);
}

/* b = the chosen entry of the table. With two rounds a warp chooses that has
 * number 0 among its numbers. For the others, which there are none of, it
 * chooses entry 0: zeros. */
static inline void warprsa_narrow_host_choose(warprsa_narrow_host *h,
                                              uint32_t digit)
{
    const bool own = WARPRSA_NARROW_ROUNDS == 1;

    for (int i = 0; i < (own ? WARPRSA_NARROW_LANES : 32); i++) {
        uint32_t digits[WARPRSA_NARROW_LOOKS];
        warprsa_narrow_look look;

        if (own)
            warprsa_narrow_set_own_look(&look, h->shared, 0, i);
        else
            warprsa_narrow_set_look(&look, h->shared, 0, i);
        for (int k = 0; k < WARPRSA_NARROW_LOOKS; k++)
            digits[k] = warprsa_narrow_look_number(&look, k) == 0 ? digit : 0;
        for (uint32_t from = 0; from < WARPRSA_NARROW_ENTRIES; from += 4)
            warprsa_narrow_choose(&look, from, digits);
        if (!own)
            warprsa_narrow_put_chosen(&look, h->shared, 0);
        else if (h->lane[i].low)
            warprsa_narrow_store(h->lane[i].number + WARPRSA_NARROW_B,
                                 look.entry[0][0], look.entry[0][1]);
    }
}

/* Entry `entry` of the table = a. */
static inline void warprsa_narrow_host_put_entry(warprsa_narrow_host *h,
                                                 int entry)
{
    for (int k = 0; k < WARPRSA_NARROW_LIMBS / 2; k++)
        memcpy(h->shared + warprsa_narrow_table_at(0, k) +
                   entry * WARPRSA_NARROW_TABLE_ROW,
               h->shared + WARPRSA_NARROW_A + warprsa_narrow_pair_at(k), 16);
}

/* a = entry `entry` of the table. */
static inline void warprsa_narrow_host_get_entry(warprsa_narrow_host *h,
                                                 int entry)
{
    for (int k = 0; k < WARPRSA_NARROW_LIMBS / 2; k++)
        memcpy(h->shared + WARPRSA_NARROW_A + warprsa_narrow_pair_at(k),
               h->shared + warprsa_narrow_table_at(0, k) +
                   entry * WARPRSA_NARROW_TABLE_ROW,
               16);
}

/* Digit `index` of number 0's exponent, 0 the lowest. */
static inline uint32_t warprsa_narrow_host_digit(const warprsa_narrow_host *h,
                                                 int index)
{
    uint32_t words[2];

    memcpy(words,
           h->shared + WARPRSA_NARROW_EXPONENT +
               4 * warprsa_narrow_digit_word(index),
           sizeof(words));
    return warprsa_narrow_digit_of(words[0], words[1], index);
}

/* Loads number 0's exponent of so many digits of WARPRSA_WINDOW bits, from
 * digit `low` of its own on. */
static inline void warprsa_narrow_host_put_exponent(warprsa_narrow_host *h,
                                                    const uint32_t *exponent,
                                                    int windows, int low)
{
    const int words = (WARPRSA_WINDOW * windows + 31) / 32;
    uint8_t *to = h->shared + WARPRSA_NARROW_EXPONENT;

    for (int i = 0; i < WARPRSA_NARROW_EXPONENT_WORDS; i++, to += 4) {
        const uint32_t word = warprsa_narrow_shifted_word(
            exponent, (uint32_t)words, (uint32_t)(WARPRSA_NARROW_WINDOW * low),
            (uint32_t)i);

        memcpy(to, &word, sizeof(word));
    }
}

/* Goes on with a power of a, start, by digits low..low + digits - 1 of an
 * exponent, as power.cuh does: start = start^(2^(their bits)) a^(these digits).
 * The exponent has `windows` digits of WARPRSA_WINDOW bits. */
static inline void warprsa_narrow_host_power(double *start, const double *a,
                                             const warprsa_narrow_key *key,
                                             const uint32_t *exponent,
                                             int windows, int low, int digits)
{
    static const double one[WARPRSA_NARROW_LIMBS] = {1};
    warprsa_narrow_host h;

    warprsa_narrow_host_new(&h, key);
    warprsa_narrow_host_put_exponent(&h, exponent, windows, low);
    warprsa_narrow_host_put(h.shared + WARPRSA_NARROW_A, one);
    warprsa_narrow_host_put_entry(&h, 0);
    warprsa_narrow_host_put(h.shared + WARPRSA_NARROW_A, a);
    warprsa_narrow_host_put(h.shared + WARPRSA_NARROW_B, a);
    warprsa_narrow_host_put_entry(&h, 1);
    for (int i = 2; i < WARPRSA_NARROW_ENTRIES; i++) {
        const bool is_square = WARPRSA_NARROW_ROUNDS > 1 && i % 2 == 0;

        if (is_square)
            warprsa_narrow_host_get_entry(&h, i / 2);
        warprsa_narrow_host_step(&h, !is_square);
        warprsa_narrow_host_put_entry(&h, i);
    }
    warprsa_narrow_host_put(h.shared + WARPRSA_NARROW_A, start);
    for (int i = digits - 1; i >= 0; i--) {
        for (int j = 0; j < WARPRSA_NARROW_WINDOW; j++)
            warprsa_narrow_host_step(&h, 0);
        warprsa_narrow_host_choose(&h, warprsa_narrow_host_digit(&h, i));
        warprsa_narrow_host_step(&h, 1);
    }
    warprsa_narrow_host_get(start, h.shared + WARPRSA_NARROW_A);
    explicit_bzero(&h, sizeof(h));
}

#endif
