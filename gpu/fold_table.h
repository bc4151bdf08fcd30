/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the numbers of a group of messages lie (fold_operation.h), and their
 * tables of powers: packed, and read by reading all entries and keeping one, so
 * that neither address nor count of the reads depends on a digit. A piece of
 * 16 octets of all entries is chosen at a time, a few pieces during each of
 * the squarings before a multiplication.
 */
#ifndef WARPRSA_FOLD_TABLE_H
#define WARPRSA_FOLD_TABLE_H

#include "gpu/fold_script.h"

#ifdef __CUDACC__
#define WARPRSA_MESSAGES        1
#define WARPRSA_EACH_MESSAGE(k) for (int k = 0; k < 1; k++)
#else
#define WARPRSA_MESSAGES        (2 * WARPRSA_FOLD_GROUP)
#define WARPRSA_EACH_MESSAGE(k) for (int k = 0; k < WARPRSA_MESSAGES; k++)
#endif

/* Words of 32 bits of a number below the prime, and pieces of four words. */
#define WARPRSA_FOLD_WORDS(rows)  (WARPRSA_FOLD_BITS(rows) / 32)
#define WARPRSA_FOLD_PIECES(rows) (WARPRSA_FOLD_WORDS(rows) / 4)
#define WARPRSA_FOLD_PIECE_WORDS  4
/* Pieces chosen during each squaring of a window. */
#define WARPRSA_FOLD_PIECES_EACH(rows)                                         \
    (WARPRSA_FOLD_PIECES(rows) / WARPRSA_WINDOW)

typedef struct warprsa_fold_number {
    double of[WARPRSA_MESSAGES][WARPRSA_FOLD_ROWS_MAX];
} warprsa_fold_number;

typedef struct warprsa_fold_columns {
    uint64_t of[WARPRSA_MESSAGES][2 * WARPRSA_FOLD_ROWS_MAX];
} warprsa_fold_columns;

/* Pieces of all entries on their way from memory. */
typedef struct warprsa_fold_pieces {
    uint32_t of[WARPRSA_FOLD_ENTRIES][WARPRSA_FOLD_PIECE_WORDS];
} warprsa_fold_pieces;

/* Where a group's data lie; message t of `stride`. SECRET. */
typedef struct warprsa_fold_memory {
    double *places;    /* sample i of place j at (j rows + i) stride + t */
    uint32_t *table;   /* piece u of entry e at ((u ENTRIES + e - 1) stride + t)
                          4, the words left over behind them */
    uint32_t *chosen;  /* likewise with one entry */
    double *inversion; /* [stride][HALF_SAMPLES] */
    const double *qinv;
    int stride;
} warprsa_fold_memory;

/* A piece to and from the table, on the device past the first cache, which
 * holds nothing of it for long, and to and from where the chosen entry lies, in
 * shared memory. */
WARPRSA_FN void warprsa_fold_load_far(uint32_t *to, const uint32_t *from)
{
#ifdef __CUDACC__
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "l"(from));
#else
    memcpy(to, from, WARPRSA_FOLD_PIECE_WORDS * sizeof(*to));
#endif
}

WARPRSA_FN void warprsa_fold_store_far(uint32_t *to, const uint32_t *from)
{
#ifdef __CUDACC__
    asm volatile("st.global.cg.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to),
                 "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
                 : "memory");
#else
    memcpy(to, from, WARPRSA_FOLD_PIECE_WORDS * sizeof(*to));
#endif
}

WARPRSA_FN void warprsa_fold_load_near(uint32_t *to, const uint32_t *from)
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

WARPRSA_FN void warprsa_fold_store_near(uint32_t *to, const uint32_t *from)
{
#ifdef __CUDACC__
    *reinterpret_cast<uint4 *>(to) =
        make_uint4(from[0], from[1], from[2], from[3]);
#else
    memcpy(to, from, WARPRSA_FOLD_PIECE_WORDS * sizeof(*to));
#endif
}

/* Samples of a number below the prime to words, and back. */
WARPRSA_FN void warprsa_fold_pack(uint32_t *words, const double *a,
                                  const int rows)
{
    WARPRSA_UNROLL
    for (int i = 0; i < WARPRSA_FOLD_WORDS(rows); i++) {
        const int at = 32 * i / 52, shift = 32 * i % 52;
        uint64_t bits = warprsa_fold_integer(a[at]) >> shift;

        if (shift > 20 && at + 1 < rows)
            bits |= warprsa_fold_integer(a[at + 1]) << (52 - shift);
        words[i] = (uint32_t)bits;
    }
}

WARPRSA_FN void warprsa_fold_unpack(double *a, const uint32_t *words,
                                    const int rows)
{
    WARPRSA_UNROLL
    for (int i = 0; i < rows; i++) {
        const int at = 52 * i / 32, shift = 52 * i % 32;
        uint64_t bits = words[at];

        if (at + 1 < WARPRSA_FOLD_WORDS(rows))
            bits |= (uint64_t)words[at + 1] << 32;
        bits >>= shift;
        if (shift > 12 && at + 2 < WARPRSA_FOLD_WORDS(rows))
            bits |= (uint64_t)words[at + 2] << (64 - shift);
        a[i] = warprsa_sample(bits & WARPRSA_SAMPLE_MASK);
    }
}

