/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The tables of the narrow fold's powers (narrow.h), and the digits of
 * exponents: where entries lie, and how one of them is chosen. All entries are
 * looked at, in an order that does not depend on the digit.
 */
#ifndef WARPRSA_GPU_KERNELS_NARROW_FOLD_NARROW_TABLE_H
#define WARPRSA_GPU_KERNELS_NARROW_FOLD_NARROW_TABLE_H

#include "gpu/kernels/narrow_fold/narrow.h"

/* What a lane keeps that looks through tables: where its first pair is in entry
 * 0, the others being 512 bytes apart; its pairs of the chosen entries; which
 * lane it is of a warp that looks for others. */
typedef struct warprsa_narrow_look {
    warprsa_narrow_address table;
    uint64_t entry[WARPRSA_NARROW_LOOKS][2];
    int lane;
} warprsa_narrow_look;

/* Where entry 0 of a number's pair k lies in the tables. */
WARPRSA_FN int warprsa_narrow_table_at(int number, int k)
{
    const int numbers = WARPRSA_NARROW_LOOKER_NUMBERS;

    return WARPRSA_NARROW_TABLE +
           WARPRSA_NARROW_TABLE_STRIDE * (number / numbers) +
           16 * (WARPRSA_NARROW_LIMBS / 2 * (number % numbers) + k);
}

/* Which of a looking warp's pairs a lane has as its pair `index`, and whether
 * there is one. With one round it has its own. */
WARPRSA_FN int warprsa_narrow_look_place(const warprsa_narrow_look *look,
                                         const int index)
{
    return 32 * index + look->lane;
}

WARPRSA_FN bool warprsa_narrow_looks(const warprsa_narrow_look *look,
                                     const int index)
{
    return WARPRSA_NARROW_ROUNDS == 1 ||
           32 * (index + 1) <= WARPRSA_NARROW_LOOKER_PAIRS ||
           warprsa_narrow_look_place(look, index) < WARPRSA_NARROW_LOOKER_PAIRS;
}

/* Which number of a looking warp such a pair belongs to. */
WARPRSA_FN int warprsa_narrow_look_number(const warprsa_narrow_look *look,
                                          const int index)
{
    return warprsa_narrow_look_place(look, index) / (WARPRSA_NARROW_LIMBS / 2);
}

/* How many digits an exponent has that has so many of WARPRSA_WINDOW bits. (Of
 * equal digits it is the same number, but nvcc orders all of RSA-2048's powers
 * in another way if it is computed.) */
WARPRSA_FN int warprsa_narrow_windows(uint32_t windows)
{
    const uint32_t bits = WARPRSA_WINDOW * windows;
    const uint32_t own = WARPRSA_NARROW_WINDOW;

    return (int)(own == WARPRSA_WINDOW ? windows : (bits + own - 1) / own);
}

/* Word `index` of an exponent that is shifted down by so many bits; it has
 * `given` words, and zeros behind them. */
WARPRSA_FN uint32_t warprsa_narrow_shifted_word(const uint32_t *exponent,
                                                uint32_t given, uint32_t bits,
                                                uint32_t index)
{
    const uint32_t at = index + bits / 32;
    const uint32_t low = at < given ? exponent[at] : 0;
    const uint32_t high = at + 1 < given ? exponent[at + 1] : 0;

#ifdef __CUDACC__
    return __funnelshift_r(low, high, bits % 32);
#else
    return (uint32_t)(((uint64_t)high << 32 | low) >> (bits % 32));
#endif
}

/* The word of an exponent that digit `index` begins in. */
WARPRSA_FN int warprsa_narrow_digit_word(int index)
{
    return WARPRSA_NARROW_WINDOW * index / 32;
}

/* That digit, of this word and the next one. */
WARPRSA_FN uint32_t warprsa_narrow_digit_of(uint32_t word, uint32_t next,
                                            int index)
{
    const uint32_t mask = WARPRSA_NARROW_ENTRIES - 1;

    if (32 % WARPRSA_NARROW_WINDOW == 0) /* then it ends in the word, too */
        return word >> (WARPRSA_NARROW_WINDOW *
                        (index % (32 / WARPRSA_NARROW_WINDOW))) &
               mask;
    return (uint32_t)(((uint64_t)next << 32 | word) >>
                      (WARPRSA_NARROW_WINDOW * index % 32)) &
           mask;
}

/* Looks at a lane's pairs in entries `from` to `from` + 3 of the tables and
 * keeps those of the entries `digit`. With two rounds the lanes of a warp read
 * what lies together, and those without a pair nothing. (With one round that
 * was slower, for it takes a branch.) */
WARPRSA_FN void warprsa_narrow_choose(warprsa_narrow_look *look, uint32_t from,
                                      const uint32_t *digit)
{
    WARPRSA_UNROLL
    for (int k = 0; k < WARPRSA_NARROW_LOOKS; k++) {
        if (!warprsa_narrow_looks(look, k))
            continue;
        WARPRSA_UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            const uint64_t mask = from + i == digit[k] ? ~0ull : 0;
            uint64_t x[2];

            warprsa_narrow_load(x, look->table +
                                       WARPRSA_NARROW_TABLE_ROW * (from + i) +
                                       512 * k);
            look->entry[k][0] |= x[0] & mask;
            look->entry[k][1] |= x[1] & mask;
        }
    }
}

/* Stores the entries that a looking warp has chosen for others as their factors
 * b. */
WARPRSA_FN void warprsa_narrow_put_chosen(const warprsa_narrow_look *look,
                                          warprsa_narrow_address shared,
                                          int looker)
{
    WARPRSA_UNROLL
    for (int k = 0; k < WARPRSA_NARROW_LOOKS; k++) {
        const int place = warprsa_narrow_look_place(look, k);
        const int number = WARPRSA_NARROW_LOOKER_NUMBERS * looker +
                           warprsa_narrow_look_number(look, k);

        if (warprsa_narrow_looks(look, k))
            warprsa_narrow_store(
                shared + number * WARPRSA_NARROW_STRIDE + WARPRSA_NARROW_B +
                    warprsa_narrow_pair_at(place % (WARPRSA_NARROW_LIMBS / 2)),
                look->entry[k][0], look->entry[k][1]);
    }
}

/* Begins to choose. */
WARPRSA_FN void warprsa_narrow_clear_look(warprsa_narrow_look *look)
{
    WARPRSA_UNROLL
    for (int k = 0; k < WARPRSA_NARROW_LOOKS; k++)
        look->entry[k][0] = look->entry[k][1] = 0;
}

/* Sets up lane `lane` of warp `looker`, one of the warps that look for others.
 * */
WARPRSA_FN void warprsa_narrow_set_look(warprsa_narrow_look *look,
                                        warprsa_narrow_address shared,
                                        int looker, int lane)
{
    look->lane = lane;
    look->table = shared + WARPRSA_NARROW_TABLE +
                  looker * WARPRSA_NARROW_TABLE_STRIDE + 16 * lane;
    warprsa_narrow_clear_look(look);
}

/* Sets up lane `lane` of a number that looks for its own pair. */
WARPRSA_FN void warprsa_narrow_set_own_look(warprsa_narrow_look *look,
                                            warprsa_narrow_address shared,
                                            int number, int lane)
{
    static const warprsa_narrow_lane_places all[] = WARPRSA_NARROW_LANE_PLACES;

    look->lane = 0;
    look->table = shared + warprsa_narrow_table_at(number, all[lane].pair);
    warprsa_narrow_clear_look(look);
}

#endif
