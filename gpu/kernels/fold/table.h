/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The memory of a group of messages (program.h): the registers of the program,
 * and for each message a table of powers.
 *
 * An entry is packed and cut into pieces of 16 bytes. An entry is selected by
 * reading that piece of all entries and keeping one by masks, so that neither
 * the address nor the number of the reads depends on the secret digit. Pieces
 * are copied to shared memory and selected from in phases, two pieces at a
 * time, while multiplications are computed:
 *
 * 20 samples: a window has four phases of two pieces. A phase is copied during
 * the first half of each of the three squarings of the window and of the
 * multiplication before them, and selected from then.
 *
 * 30 samples: a window has six phases of two pieces, two in each squaring. One
 * is selected from before H (multiply.h), the other while the tensor cores
 * work.
 *
 * 40 samples, by two threads: what a thread has is as with 20. 20 samples by
 * two threads: four phases of one piece. 30 samples by two threads: three
 * phases of two pieces, one in each squaring.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_TABLE_H
#define WARPRSA_GPU_KERNELS_FOLD_TABLE_H

#include "gpu/kernels/fold/program.h"

/* The messages that a variable of a thread holds: on the device the thread's
 * own, on the host all of a group. A loop over them. */
#ifdef __CUDACC__
#define WARPRSA_MESSAGES        1
#define WARPRSA_EACH_MESSAGE(k) for (int k = 0; k < 1; k++)
#else
#define WARPRSA_MESSAGES        (2 * WARPRSA_FOLD_GROUP)
#define WARPRSA_EACH_MESSAGE(k) for (int k = 0; k < WARPRSA_MESSAGES; k++)
#endif

/* Words of 32 bits of a number below the prime; pieces of such a number; words
 * of a piece. */
#define WARPRSA_FOLD_WORDS(limbs)  (WARPRSA_FOLD_BITS(limbs) / 32)
#define WARPRSA_FOLD_PIECES(limbs) (WARPRSA_FOLD_WORDS(limbs) / 4)
#define WARPRSA_FOLD_PIECE_WORDS   4
/* Phases of a window: two in each squaring, or one; or one in each squaring and
 * multiplication. Pieces that are selected in each phase. */
#define WARPRSA_FOLD_TWO_PHASES_PER_SQR(limbs) ((limbs) == 30)
#define WARPRSA_FOLD_ONE_PHASE_PER_SQR(limbs)  ((limbs) == 15)
#define WARPRSA_FOLD_PHASES(limbs)                                             \
    (WARPRSA_FOLD_TWO_PHASES_PER_SQR(limbs)  ? 2 * WARPRSA_FOLD_WINDOW         \
     : WARPRSA_FOLD_ONE_PHASE_PER_SQR(limbs) ? WARPRSA_FOLD_WINDOW             \
                                             : WARPRSA_FOLD_WINDOW + 1)
#define WARPRSA_FOLD_PIECES_PER_PHASE(limbs)                                   \
    (WARPRSA_FOLD_PIECES(limbs) / WARPRSA_FOLD_PHASES(limbs))

/* Messages whose pieces are copied at once: those of a warp. Pieces of one
 * message copied at once, over all entries. Words of all of these. */
#define WARPRSA_FOLD_LANES 32
#define WARPRSA_FOLD_PHASE_PIECES(limbs)                                       \
    (WARPRSA_FOLD_PIECES_PER_PHASE(limbs) * WARPRSA_FOLD_ENTRIES)
#define WARPRSA_FOLD_SMEM_WORDS(limbs)                                         \
    (WARPRSA_FOLD_PHASE_PIECES(limbs) * WARPRSA_FOLD_LANES *                   \
     WARPRSA_FOLD_PIECE_WORDS)

/* One number of every message: its samples. SECRET. */
typedef struct warprsa_fold_number {
    double of[WARPRSA_MESSAGES][WARPRSA_FOLD_LIMBS_MAX];
} warprsa_fold_number;

/* The columns of a product of every message. SECRET. */
typedef struct warprsa_fold_columns {
    uint64_t of[WARPRSA_MESSAGES][2 * WARPRSA_FOLD_LIMBS_MAX];
} warprsa_fold_columns;

