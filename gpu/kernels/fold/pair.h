/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic on numbers that two threads share: of 40 samples, halves of
 * RSA-4096, whose 80 columns and their operands do not fit the registers of
 * one; and of 20 and 30, where a thread for each number would take too long.
 * The number of message t lies in messages t and t ^ FOLD_GROUP, its parts.
 * With N samples and h = N / 2, part 0 has samples 0..h-1, part 1 samples
 * h..N-1, and both do the same with them. The bounds are those of fold.h and
 * multiply.h. pair_long.h has products for N = 40, pair_short.h for the others.
 *
 * Of the result, part 0 gets columns 0..h-1 and N..N+h-1, part 1 the others:
 * each gets its lower columns, which are added after the fold, and others that
 * are folded.
 */
#ifndef WARPRSA_GPU_KERNELS_FOLD_PAIR_H
#define WARPRSA_GPU_KERNELS_FOLD_PAIR_H

#ifdef __CUDACC__
#include "gpu/kernels/fold/group.cuh"
#else
#include "gpu/kernels/fold/group_host.h"
#endif

/* Samples of a number: 20, 30 or 40. */
#ifndef WARPRSA_FOLD_PAIR_LIMBS
#define WARPRSA_FOLD_PAIR_LIMBS 40
#endif

enum {
    WARPRSA_FOLD_PART_LIMBS = WARPRSA_FOLD_PAIR_LIMBS / 2,
    /* Bits of a part above those of half of the longest prime. */
    WARPRSA_FOLD_PART_OVER = 52 * WARPRSA_FOLD_PART_LIMBS -
                             WARPRSA_FOLD_BITS(WARPRSA_FOLD_PART_LIMBS),
};

/* What parts exchange, and columns of a quarter of the product. */
typedef struct warprsa_fold_part_columns {
    uint64_t of[WARPRSA_MESSAGES][WARPRSA_FOLD_PART_LIMBS];
} warprsa_fold_part_columns;

/* The stashes of all messages. */
typedef struct warprsa_fold_pair_smem_stash {
    warprsa_fold_smem_stash of[WARPRSA_MESSAGES];
} warprsa_fold_pair_smem_stash;

/* Which part of its number a message has, 0 or 1. The compiler must not know
 * that it is the same each time. It would compute all that follows from it, 40
 * addresses and as many masked columns, before a loop or a multiplication and
 * keep it in registers, or spill it, all the time. */
WARPRSA_FN int warprsa_fold_part(int k)
{
    int part = warprsa_fold_half(k);

#ifdef __CUDACC__
    asm volatile("" : "+r"(part));
#endif
    return part;
}

/* All ones in part 1, zero in part 0. */
WARPRSA_FN uint64_t warprsa_fold_upper_mask(int k)
{
    const uint32_t mask = 0 - (uint32_t)warprsa_fold_part(k);

    return (uint64_t)mask << 32 | mask;
}

/* to = `from` of the other part, `count` words. They must not overlap. */
WARPRSA_FN void warprsa_fold_swap(warprsa_fold_part_columns *to,
                                  const warprsa_fold_part_columns *from,
                                  const int count)
{
    WARPRSA_EACH_MESSAGE(k)
    {
        WARPRSA_UNROLL
        for (int i = 0; i < count; i++)
            to->of[k][i] = warprsa_fold_other_part(
                &from->of[0][0], WARPRSA_FOLD_PART_LIMBS, k, i);
    }
}

#if WARPRSA_FOLD_PAIR_LIMBS == 40
#include "gpu/kernels/fold/pair_long.h"
#else
#include "gpu/kernels/fold/pair_short.h"
#endif

#ifdef WARPRSA_VERIFIES
static inline int warprsa_fold_part_holds(const double *a, int part)
{
    for (int i = 0; i < WARPRSA_FOLD_PART_LIMBS; i++)
        if (!warprsa_fold_sample_holds(a[i], part * WARPRSA_FOLD_PART_LIMBS + i,
                                       WARPRSA_FOLD_PAIR_LIMBS))
            return 0;
    return 1;
}