/* Message t's piece of an entry of a table of `entries`. */
WARPRSA_FN uint32_t *warprsa_fold_piece(uint32_t *table, int piece, int entry,
                                        int t, int entries, int stride)
{
    return table +
           ((piece * entries + entry) * stride + t) * WARPRSA_FOLD_PIECE_WORDS;
}

/* x^entry, exactly reduced, into message t's table. */
WARPRSA_FN void warprsa_fold_put_entry(const warprsa_fold_memory *m, int entry,
                                       const double *x, int t, const int rows)
{
    uint32_t words[WARPRSA_FOLD_WORDS(WARPRSA_FOLD_ROWS_MAX)] = {0};

    warprsa_fold_pack(words, x, rows);
    WARPRSA_UNROLL
    for (int u = 0; u < WARPRSA_FOLD_PIECES(rows); u++)
        warprsa_fold_store_far(warprsa_fold_piece(m->table, u, entry - 1, t,
                                                  WARPRSA_FOLD_ENTRIES,
                                                  m->stride),
                               words + u * WARPRSA_FOLD_PIECE_WORDS);
}

/* `zero` or `one`, by a mask. */
WARPRSA_FN uint32_t warprsa_fold_either(uint32_t zero, uint32_t one,
                                        uint32_t mask)
{
    return zero ^ ((zero ^ one) & mask);
}

/* Word w of the entry `digit`, from all entries; entry 0 is the number 1, of
 * which this is the lowest word if `lowest`. Four layers of choices between
 * two. */
WARPRSA_FN uint32_t warprsa_fold_choose(const warprsa_fold_pieces *v, int w,
                                        uint32_t digit, uint32_t lowest)
{
    uint32_t left[8];

    WARPRSA_UNROLL
    for (int i = 0; i < 8; i++)
        left[i] = warprsa_fold_either(i == 0 ? lowest : v->of[2 * i - 1][w],
                                      v->of[2 * i][w], 0 - (digit & 1));
    WARPRSA_UNROLL
    for (int bit = 1; bit < 4; bit++) {
        WARPRSA_UNROLL
        for (int i = 0; i < 8 >> bit; i++)
            left[i] = warprsa_fold_either(left[2 * i], left[2 * i + 1],
                                          0 - (digit >> bit & 1));
    }
    return left[0];
}

/* Reads one piece of all entries ... */
WARPRSA_FN void warprsa_fold_read(warprsa_fold_pieces *v,
                                  const warprsa_fold_memory *m, int piece,
                                  int t)
{
    const uint32_t *from = warprsa_fold_piece(m->table, piece, 0, t,
                                              WARPRSA_FOLD_ENTRIES, m->stride);

    WARPRSA_UNROLL
    for (int e = 0; e < WARPRSA_FOLD_ENTRIES; e++)
        warprsa_fold_load_far(v->of[e],
                              from + e * m->stride * WARPRSA_FOLD_PIECE_WORDS);
}

/* ... and keeps that of the entry `digit`. */
WARPRSA_FN void warprsa_fold_keep_piece(const warprsa_fold_memory *m,
                                        const warprsa_fold_pieces *v, int piece,
                                        uint32_t digit, int t)
{
    uint32_t words[WARPRSA_FOLD_PIECE_WORDS];

    WARPRSA_UNROLL
    for (int w = 0; w < WARPRSA_FOLD_PIECE_WORDS; w++)
        words[w] = warprsa_fold_choose(v, w, digit, piece == 0 && w == 0);
    warprsa_fold_store_near(
        warprsa_fold_piece(m->chosen, piece, 0, t, 1, m->stride), words);
}

/* The pieces of a phase but the last; the last of these is read by ..._begin()
 * and kept by ..._end(), so that other work hides its way. */
WARPRSA_FN void warprsa_fold_scan_begin(warprsa_fold_pieces *v,
                                        const warprsa_fold_memory *m, int piece,
                                        uint32_t digit, int t, const int rows)
{
    const int last = WARPRSA_FOLD_PIECES_EACH(rows) - 2;

    WARPRSA_ROLLED
    for (int i = 0; i < last; i++) {
        warprsa_fold_read(v, m, piece + i, t);
        warprsa_fold_keep_piece(m, v, piece + i, digit, t);
    }
    warprsa_fold_read(v, m, piece + last, t);
}

WARPRSA_FN void warprsa_fold_scan_end(const warprsa_fold_pieces *v,
                                      const warprsa_fold_memory *m, int piece,
                                      uint32_t digit, int t, const int rows)
{
    warprsa_fold_keep_piece(m, v, piece + WARPRSA_FOLD_PIECES_EACH(rows) - 2,
                            digit, t);
}

/* The chosen entry. */
WARPRSA_FN void warprsa_fold_get_chosen(double *a, const warprsa_fold_memory *m,
                                        int t, const int rows)
{
    uint32_t words[WARPRSA_FOLD_WORDS(WARPRSA_FOLD_ROWS_MAX)] = {0};

    WARPRSA_UNROLL
    for (int u = 0; u < WARPRSA_FOLD_PIECES(rows); u++)
        warprsa_fold_load_near(
            words + u * WARPRSA_FOLD_PIECE_WORDS,
            warprsa_fold_piece(m->chosen, u, 0, t, 1, m->stride));
    warprsa_fold_unpack(a, words, rows);
}

#endif