/* One piece of all entries. Entry 0 is the number 1. */
typedef struct warprsa_fold_pieces {
    uint32_t of[WARPRSA_FOLD_ENTRIES + 1][WARPRSA_FOLD_PIECE_WORDS];
} warprsa_fold_pieces;

/*
 * What is done to the table during one multiplication; each of the first three
 * is a phase, or -1 for nothing. `select_between` is selected within a
 * squaring, and then the phase after it is fetched. `select` is selected while
 * the tensor cores fold or, in the loop that a modexp of 20 samples has,
 * between the two parts of a multiplication. `fetch` is fetched after the fold.
 */
typedef struct warprsa_fold_table_work {
    int select_between, select, fetch;
    int digit; /* position of the digit to read; -1: none */
} warprsa_fold_table_work;

/* Where the data of a group lie. Message t is one of `stride`. SECRET. */
typedef struct warprsa_fold_memory {
    double *registers;     /* sample i of j at (j limbs + i) stride + t */
    uint32_t *table;       /* see warprsa_fold_table_piece() */
    uint32_t *selected;    /* piece u at (u stride + t) 4 */
    uint32_t *smem_pieces; /* of one warp, see warprsa_fold_smem_piece() */
    const double *qinv;
    int stride;
} warprsa_fold_memory;

/* Stores a piece of one entry into the table. On the device it goes past L1,
 * which would hold nothing of it for long. */
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

/* Digit `position` of a blinded exponent; 0 below the first. */
WARPRSA_FN uint32_t warprsa_fold_digit(const uint32_t *exponent, int position)
{
    const int bit = WARPRSA_FOLD_WINDOW * position, word = bit / 32;
    uint64_t words;

    if (position < 0)
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

/* Index of piece j of a phase, of entry e, among all pieces of a message that
 * are copied at once. */
WARPRSA_FN int warprsa_fold_piece_index(int j, int e)
{
    return j * WARPRSA_FOLD_ENTRIES + e - 1;
}

/* That piece of message t in the table. What the messages of a warp need in a
 * phase is contiguous, in the order that it has in shared memory, so one copy
 * brings it. */
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

/* That piece in shared memory. */
WARPRSA_FN uint32_t *warprsa_fold_smem_piece(const warprsa_fold_memory *m,
                                             int j, int e, int t)
{
    return m->smem_pieces +
           (warprsa_fold_piece_index(j, e) * WARPRSA_FOLD_LANES +
            t % WARPRSA_FOLD_LANES) *
               WARPRSA_FOLD_PIECE_WORDS;
}

/* Stores a packed number as entry `entry` of the table of message t. */
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

/* Stores x^entry, exactly reduced, as an entry of the table of message t. */
WARPRSA_FN void warprsa_fold_put_entry(const warprsa_fold_memory *m, int entry,
                                       const double *x, int t, const int limbs)
{
    uint32_t words[WARPRSA_FOLD_WORDS(WARPRSA_FOLD_LIMBS_MAX)] = {0};

    warprsa_fold_pack(words, x, limbs);
    warprsa_fold_put_words(m, entry, words, t, limbs);
}

/* A piece of the selected entry of message t. */
WARPRSA_FN uint32_t *warprsa_fold_selected(const warprsa_fold_memory *m,
                                           int piece, int t)
{
    return m->selected + (piece * m->stride + t) * WARPRSA_FOLD_PIECE_WORDS;
}

/* `zero`, or `one` if `mask` is all ones. */
WARPRSA_FN uint32_t warprsa_fold_select_word(uint32_t zero, uint32_t one,
                                             uint32_t mask)
{
    return zero ^ ((zero ^ one) & mask);
}

/* Word w of entry `digit`, by layers of selections between two. */
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

/* Selects the pieces of a phase, which must be in shared memory, of entry
 * `digit`. `one` is the first word of entry 0: 1, or 0 in a part that is not
 * the lowest of its number. */
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

/* The selected entry, packed. */
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
