/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sizes of the narrow fold (narrow.h), where its numbers lie in the shared
 * memory of a block, what a lane keeps of that, and how it loads and stores.
 */
#ifndef WARPRSA_GPU_KERNELS_NARROW_FOLD_LAYOUT_H
#define WARPRSA_GPU_KERNELS_NARROW_FOLD_LAYOUT_H

#include "gpu/arith/private_operation.h"

/* Samples of a number: 20, or 30 and 40 where it is compiled for RSA-3072 and
 * RSA-4096. */
#ifndef WARPRSA_NARROW_LIMBS
#define WARPRSA_NARROW_LIMBS 20
#endif

#include "gpu/kernels/narrow_fold/places.h"

enum {
    /* Of a number. */
    WARPRSA_NARROW_BLOCKS = 5,
    WARPRSA_NARROW_COLUMNS = 2 * WARPRSA_NARROW_LIMBS,
    WARPRSA_NARROW_LANES = 16,
    /* Of a block: samples, and pairs of them. */
    WARPRSA_NARROW_SIDE = WARPRSA_NARROW_LIMBS / WARPRSA_NARROW_BLOCKS,
    WARPRSA_NARROW_PAIRS = WARPRSA_NARROW_SIDE / 2,
    /* Four of a block's samples at a time: one round for RSA-2048, two for the
     * others. */
    WARPRSA_NARROW_ROUNDS = (WARPRSA_NARROW_SIDE + 3) / 4,
    WARPRSA_NARROW_BITS = 256 * WARPRSA_NARROW_SIDE, /* of a prime */
    WARPRSA_NARROW_NUMBERS = 8,                      /* of a block of threads */
    /* Numbers of each prime in a block of both, and requests of a short item,
     * which can have one. Where several blocks share an SM there is no room for
     * two matrices. */
    WARPRSA_NARROW_OF_EACH = WARPRSA_NARROW_NUMBERS / 2,
    WARPRSA_NARROW_SHORT =
        WARPRSA_NARROW_LIMBS == 40 ? WARPRSA_NARROW_OF_EACH : 0,
    WARPRSA_NARROW_TILES = 2, /* of 16 digits that a warp has */
    /* Of the matrix: bytes of upper columns; bytes of a row. */
    WARPRSA_NARROW_ROWS = 8 * WARPRSA_NARROW_LIMBS,
    WARPRSA_NARROW_DIGITS = WARPRSA_NARROW_BITS / 8,
    WARPRSA_NARROW_THREADS = WARPRSA_NARROW_DIGITS,
    /* Of 32 rows that an instruction has. */
    WARPRSA_NARROW_STEPS = (WARPRSA_NARROW_ROWS + 31) / 32,
    /* The rows of all steps, of which those behind the bytes are zero. */
    WARPRSA_NARROW_STEP_ROWS = 32 * WARPRSA_NARROW_STEPS,
    WARPRSA_NARROW_MATRIX_BYTES =
        WARPRSA_NARROW_STEP_ROWS * WARPRSA_NARROW_DIGITS,
    /* The pair of columns, in places.h, of the lane with the top sample. */
    WARPRSA_NARROW_TOP = WARPRSA_NARROW_LIMBS == 30 ? 8 : 9,
    /* Words' parts that a sample may get. */
    WARPRSA_NARROW_WORD_PARTS = WARPRSA_NARROW_LIMBS == 40 ? 4 : 3,
    /* Who looks through the tables. With one round a lane looks for its own
     * pair of samples. With two the warps without numbers look, each for two or
     * four numbers, whose pairs its lanes have in turns. */
    WARPRSA_NARROW_LOOKERS = WARPRSA_NARROW_LIMBS == 20   ? 8
                             : WARPRSA_NARROW_LIMBS == 30 ? 2
                                                          : 4,
    WARPRSA_NARROW_LOOKER_NUMBERS =
        WARPRSA_NARROW_NUMBERS / WARPRSA_NARROW_LOOKERS,
    WARPRSA_NARROW_LOOKER_PAIRS =
        WARPRSA_NARROW_LOOKER_NUMBERS * WARPRSA_NARROW_LIMBS / 2,
    WARPRSA_NARROW_LOOKS = (WARPRSA_NARROW_LOOKER_PAIRS + 31) / 32,
    /* Bits of an exponent's digit, and entries of the tables. With one round an
     * SM has four blocks, and no room for their tables of 32 entries. */
    WARPRSA_NARROW_WINDOW = WARPRSA_NARROW_ROUNDS == 1 ? 4 : 5,
    WARPRSA_NARROW_ENTRIES = 1 << WARPRSA_NARROW_WINDOW,
    /* How many entries are looked at beside a square of a digit, in fours. The
     * last square may have none left. */
    WARPRSA_NARROW_LOOK_FOURS =
        (WARPRSA_NARROW_ENTRIES / 4 + WARPRSA_NARROW_WINDOW - 1) /
        WARPRSA_NARROW_WINDOW,
};

