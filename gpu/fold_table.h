/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the numbers of a group of messages lie (fold_operation.h), and their
 * tables of powers: packed, and read by reading all entries and keeping one, so
 * that neither address nor count of the reads depends on a digit. A piece is 16
 * octets of all entries. A quarter of the pieces is copied near while a product
 * is computed and chosen from when that is done: one in each of the three
 * squarings of a window and the multiplication before (with windows of 2 bits a
 * third, in three).
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
/* Words from a slot to the next on the device: see fold_group.cuh. */
#define WARPRSA_FOLD_SLOT_STEP      256
#define WARPRSA_FOLD_LAST_SLOT_STEP 128
/* Pieces chosen in each phase of a window. */
#define WARPRSA_FOLD_PHASES(rows) (WARPRSA_FOLD_WINDOW(rows) + 1)
#define WARPRSA_FOLD_PIECES_EACH(rows)                                         \
    (WARPRSA_FOLD_PIECES(rows) / WARPRSA_FOLD_PHASES(rows))

typedef struct warprsa_fold_number {
    double of[WARPRSA_MESSAGES][WARPRSA_FOLD_ROWS_MAX];
} warprsa_fold_number;

typedef struct warprsa_fold_columns {
    uint64_t of[WARPRSA_MESSAGES][2 * WARPRSA_FOLD_ROWS_MAX];
} warprsa_fold_columns;

/* A piece; entry 0 is the number 1. */
typedef struct warprsa_fold_pieces {
    uint32_t of[WARPRSA_FOLD_ENTRIES_MAX + 1][WARPRSA_FOLD_PIECE_WORDS];
} warprsa_fold_pieces;

/* Of which phase pieces are chosen from before a fold, and of which they are
 * fetched after it; -1: none. */
typedef struct warprsa_fold_pieces_due {
    int keep, fetch;
} warprsa_fold_pieces_due;

/* Where a group's data lie; message t of `stride`. SECRET. */
typedef struct warprsa_fold_memory {
    double *places;   /* sample i of place j at (j rows + i) stride + t */
    uint32_t *table;  /* piece u of entry e at ((u ENTRIES + e - 1) stride + t)
                         4, the words left over behind them */
    uint32_t *chosen; /* likewise with one entry */
    /* Where pieces are near, see warprsa_fold_slot(); on the device the
     * thread's own. */
    uint32_t *slots, *last_slots;
    double *inversion; /* [stride][HALF_SAMPLES] */
    const double *qinv;
    int stride;
} warprsa_fold_memory;

/* For the device's compiler: nothing is known of a pointer, so that what is at
 * constant distances from it needs no address of its own. */
#ifdef __CUDACC__
#define WARPRSA_OPAQUE(pointer) asm volatile("" : "+l"(pointer))
#else
#define WARPRSA_OPAQUE(pointer) (void)(pointer)
#endif

/* A piece of one entry to the table, on the device past the first cache, which
 * holds nothing of it for long; from there to where it is near, which goes on
 * by itself; and to and from what is in shared memory. */
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

WARPRSA_FN void warprsa_fold_copy(uint32_t *to, const uint32_t *from)
{
#ifdef __CUDACC__
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(to)),
                 "l"(from)
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
                                                  WARPRSA_FOLD_ENTRIES(rows),
                                                  m->stride),
                               words + u * WARPRSA_FOLD_PIECE_WORDS);
}

/* `zero` or `one`, by a mask. */
WARPRSA_FN uint32_t warprsa_fold_either(uint32_t zero, uint32_t one,
                                        uint32_t mask)
{
    return zero ^ ((zero ^ one) & mask);
}

/* Where the piece of entry e of the j-th of a phase's pieces is near: on the
 * device, until the product is done, where the thread's columns will be, and
 * of the last piece where its warp's sums will be (fold_group.cuh). */
