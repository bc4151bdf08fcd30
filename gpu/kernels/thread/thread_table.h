/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of a thread that computes a modexp, and how an entry is chosen from
 * it. Neither the time nor the order of the reads depends on which entry it is.
 */
#ifndef WARPRSA_GPU_KERNELS_THREAD_THREAD_TABLE_H
#define WARPRSA_GPU_KERNELS_THREAD_THREAD_TABLE_H

#include "gpu/kernels/thread/thread_rows.h"

/* All ones if a == b, else 0; both must be below 2^31. The compiler must not
 * know that the mask has only these two values. It would make predicated moves
 * of it, and such a move takes less time in a warp in which no thread does it.
 */
WARPRSA_FN uint64_t warprsa_equal_mask(uint32_t a, uint32_t b)
{
    uint32_t mask = (uint32_t)((int32_t)((a ^ b) - 1) >> 31);

#ifdef __CUDACC__
    asm volatile("" : "+r"(mask));
#endif
    return (uint64_t)mask << 32 | mask;
}

/* a where the mask has ones, b elsewhere. */
WARPRSA_FN double warprsa_select(uint64_t mask, double a, double b)
{
    return warprsa_from_bits((warprsa_bits(a) & mask) |
                             (warprsa_bits(b) & ~mask));
}

/*
 * The whole table is read for each multiplication, in an order that does not
 * depend on the digit: pair by pair, each pair of all entries, of which one is
 * kept. The reads are divided into turns, which are spread evenly over the
 * blocks of the squares before the multiplication. A block's reads begin before
 * its products are added up. They are used after that, but before the
 * reduction, which has no registers to spare. No turn is conditional: otherwise
 * what is read would hold registers from block to block. Meanwhile the next
 * block's data are prefetched into the L2 cache.
 */

/* The number of entries that a turn reads, all of one pair. It is a power of
 * two. */
WARPRSA_FN int warprsa_turn_entries(const int N)
{
    return N % 20 == 0 ? 8 : 4;
}

/* Three numbers of turns: those that read one pair of all entries, those that
 * read the whole table, and those of a block of rows. */
WARPRSA_FN uint32_t warprsa_pair_turns(const int N)
{
    return (uint32_t)(WARPRSA_TABLE_SIZE / warprsa_turn_entries(N));
}

WARPRSA_FN int warprsa_turns(const int N)
{
    return N / 2 * WARPRSA_TABLE_SIZE / warprsa_turn_entries(N);
}

WARPRSA_FN int warprsa_block_turns(const int N)
{
    return warprsa_turns(N) / (WARPRSA_WINDOW * WARPRSA_THREAD_BLOCKS);
}

/* The offset in bytes of turn `turn` from turn 0, in a table or in what is
 * prefetched. Computed like this, an address takes one multiplication of 32-bit
 * numbers to 64 bits. */
WARPRSA_FN size_t warprsa_turn_offset(const warprsa_thread *x, int turn,
                                      const int N)
{
    return (size_t)(uint32_t)turn *
           (uint32_t)(warprsa_turn_entries(N) * 2 * x->table_stride *
                      (int)sizeof(double));
}

#define WARPRSA_SEEN_MOST 12 /* entries that are read at the same time */

/* The address of pair `pair` of the chosen entry. */
WARPRSA_FN double *warprsa_chosen_pair(const warprsa_thread *x, int pair,
                                       const int N)
{
    return x->near == N / 2 || pair < x->near
               ? warprsa_pair_at(x->chosen, pair, x->stride)
               : warprsa_pair_at(x->table,
                                 N / 2 * WARPRSA_TABLE_SIZE + pair - x->near,
                                 x->table_stride);
}

/* The lanes of a warp prefetch what a later turn will read into the L2 cache,
 * which all SMs share. A pair of an entry is four lines of 128 bytes for the
 * whole warp, and a lane prefetches one line. The result is the address that
 * `lane` prefetches for turn 0; of_warp is lane 0's table. */
WARPRSA_FN const double *warprsa_fetch_from(const double *of_warp,
                                            const int table_stride, int lane,
                                            const int N)
{
    return of_warp + lane / 4 % warprsa_turn_entries(N) * 2 * table_stride +
           lane % 4 * 16;
}

WARPRSA_FN void warprsa_turn_fetch(const warprsa_thread *x, int turn,
                                   const int N)
{
#ifdef __CUDACC__
    asm volatile("prefetch.global.L2 [%0];" ::"l"(
        (const char *)x->fetch + warprsa_turn_offset(x, turn, N)));
#else
    (void)x;
    (void)turn;
    (void)N;
#endif
}

WARPRSA_FN void warprsa_turn_begin(double (*seen)[2], const warprsa_thread *x,
                                   int turn, const int N)
{
    const int entries = warprsa_turn_entries(N);
    const double *from = (const double *)((const char *)x->table +
                                          warprsa_turn_offset(x, turn, N));

    WARPRSA_UNROLL
    for (int e = 0; e < entries; e++) {
#ifdef __CUDACC__
        /* Volatile, so that the compiler does not move the loads. */
        asm volatile("ld.global.L1::no_allocate.v2.f64 {%0, %1}, [%2];"
                     : "=d"(seen[e][0]), "=d"(seen[e][1])
                     : "l"(from + e * 2 * x->table_stride));
#else
        seen[e][0] = from[e * 2 * x->table_stride];
        seen[e][1] = from[e * 2 * x->table_stride + 1];
#endif
    }
}