/*
 * Shared memory of a block, in bytes. Each number has: its samples, which are
 * the factor a; zeros; the factor b; the parts of columns in four rows, and
 * zeros behind these. A number's pairs of samples 0, 2, 4, 6, 8 lie before the
 * pairs 1, 3, 5, 7, 9, so that a block's two pairs are 80 bytes apart. Strides
 * are such that numbers of a warp use different banks.
 */
enum {
    WARPRSA_NARROW_HALF_NUMBER = 80,
    WARPRSA_NARROW_ROUND = 160, /* samples of a round */
    WARPRSA_NARROW_NUMBER = WARPRSA_NARROW_ROUND * WARPRSA_NARROW_ROUNDS,
    WARPRSA_NARROW_A = 0,
    WARPRSA_NARROW_A_ZEROS = WARPRSA_NARROW_NUMBER,
    WARPRSA_NARROW_B = WARPRSA_NARROW_ROUNDS == 1 ? 256 : 640,
    WARPRSA_NARROW_PARTS = WARPRSA_NARROW_B + WARPRSA_NARROW_NUMBER,
    WARPRSA_NARROW_PARTS_ROW = 272,
    WARPRSA_NARROW_PARTS_ROUND = 4 * WARPRSA_NARROW_PARTS_ROW + 128,
    /* What the lanes' columns start from, where registers have no room for it:
     * 16 bytes a lane for the first pair and for the second, in each round. */
    WARPRSA_NARROW_STARTS_ROW = 256,
    WARPRSA_NARROW_STARTS = WARPRSA_NARROW_PARTS +
                            WARPRSA_NARROW_ROUNDS * WARPRSA_NARROW_PARTS_ROUND,
    WARPRSA_NARROW_STRIDE =
        WARPRSA_NARROW_STARTS +
        (WARPRSA_NARROW_LIMBS == 30 ? 4 * WARPRSA_NARROW_STARTS_ROW : 0),
    /* Upper columns: 16 of a number, then 4 of a number (with two rounds: 40
     * or 32), then the words' parts, then tables and exponents. */
    WARPRSA_NARROW_UPPER = 8 * WARPRSA_NARROW_STRIDE,
    WARPRSA_NARROW_UPPER_STRIDE = WARPRSA_NARROW_ROUNDS == 1 ? 192 : 320,
    WARPRSA_NARROW_LAST =
        WARPRSA_NARROW_UPPER + 8 * WARPRSA_NARROW_UPPER_STRIDE,
    WARPRSA_NARROW_LAST_STRIDE = WARPRSA_NARROW_ROUNDS == 1 ? 32 : 0,
    WARPRSA_NARROW_WORDS = WARPRSA_NARROW_LAST + 8 * WARPRSA_NARROW_LAST_STRIDE,
    /* As many rows as a sample may get parts, then what nobody reads. With 30
     * samples rows begin in different banks, for most places of the second
     * round are empty. */
    WARPRSA_NARROW_WORDS_ROW =
        WARPRSA_NARROW_NUMBER + (WARPRSA_NARROW_LIMBS == 30 ? 16 : 0),
    WARPRSA_NARROW_WORDS_STRIDE = WARPRSA_NARROW_LIMBS == 20   ? 528
                                  : WARPRSA_NARROW_LIMBS == 30 ? 1040
                                                               : 1296,
    WARPRSA_NARROW_TABLE =
        WARPRSA_NARROW_WORDS + 8 * WARPRSA_NARROW_WORDS_STRIDE,
    /* Entry by entry, without gaps, the pairs that are looked through together.
     */
    WARPRSA_NARROW_TABLE_ROW = 16 * WARPRSA_NARROW_LOOKER_PAIRS,
    WARPRSA_NARROW_TABLE_STRIDE =
        WARPRSA_NARROW_ENTRIES * WARPRSA_NARROW_TABLE_ROW,
    WARPRSA_NARROW_EXPONENT =
        WARPRSA_NARROW_TABLE +
        WARPRSA_NARROW_LOOKERS * WARPRSA_NARROW_TABLE_STRIDE,
    /* Words of an exponent. RSA-2048: 1,035 bits, which keys with other primes
     * in the batch may have, and 32 for blinding. Longer keys: all words, and a
     * zero behind them, into which the highest digit may reach. */
    WARPRSA_NARROW_EXPONENT_WORDS =
        WARPRSA_NARROW_ROUNDS == 1 ? 35 : WARPRSA_BLINDED_WORDS + 1,
    WARPRSA_NARROW_SHARED =
        WARPRSA_NARROW_EXPONENT + 8 * 4 * WARPRSA_NARROW_EXPONENT_WORDS,
};

