/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the numbers of a group of messages lie (operation.h), and their
 * tables of powers: packed, and read by reading all entries and keeping one, so
 * that neither address nor count of the reads depends on a digit. A piece is 16
 * bytes of all entries. Pieces are copied near and chosen from in phases, two
 * at a time. With 20 samples in four phases: copied while the first half of
 * each of the three squarings of a window and the multiplication before is
 * computed, and chosen from then. With 30 in six, for which each of the
 * squarings has two, one chosen from before H (multiply.h), one while the
 * tensor cores work.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_TABLE_H
#define WARPRSA_GPU_KERNELS_FOLD_TABLE_H

#include "gpu/kernels/fold/program.h"

#ifdef __CUDACC__
#define WARPRSA_MESSAGES        1
#define WARPRSA_EACH_MESSAGE(k) for (int k = 0; k < 1; k++)
#else
#define WARPRSA_MESSAGES        (2 * WARPRSA_FOLD_GROUP)
#define WARPRSA_EACH_MESSAGE(k) for (int k = 0; k < WARPRSA_MESSAGES; k++)
#endif

/* Words of 32 bits of a number below the prime, and pieces of four words. */
#define WARPRSA_FOLD_WORDS(limbs)  (WARPRSA_FOLD_BITS(limbs) / 32)
#define WARPRSA_FOLD_PIECES(limbs) (WARPRSA_FOLD_WORDS(limbs) / 4)
#define WARPRSA_FOLD_PIECE_WORDS   4
/* Phases of a window, two in a square or one in each product, and pieces that
 * are chosen in each. */
#define WARPRSA_FOLD_TWO_PHASES_PER_SQR(limbs) ((limbs) == 30)
#define WARPRSA_FOLD_PHASES(limbs)                                             \
    (WARPRSA_FOLD_TWO_PHASES_PER_SQR(limbs) ? 2 * WARPRSA_FOLD_WINDOW          \
                                            : WARPRSA_FOLD_WINDOW + 1)
#define WARPRSA_FOLD_PIECES_PER_PHASE(limbs)                                   \
    (WARPRSA_FOLD_PIECES(limbs) / WARPRSA_FOLD_PHASES(limbs))

/* Messages whose pieces are copied together, a warp's; pieces of each that are,
 * and their words. */
#define WARPRSA_FOLD_LANES 32
#define WARPRSA_FOLD_PHASE_PIECES(limbs)                                       \
    (WARPRSA_FOLD_PIECES_PER_PHASE(limbs) * WARPRSA_FOLD_ENTRIES)
#define WARPRSA_FOLD_SMEM_WORDS(limbs)                                         \
    (WARPRSA_FOLD_PHASE_PIECES(limbs) * WARPRSA_FOLD_LANES *                   \
     WARPRSA_FOLD_PIECE_WORDS)

typedef struct warprsa_fold_number {
    double of[WARPRSA_MESSAGES][WARPRSA_FOLD_LIMBS_MAX];
} warprsa_fold_number;

typedef struct warprsa_fold_columns {
    uint64_t of[WARPRSA_MESSAGES][2 * WARPRSA_FOLD_LIMBS_MAX];
} warprsa_fold_columns;

/* A piece; entry 0 is the number 1. */
typedef struct warprsa_fold_pieces {
    uint32_t of[WARPRSA_FOLD_ENTRIES + 1][WARPRSA_FOLD_PIECE_WORDS];
} warprsa_fold_pieces;

/* Of which phase pieces are chosen from within a square, where then those of
 * the next phase are fetched, and in a fold, and of which they are fetched
 * after it; -1: none. */
typedef struct warprsa_fold_table_work {
    int select_between, select, fetch;
    int digit; /* the place of the one to be read; -1: none */
} warprsa_fold_table_work;

/* Where a group's data lie; message t of `stride`. SECRET. */
typedef struct warprsa_fold_memory {
    double *registers;     /* sample i of place j at (j rows + i) stride + t */
    uint32_t *table;       /* see warprsa_fold_table_piece() */
    uint32_t *selected;    /* piece u at (u stride + t) 4 */
    uint32_t *smem_pieces; /* of one warp, see warprsa_fold_smem_piece() */
    double *inversion;     /* [stride][HALF_SAMPLES] */
    const double *qinv;
    int stride;
} warprsa_fold_memory;

/* A piece of one entry to the table, on the device past the first cache, which
 * holds nothing of it for long; and to and from what is in shared memory. */
WARPRSA_FN void warprsa_fold_store_table(uint32_t *to, const uint32_t *from)
{
#ifdef __CUDACC__
    asm volatile("st.global.cg.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to),
                 "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
                 : "memory");
#else
    memcpy(to, from, WARPRSA_FOLD_PIECE_WORDS * sizeof(*to));
#endif
}