/* Whether all numbers are below p. */
static inline int warprsa_fold_pairs_are_below(const warprsa_fold_number *a,
                                               const double *p)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;

    for (int k = 0; k < WARPRSA_MESSAGES; k++) {
        double x[WARPRSA_FOLD_PAIR_LIMBS];

        if (warprsa_fold_part(k) != 0)
            continue;
        memcpy(x, a->of[k], (size_t)part_limbs * sizeof(*x));
        memcpy(x + part_limbs, a->of[k ^ WARPRSA_FOLD_GROUP],
               (size_t)part_limbs * sizeof(*x));
        if (!warprsa_fold_is_below(x, p, WARPRSA_FOLD_PAIR_LIMBS))
            return 0;
    }
    return 1;
}
#endif

/* warprsa_fold_top(). Column N - 1 belongs to part 1, column N to part 0. */
WARPRSA_FN void warprsa_fold_pair_top(warprsa_fold_columns *s)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;
    warprsa_fold_part_columns give, got;

    WARPRSA_EACH_MESSAGE(k)
    {
        WARPRSA_VERIFY_ONLY(for (int c = 0; c < 2 * part_limbs; c++))
        WARPRSA_BOUND("A number in two threads",
                      warprsa_fold_column_holds(
                          s->of[k][c],
                          c % part_limbs + part_limbs * warprsa_fold_part(k) +
                              c / part_limbs * WARPRSA_FOLD_PAIR_LIMBS,
                          WARPRSA_FOLD_PAIR_LIMBS));
        /* pair_short.h has fewer halves. */
        WARPRSA_VERIFY_ONLY(for (int c = 0; c < 2 * part_limbs - 2; c++))
        WARPRSA_BOUND("A number in two threads",
                      WARPRSA_FOLD_PAIR_LIMBS == 40 ||
                          s->of[k][c] >> 52 < 2 * WARPRSA_FOLD_PAIR_LIMBS);
        give.of[k][0] = s->of[k][part_limbs - 1] >> 52;
        WARPRSA_BOUND("The fold: no Montgomery form: The sum of the bytes",
                      give.of[k][0] < 1 << 12);
    }
    warprsa_fold_swap(&got, &give, 1);
    WARPRSA_EACH_MESSAGE(k)
    {
        const uint64_t upper = warprsa_fold_upper_mask(k);
        const uint64_t last = s->of[k][part_limbs - 1];

        s->of[k][part_limbs] += got.of[k][0] & ~upper;
        s->of[k][2 * part_limbs - 1] |= ((last >> 44 & 0xFF) << 56) & upper;
        s->of[k][part_limbs - 1] = last & (~upper | ((1ull << 44) - 1));
    }
}

/* Adds what part 0 carries out to part 1. warprsa_fold_carry() has made the
 * samples of each part in fives, with no carry coming in, so the first two
 * samples of a part are below 2^52. What comes from part 0 is below 2^13. */
WARPRSA_FN void warprsa_fold_pair_carry(warprsa_fold_number *a,
                                        const uint32_t *carry)
{
    warprsa_fold_part_columns give, got;

    WARPRSA_EACH_MESSAGE(k)
    {
        give.of[k][0] = carry[k];
    }
    warprsa_fold_swap(&got, &give, 1);
    WARPRSA_EACH_MESSAGE(k)
    {
        const uint64_t low = warprsa_fold_integer(a->of[k][0]) +
                             (got.of[k][0] & warprsa_fold_upper_mask(k));

        WARPRSA_BOUND("A number in two threads", got.of[k][0] < 1 << 13 &&
                                                     a->of[k][0] < 0x1p52 &&
                                                     a->of[k][1] < 0x1p52);
        a->of[k][0] = warprsa_fold_sample(low & WARPRSA_SAMPLE_MASK);
        a->of[k][1] = warprsa_fold_sample(warprsa_fold_integer(a->of[k][1]) +
                                          (low >> 52));
    }
}

/* r = signed columns with their carries resolved. `over` is what part 1 carries
 * out, for both parts. s is changed. */
WARPRSA_FN void warprsa_fold_pair_resolve(warprsa_fold_number *r,
                                          warprsa_fold_part_columns *s,
                                          uint64_t *over)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;
    warprsa_fold_part_columns give, got;

    WARPRSA_EACH_MESSAGE(k)
    {
        give.of[k][0] =
            (uint64_t)warprsa_fold_resolve(r->of[k], s->of[k], part_limbs);
    }
    warprsa_fold_swap(&got, &give, 1);
    WARPRSA_EACH_MESSAGE(k)
    {
        s->of[k][0] += got.of[k][0] & warprsa_fold_upper_mask(k);
        give.of[k][0] =
            (uint64_t)warprsa_fold_resolve(r->of[k], s->of[k], part_limbs);
    }
    warprsa_fold_swap(&got, &give, 1);
    WARPRSA_EACH_MESSAGE(k)
    {
        over[k] = warprsa_fold_part(k) != 0 ? give.of[k][0] : got.of[k][0];
    }
}