/* An address in that memory. */
#ifdef __CUDACC__
typedef uint32_t warprsa_narrow_address;
#else
typedef uint8_t *warprsa_narrow_address;
#endif

/* The key's part: the matrix as the tensor cores' instruction wants it, and the
 * biases of all columns, negated modulo P, in samples. SECRET. */
typedef struct warprsa_narrow_key {
    uint64_t matrix[WARPRSA_NARROW_MATRIX_BYTES / 8];
    uint64_t bias[WARPRSA_NARROW_LIMBS];
} warprsa_narrow_key;

/* What a lane keeps from product to product. */
typedef struct warprsa_narrow_lane {
    /* The two blocks of a product. A multiplication takes them the other way
     * round, too: then the first one is at left_again. */
    warprsa_narrow_address left, right, left_again;
    warprsa_narrow_address part, parts[5];
    warprsa_narrow_address upper_first, upper_second;
    /* Its pair of samples: their words' parts, the number. */
    warprsa_narrow_address words, number;
#if WARPRSA_NARROW_LIMBS != 30
    uint64_t start[WARPRSA_NARROW_ROUNDS][2]; /* of its first pair of columns */
    /* The upper words of the starts of its second pair; the lower ones are
     * zero, as columns 32 and up get no bias of all columns. */
    uint32_t second_start[WARPRSA_NARROW_ROUNDS][2];
#endif
    uint32_t fourth, top_mask, square;
    /* The upper word of what is subtracted from the upper sample of its pair,
     * a double whose lower word is that of 2^53 + 2^51 + 2^31. */
    uint32_t half;
    int carry_from;
#if WARPRSA_NARROW_LIMBS > 20
    /* Of the second round; and whether its pair is the second of two. */
    int other_carry_from;
    bool odd;
#endif
    bool low, lowest, top, second;
} warprsa_narrow_lane;

/* Two values that lie together in shared memory. */
WARPRSA_FN void warprsa_narrow_load(uint64_t *x, warprsa_narrow_address at)
{
#ifdef __CUDACC__
    asm volatile("ld.shared.v2.u64 {%0,%1}, [%2];"
                 : "=l"(x[0]), "=l"(x[1])
                 : "r"(at)
                 : "memory");
#else
    memcpy(x, at, 16);
#endif
}