WARPRSA_FN uint32_t *warprsa_fold_slot(const warprsa_fold_memory *m, int j,
                                       int e, int t, const int rows)
{
    const int place = j * WARPRSA_FOLD_ENTRIES(rows) + e - 1;

#ifdef __CUDACC__
    (void)t;
    return j < WARPRSA_FOLD_PIECES_EACH(rows) - 1
               ? m->slots + place * WARPRSA_FOLD_SLOT_STEP
               : m->last_slots + (e - 1) * WARPRSA_FOLD_LAST_SLOT_STEP;
#else
    (void)rows;
    return m->slots + (place * m->stride + t) * WARPRSA_FOLD_PIECE_WORDS;
#endif
}

/* Word w of the entry `digit`. In layers of choices between two. */
WARPRSA_FN uint32_t warprsa_fold_choose(const warprsa_fold_pieces *v, int w,
                                        uint32_t digit, const int rows)
{
    uint32_t left[WARPRSA_FOLD_ENTRIES_MAX + 1];

    WARPRSA_UNROLL
    for (int i = 0; i <= WARPRSA_FOLD_ENTRIES(rows); i++)
        left[i] = v->of[i][w];
    WARPRSA_UNROLL
    for (int bit = 0; bit < WARPRSA_FOLD_WINDOW(rows); bit++) {
        WARPRSA_UNROLL
        for (int i = 0; i < (WARPRSA_FOLD_ENTRIES(rows) + 1) / 2 >> bit; i++)
            left[i] = warprsa_fold_either(left[2 * i], left[2 * i + 1],
                                          0 - (digit >> bit & 1));
    }
    return left[0];
}

/* Starts to copy a phase's pieces. */
WARPRSA_FN void warprsa_fold_fetch(const warprsa_fold_memory *m, int phase,
                                   int t, const int rows)
{
    const int each = WARPRSA_FOLD_PIECES_EACH(rows);
    const uint32_t *from = warprsa_fold_piece(
        m->table, phase * each, 0, t, WARPRSA_FOLD_ENTRIES(rows), m->stride);

    WARPRSA_OPAQUE(from);
    WARPRSA_UNROLL
    for (int j = 0; j < each; j++) {
        WARPRSA_UNROLL
        for (int e = 1; e <= WARPRSA_FOLD_ENTRIES(rows); e++)
            warprsa_fold_copy(warprsa_fold_slot(m, j, e, t, rows),
                              from + (j * WARPRSA_FOLD_ENTRIES(rows) + e - 1) *
                                         m->stride * WARPRSA_FOLD_PIECE_WORDS);
    }
}

/* Waits until they are there and keeps of each that of the entry `digit`. What
 * a thread reads here it has copied itself, and written before: it waits for no
 * other. */
WARPRSA_FN void warprsa_fold_keep_pieces(const warprsa_fold_memory *m,
                                         int phase, uint32_t digit, int t,
                                         const int rows)
{
    const int each = WARPRSA_FOLD_PIECES_EACH(rows);

#ifdef __CUDACC__
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
    WARPRSA_UNROLL
    for (int j = 0; j < each; j++) {
        const int piece = phase * each + j;
        uint32_t words[WARPRSA_FOLD_PIECE_WORDS];
        warprsa_fold_pieces v;

        WARPRSA_UNROLL
        for (int w = 0; w < WARPRSA_FOLD_PIECE_WORDS; w++)
            v.of[0][w] = w == 0 && piece == 0;
        WARPRSA_UNROLL
        for (int e = 1; e <= WARPRSA_FOLD_ENTRIES(rows); e++)
            warprsa_fold_load_near(v.of[e],
                                   warprsa_fold_slot(m, j, e, t, rows));
        WARPRSA_UNROLL
        for (int w = 0; w < WARPRSA_FOLD_PIECE_WORDS; w++)
            words[w] = warprsa_fold_choose(&v, w, digit, rows);
        warprsa_fold_store_near(
            warprsa_fold_piece(m->chosen, piece, 0, t, 1, m->stride), words);
    }
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