/* a += p where `mask` is all ones. p is the whole prime. */
WARPRSA_FN void warprsa_fold_pair_add_masked(warprsa_fold_number *a,
                                             const double *p,
                                             const uint64_t *mask)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;
    warprsa_fold_part_columns s;
    uint64_t over[WARPRSA_MESSAGES];

    WARPRSA_EACH_MESSAGE(k)
    {
        const double *own = p + warprsa_fold_part(k) * part_limbs;

        WARPRSA_UNROLL
        for (int i = 0; i < part_limbs; i++)
            s.of[k][i] = warprsa_fold_integer(a->of[k][i]) +
                         ((uint64_t)own[i] & mask[k]);
    }
    warprsa_fold_pair_resolve(a, &s, over);
}

/* a = a - b, plus p if that is negative. All samples are below 2^52. */
WARPRSA_FN void warprsa_fold_pair_subtract(warprsa_fold_number *a,
                                           const warprsa_fold_number *b,
                                           const double *p)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;
    warprsa_fold_part_columns s;
    uint64_t over[WARPRSA_MESSAGES];

    WARPRSA_EACH_MESSAGE(k)
    {
        WARPRSA_UNROLL
        for (int i = 0; i < part_limbs; i++)
            s.of[k][i] =
                warprsa_fold_integer(a->of[k][i]) - (uint64_t)b->of[k][i];
    }
    warprsa_fold_pair_resolve(a, &s, over);
    warprsa_fold_pair_add_masked(a, p, over);
}

/* s = a - q p with carries not resolved, for the quotient q of
 * warprsa_fold_reduce(), from the top samples of the number. */
WARPRSA_FN void warprsa_fold_pair_subtract_multiple(
    warprsa_fold_part_columns *s, const warprsa_fold_number *a, const double *p)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS,
              limbs = WARPRSA_FOLD_PAIR_LIMBS;
    const double ratio =
        warprsa_fold_reciprocal(p[limbs - 1] * 0x1p52 + p[limbs - 2]);
    warprsa_fold_part_columns give, got;

    WARPRSA_EACH_MESSAGE(k)
    {
        give.of[k][0] = warprsa_bits(a->of[k][part_limbs - 1] * 0x1p52 +
                                     a->of[k][part_limbs - 2]);
    }
    warprsa_fold_swap(&got, &give, 1);
    WARPRSA_EACH_MESSAGE(k)
    {
        const int part = warprsa_fold_part(k);
        const double top =
            warprsa_from_bits(part != 0 ? give.of[k][0] : got.of[k][0]);
        const double q = (double)(uint64_t)(top * ratio * (1 - 0x1p-40));
        uint64_t down = 0;

        WARPRSA_UNROLL
        for (int i = 0; i < part_limbs; i++) {
            const double of = p[part * part_limbs + i];
            double high = warprsa_fma_rz(q, of, 0x1p104);
            double low = warprsa_fma_rz(q, of, 0x1p104 - high);

            s->of[k][i] =
                warprsa_fold_integer(a->of[k][i]) - (uint64_t)low - down;
            down = warprsa_bits(high) - warprsa_bits(0x1p104);
        }
        give.of[k][0] = down;
    }
    warprsa_fold_swap(&got, &give, 1);
    WARPRSA_EACH_MESSAGE(k)
    {
        s->of[k][0] -= got.of[k][0] & warprsa_fold_upper_mask(k);
    }
}