WARPRSA_FN void warprsa_narrow_store(warprsa_narrow_address at, uint64_t x,
                                     uint64_t y)
{
#ifdef __CUDACC__
    asm volatile("st.shared.v2.u64 [%0], {%1,%2};" ::"r"(at), "l"(x), "l"(y)
                 : "memory");
#else
    memcpy(at, &x, 8);
    memcpy(at + 8, &y, 8);
#endif
}

WARPRSA_FN void warprsa_narrow_store_one(warprsa_narrow_address at, uint64_t x)
{
#ifdef __CUDACC__
    asm volatile("st.shared.u64 [%0], %1;" ::"r"(at), "l"(x) : "memory");
#else
    memcpy(at, &x, 8);
#endif
}

WARPRSA_FN void warprsa_narrow_store_byte(warprsa_narrow_address at, uint32_t x)
{
#ifdef __CUDACC__
    asm volatile("st.shared.u8 [%0], %1;" ::"r"(at), "r"(x) : "memory");
#else
    *at = (uint8_t)x;
#endif
}

WARPRSA_FN void warprsa_narrow_load_samples(double *x,
                                            warprsa_narrow_address at)
{
    uint64_t bits[2];

    warprsa_narrow_load(bits, at);
    x[0] = warprsa_from_bits(bits[0]);
    x[1] = warprsa_from_bits(bits[1]);
}

WARPRSA_FN void warprsa_narrow_store_samples(warprsa_narrow_address at,
                                             const double *x)
{
    warprsa_narrow_store(at, warprsa_bits(x[0]), warprsa_bits(x[1]));
}

/* The pair of samples or columns that a lane has in a round, for its pair k in
 * places.h. A block has two pairs of every round, or one of the last. */
WARPRSA_FN int warprsa_narrow_pair(int k, int round)
{
    return WARPRSA_NARROW_ROUNDS == 1
               ? k
               : WARPRSA_NARROW_PAIRS * (k / 2) + 2 * round + k % 2;
}

/* Whether a lane has pairs in a round. */
WARPRSA_FN bool warprsa_narrow_takes_part(const warprsa_narrow_lane *me,
                                          const int round)
{
#if WARPRSA_NARROW_LIMBS == 30
    return round == 0 || !me->odd;
#else
    (void)me;
    (void)round;
    return true;
#endif
}

/* The round that has pair k, and its place among that round's. */
WARPRSA_FN int warprsa_narrow_round_of(int k)
{
    return WARPRSA_NARROW_ROUNDS == 1 ? 0 : k % WARPRSA_NARROW_PAIRS / 2;
}

WARPRSA_FN int warprsa_narrow_place_of(int k)
{
    return WARPRSA_NARROW_ROUNDS == 1
               ? k
               : k / WARPRSA_NARROW_PAIRS * 2 + k % WARPRSA_NARROW_PAIRS % 2;
}

/* Where pair k of a number's samples lies as a factor. */
WARPRSA_FN int warprsa_narrow_pair_at(int k)
{
    return WARPRSA_NARROW_ROUND * warprsa_narrow_round_of(k) +
           16 * (warprsa_narrow_place_of(k) / 2) +
           k % WARPRSA_NARROW_PAIRS % 2 * WARPRSA_NARROW_HALF_NUMBER;
}

/* The same in a row of words, for pair k of the first round. With 30 samples
 * eight lanes together read the even pairs or the odd ones. They are in
 * different banks, for pairs 1 and 8 have changed places. */
WARPRSA_FN int warprsa_narrow_place_in_row(int k)
{
    return 16 * (WARPRSA_NARROW_LIMBS != 30 ? k : k == 1 ? 8 : k == 8 ? 1 : k);
}

/* And for any pair. */
WARPRSA_FN int warprsa_narrow_pair_in_row(int k)
{
    return WARPRSA_NARROW_ROUND * warprsa_narrow_round_of(k) +
           warprsa_narrow_place_in_row(warprsa_narrow_place_of(k));
}

#endif