/* All ones if bit `bit` of the digit is set, else 0. */
WARPRSA_FN uint64_t warprsa_bit_mask(uint32_t digit, int bit)
{
    return warprsa_equal_mask(digit >> bit & 1, 1);
}

/* Stores the pair of entry `digit` in the chosen entry if the turn has read it.
 * One of a pair's turns has it; the others keep what is there. Each bit of the
 * digit halves the number of entries that may be it. */
WARPRSA_FN void warprsa_turn_end(const warprsa_thread *x, double (*seen)[2],
                                 int turn, uint32_t digit, const int N)
{
    const uint32_t turns = warprsa_pair_turns(N);
    double *to = warprsa_chosen_pair(x, (int)((uint32_t)turn / turns), N);
    const uint64_t here = warprsa_equal_mask(
        digit / (uint32_t)warprsa_turn_entries(N), (uint32_t)turn % turns);
    const double kept[2] = {to[0], to[1]};
    int left = warprsa_turn_entries(N);

    WARPRSA_UNROLL
    for (int bit = 0; bit < WARPRSA_WINDOW; bit++) {
        if (left > 1) {
            const uint64_t upper = warprsa_bit_mask(digit, bit);

            left /= 2;
            WARPRSA_UNROLL
            for (int e = 0; e < left; e++)
                WARPRSA_UNROLL
            for (int i = 0; i < 2; i++)
                seen[e][i] =
                    warprsa_select(upper, seen[2 * e + 1][i], seen[2 * e][i]);
        }
    }
    to[0] = warprsa_select(here, seen[0][0], kept[0]);
    to[1] = warprsa_select(here, seen[0][1], kept[1]);
}

/* The samples of the chosen entry by which block `block` multiplies. */
WARPRSA_FN void warprsa_multiplier(double *t, const warprsa_thread *x,
                                   int block, const int N, const int W)
{
    WARPRSA_UNROLL
    for (int i = 0; i < W / 2; i++) {
        const double *from = warprsa_chosen_pair(x, block * (W / 2) + i, N);

        t[2 * i] = from[0];
        t[2 * i + 1] = from[1];
    }
}

/* Begins, or ends, `count` turns from `turn` on. */
WARPRSA_FN void warprsa_turns_begin(double (*seen)[2], const warprsa_thread *x,
                                    int turn, const int count, const int N)
{
    WARPRSA_UNROLL
    for (int i = 0; i < count; i++)
        warprsa_turn_begin(seen + i * warprsa_turn_entries(N), x, turn + i, N);
}

WARPRSA_FN void warprsa_turns_end(const warprsa_thread *x, double (*seen)[2],
                                  int turn, const int count, uint32_t digit,
                                  const int N)
{
    WARPRSA_UNROLL
    for (int i = 0; i < count; i++)
        warprsa_turn_end(x, seen + i * warprsa_turn_entries(N), turn + i, digit,
                         N);
}

/* Stores a as entry e of the table. */
WARPRSA_FN void warprsa_put_entry(const warprsa_thread *x, int e, const int N)
{
    WARPRSA_ROLLED
    for (int pair = 0; pair < N / 2; pair++) {
        double *to = warprsa_pair_at(x->table, pair * WARPRSA_TABLE_SIZE + e,
                                     x->table_stride);
        const double *from = warprsa_pair_at(x->a, pair, x->stride);

        to[0] = from[0];
        to[1] = from[1];
    }
}

/* Chooses entry 1, which is a. */
WARPRSA_FN void warprsa_choose_a(const warprsa_thread *x, const int N)
{
    WARPRSA_ROLLED
    for (int pair = 0; pair < N / 2; pair++) {
        double *to = warprsa_chosen_pair(x, pair, N);
        const double *from = warprsa_pair_at(x->a, pair, x->stride);

        to[0] = from[0];
        to[1] = from[1];
    }
}

/* Chooses entry `digit`, all turns at once. */
WARPRSA_FN void warprsa_choose_entry(const warprsa_thread *x, uint32_t digit,
                                     const int N)
{
    WARPRSA_ROLLED
    for (int turn = 0; turn < warprsa_turns(N); turn++) {
        double seen[WARPRSA_SEEN_MOST][2];

        warprsa_turn_begin(seen, x, turn, N);
        warprsa_turn_end(x, seen, turn, digit, N);
    }
}

/* a = the chosen entry. */
WARPRSA_FN void warprsa_get_chosen(const warprsa_thread *x, const int N)
{
    WARPRSA_ROLLED
    for (int pair = 0; pair < N / 2; pair++) {
        double *to = warprsa_pair_at(x->a, pair, x->stride);
        const double *from = warprsa_chosen_pair(x, pair, N);

        to[0] = from[0];
        to[1] = from[1];
    }
}

/* Wipes the table and the part of the chosen entry behind it. */
WARPRSA_FN void warprsa_wipe_table(const warprsa_thread *x, const int N)
{
    WARPRSA_ROLLED
    for (int i = 0; i < N / 2 * (WARPRSA_TABLE_SIZE + 1) - x->near; i++) {
        volatile double *at = warprsa_pair_at(x->table, i, x->table_stride);

        at[0] = 0;
        at[1] = 0;
    }
}

/* Orders the stores to the table before the loads from it: the compiler does
 * not know that the inline assembly reads memory. */
WARPRSA_FN void warprsa_table_is_full(void)
{
#ifdef __CUDACC__
    asm volatile("" ::: "memory");
#endif
}

#endif