/* a = a mod p, exactly, like warprsa_fold_reduce(). */
WARPRSA_FN void warprsa_fold_pair_reduce(warprsa_fold_number *a,
                                         const double *p)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS;
    warprsa_fold_part_columns s;
    uint64_t over[WARPRSA_MESSAGES];

    warprsa_fold_pair_subtract_multiple(&s, a, p);
    warprsa_fold_pair_resolve(a, &s, over);
    WARPRSA_EACH_MESSAGE(k)
    {
        const double *own = p + warprsa_fold_part(k) * part_limbs;

        WARPRSA_BOUND("The fold: no Montgomery form: The end", over[k] == 0);

        WARPRSA_UNROLL
        for (int i = 0; i < part_limbs; i++)
            s.of[k][i] = warprsa_fold_integer(a->of[k][i]) - (uint64_t)own[i];
    }
    warprsa_fold_pair_resolve(a, &s, over);
    warprsa_fold_pair_add_masked(a, p, over);
    WARPRSA_BOUND("The fold: no Montgomery form: The end",
                  warprsa_fold_pairs_are_below(a, p));
}

/* Stores a number below the prime as an entry of the table, half of its bits by
 * each part. A part has PART_OVER bits more than that; these of part 0 are
 * stored by part 1. */
WARPRSA_FN void warprsa_fold_pair_put_entry(const warprsa_fold_memory *m,
                                            int entry,
                                            const warprsa_fold_number *x)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS,
              part_over = WARPRSA_FOLD_PART_OVER,
              count = WARPRSA_FOLD_WORDS(WARPRSA_FOLD_PART_LIMBS);
    warprsa_fold_part_columns give, got;

    WARPRSA_EACH_MESSAGE(k)
    {
        give.of[k][0] =
            warprsa_fold_integer(x->of[k][part_limbs - 1]) >> (52 - part_over);
    }
    warprsa_fold_swap(&got, &give, 1);
    WARPRSA_EACH_MESSAGE(k)
    {
        const int shift = part_over * warprsa_fold_part(k);
        uint32_t words[WARPRSA_FOLD_WORDS(WARPRSA_FOLD_LIMBS_MAX)] = {0};
        uint32_t below = (uint32_t)got.of[k][0] << (32 - part_over);

        warprsa_fold_pack(words, x->of[k], part_limbs);
        WARPRSA_UNROLL
        for (int i = 0; i < count; i++) {
            const uint64_t two = (uint64_t)words[i] << 32 | below;

            below = words[i];
            words[i] = (uint32_t)(two >> (32 - shift));
        }
        warprsa_fold_put_words(m, entry, words, warprsa_fold_index(k),
                               part_limbs);
    }
}

/* warprsa_fold_select_pieces() for message k. */
WARPRSA_FN void warprsa_fold_pair_select_pieces(const warprsa_fold_memory *m,
                                                int phase, uint32_t digit,
                                                int k)
{
    warprsa_fold_select_part(m, phase, digit,
                             1 - (uint32_t)warprsa_fold_part(k),
                             warprsa_fold_index(k), WARPRSA_FOLD_PART_LIMBS);
}

/* The selected entry. */
WARPRSA_FN void warprsa_fold_pair_get_selected(warprsa_fold_number *a,
                                               const warprsa_fold_memory *m)
{
    const int part_limbs = WARPRSA_FOLD_PART_LIMBS,
              part_over = WARPRSA_FOLD_PART_OVER,
              count = WARPRSA_FOLD_WORDS(WARPRSA_FOLD_PART_LIMBS);
    uint32_t words[WARPRSA_MESSAGES]
                  [WARPRSA_FOLD_WORDS(WARPRSA_FOLD_LIMBS_MAX)];
    warprsa_fold_part_columns give, got;

    WARPRSA_EACH_MESSAGE(k)
    {
        warprsa_fold_get_words(words[k], m, warprsa_fold_index(k), part_limbs);
        give.of[k][0] = words[k][0] & ((1u << part_over) - 1);
    }
    warprsa_fold_swap(&got, &give, 1);
    WARPRSA_EACH_MESSAGE(k)
    {
        const int shift = part_over * warprsa_fold_part(k);
        const uint64_t top = got.of[k][0] & ~warprsa_fold_upper_mask(k);

        WARPRSA_UNROLL
        for (int i = 0; i < count; i++) {
            const uint64_t next = i + 1 < count ? words[k][i + 1] : 0;

            words[k][i] = (uint32_t)((next << 32 | words[k][i]) >> shift);
        }
        warprsa_fold_unpack(a->of[k], words[k], part_limbs);
        a->of[k][part_limbs - 1] += (double)(top << (52 - part_over));
    }
}

#endif