WARPRSA_FN void warprsa_fold_load_smem(uint32_t *to, const uint32_t *from)
{
#ifdef __CUDACC__
    const uint4 words = *reinterpret_cast<const uint4 *>(from);

    to[0] = words.x;
    to[1] = words.y;
    to[2] = words.z;
    to[3] = words.w;
#else
    memcpy(to, from, WARPRSA_FOLD_PIECE_WORDS * sizeof(*to));
#endif
}

WARPRSA_FN void warprsa_fold_store_smem(uint32_t *to, const uint32_t *from)
{
#ifdef __CUDACC__
    *reinterpret_cast<uint4 *>(to) =
        make_uint4(from[0], from[1], from[2], from[3]);
#else
    memcpy(to, from, WARPRSA_FOLD_PIECE_WORDS * sizeof(*to));
#endif
}

/* Digit `place` of a blinded exponent; 0 below the first. */
WARPRSA_FN uint32_t warprsa_fold_digit(const uint32_t *exponent, int place)
{
    const int bit = WARPRSA_FOLD_WINDOW * place, word = bit / 32;
    uint64_t words;

    if (place < 0)
        return 0;
    words = exponent[word];
    if (word + 1 < WARPRSA_BLINDED_WORDS)
        words |= (uint64_t)exponent[word + 1] << 32;
    return (uint32_t)(words >> bit % 32) & WARPRSA_FOLD_ENTRIES;
}

/* Samples of a number below the prime to words, and back. */
WARPRSA_FN void warprsa_fold_pack(uint32_t *words, const double *a,
                                  const int limbs)
{
    WARPRSA_UNROLL
    for (int i = 0; i < WARPRSA_FOLD_WORDS(limbs); i++) {
        const int at = 32 * i / 52, shift = 32 * i % 52;
        uint64_t bits = warprsa_fold_integer(a[at]) >> shift;

        if (shift > 20 && at + 1 < limbs)
            bits |= warprsa_fold_integer(a[at + 1]) << (52 - shift);
        words[i] = (uint32_t)bits;
    }
}

WARPRSA_FN void warprsa_fold_unpack(double *a, const uint32_t *words,
                                    const int limbs)
{
    WARPRSA_UNROLL
    for (int i = 0; i < limbs; i++) {
        const int at = 52 * i / 32, shift = 52 * i % 32;
        uint64_t bits = words[at];

        if (at + 1 < WARPRSA_FOLD_WORDS(limbs))
            bits |= (uint64_t)words[at + 1] << 32;
        bits >>= shift;
        if (shift > 12 && at + 2 < WARPRSA_FOLD_WORDS(limbs))
            bits |= (uint64_t)words[at + 2] << (64 - shift);
        a[i] = warprsa_sample(bits & WARPRSA_SAMPLE_MASK);
    }
}

/* Where piece j of a phase of entry e is among all that are copied at once. */
WARPRSA_FN int warprsa_fold_piece_index(int j, int e)
{
    return j * WARPRSA_FOLD_ENTRIES + e - 1;
}

/* That piece of message t in the table: what the messages of a warp need in a
 * phase lies in one, as it will lie near. */
WARPRSA_FN uint32_t *warprsa_fold_table_piece(const warprsa_fold_memory *m,
                                              int phase, int j, int e, int t,
                                              const int limbs)
{
    const int lanes = WARPRSA_FOLD_LANES,
              pieces = WARPRSA_FOLD_PHASE_PIECES(limbs);

    return m->table +
           (((t / lanes * WARPRSA_FOLD_PHASES(limbs) + phase) * pieces +
             warprsa_fold_piece_index(j, e)) *
                lanes +
            t % lanes) *
               WARPRSA_FOLD_PIECE_WORDS;
}

/* And where it is near. */
WARPRSA_FN uint32_t *warprsa_fold_smem_piece(const warprsa_fold_memory *m,
                                             int j, int e, int t)
{
    return m->smem_pieces +
           (warprsa_fold_piece_index(j, e) * WARPRSA_FOLD_LANES +
            t % WARPRSA_FOLD_LANES) *
               WARPRSA_FOLD_PIECE_WORDS;
}

/* A packed number as entry `entry` of message t's table. */
WARPRSA_FN void warprsa_fold_put_words(const warprsa_fold_memory *m, int entry,
                                       const uint32_t *words, int t,
                                       const int limbs)
{
    const int each = WARPRSA_FOLD_PIECES_PER_PHASE(limbs);

    WARPRSA_UNROLL
    for (int u = 0; u < WARPRSA_FOLD_PIECES(limbs); u++)
        warprsa_fold_store_table(
            warprsa_fold_table_piece(m, u / each, u % each, entry, t, limbs),
            words + u * WARPRSA_FOLD_PIECE_WORDS);
}

/* x^entry, exactly reduced, into message t's table. */
WARPRSA_FN void warprsa_fold_put_entry(const warprsa_fold_memory *m, int entry,
                                       const double *x, int t, const int limbs)
{
    uint32_t words[WARPRSA_FOLD_WORDS(WARPRSA_FOLD_LIMBS_MAX)] = {0};

    warprsa_fold_pack(words, x, limbs);
    warprsa_fold_put_words(m, entry, words, t, limbs);
}

/* Message t's piece of the chosen entry. */
WARPRSA_FN uint32_t *warprsa_fold_selected(const warprsa_fold_memory *m,
                                           int piece, int t)
{
    return m->selected + (piece * m->stride + t) * WARPRSA_FOLD_PIECE_WORDS;
}

/* `zero` or `one`, by a mask. */
WARPRSA_FN uint32_t warprsa_fold_select_word(uint32_t zero, uint32_t one,
                                             uint32_t mask)
{
    return zero ^ ((zero ^ one) & mask);
}

/* Word w of the entry `digit`. In layers of choices between two. */
WARPRSA_FN uint32_t warprsa_fold_select(const warprsa_fold_pieces *v, int w,
                                        uint32_t digit)
{
    uint32_t left[WARPRSA_FOLD_ENTRIES + 1];

    WARPRSA_UNROLL
    for (int i = 0; i <= WARPRSA_FOLD_ENTRIES; i++)
        left[i] = v->of[i][w];
    WARPRSA_UNROLL
    for (int bit = 0; bit < WARPRSA_FOLD_WINDOW; bit++) {
        WARPRSA_UNROLL
        for (int i = 0; i < (WARPRSA_FOLD_ENTRIES + 1) / 2 >> bit; i++)
            left[i] = warprsa_fold_select_word(left[2 * i], left[2 * i + 1],
                                               0 - (digit >> bit & 1));
    }
    return left[0];
}

/* Keeps of each piece, which must be near, that of the entry `digit`. `one` is
 * the first word of entry 0: 1, or 0 in what is no number's lowest part. */
WARPRSA_FN void warprsa_fold_select_part(const warprsa_fold_memory *m,
                                         int phase, uint32_t digit,
                                         uint32_t one, int t, const int limbs)
{
    const int each = WARPRSA_FOLD_PIECES_PER_PHASE(limbs);

    WARPRSA_UNROLL
    for (int j = 0; j < each; j++) {
        const int piece = phase * each + j;
        uint32_t words[WARPRSA_FOLD_PIECE_WORDS];
        warprsa_fold_pieces v;

        WARPRSA_UNROLL
        for (int w = 0; w < WARPRSA_FOLD_PIECE_WORDS; w++)
            v.of[0][w] = w == 0 && piece == 0 ? one : 0;
        WARPRSA_UNROLL
        for (int e = 1; e <= WARPRSA_FOLD_ENTRIES; e++)
            warprsa_fold_load_smem(v.of[e],
                                   warprsa_fold_smem_piece(m, j, e, t));
        WARPRSA_UNROLL
        for (int w = 0; w < WARPRSA_FOLD_PIECE_WORDS; w++)
            words[w] = warprsa_fold_select(&v, w, digit);
        warprsa_fold_store_smem(warprsa_fold_selected(m, piece, t), words);
    }
}

WARPRSA_FN void warprsa_fold_select_pieces(const warprsa_fold_memory *m,
                                           int phase, uint32_t digit, int t,
                                           const int limbs)
{
    warprsa_fold_select_part(m, phase, digit, 1, t, limbs);
}

/* The chosen entry, as it is packed. */
WARPRSA_FN void warprsa_fold_get_words(uint32_t *words,
                                       const warprsa_fold_memory *m, int t,
                                       const int limbs)
{
    WARPRSA_UNROLL
    for (int u = 0; u < WARPRSA_FOLD_PIECES(limbs); u++)
        warprsa_fold_load_smem(words + u * WARPRSA_FOLD_PIECE_WORDS,
                               warprsa_fold_selected(m, u, t));
}

WARPRSA_FN void warprsa_fold_get_selected(double *a,
                                          const warprsa_fold_memory *m, int t,
                                          const int limbs)
{
    uint32_t words[WARPRSA_FOLD_WORDS(WARPRSA_FOLD_LIMBS_MAX)] = {0};

    warprsa_fold_get_words(words, m, t, limbs);
    warprsa_fold_unpack(a, words, limbs);
}

#endif
