/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Numbers in limbs of 32 bits and their Montgomery product in integers alone,
 * for GPUs with little double precision. The product goes row by row as in CIOS
 * (Koc, Acar, Kaliski: "Analyzing and Comparing Montgomery Multiplication
 * Algorithms", IEEE Micro 1996), and the products of a row are added in carry
 * chains.
 *
 * gpu/arith/arithmetic.h lists the names that this file shares with
 * gpu/arith/wide_sample.h; a "sample" is a limb here. A number is spread over
 * the threads_per_number lanes of a subgroup, limbs_per_thread limbs in each
 * lane, least significant first; limbs_per_thread is odd. `limbs` is how many
 * limbs a number really has (limbs <= threads_per_number * limbs_per_thread;
 * the limbs above are zero), and R = 2^(32 limbs).
 *
 * Bounds. A modulus P has at most 32 limbs - 5 bits, so 32P < R. The product of
 * a and b is (a b + Q P) / R with Q < R, which is below ab/R + P, hence
 *
 *   a < R,  b < P     gives a result below 2P     (unreduced input)
 *   a < 3P, b < 3P    gives less than 1.3P        (inside a modexp)
 *   a < 6P, b < 3P    gives less than 1.6P        (sum of two products)
 *
 * gpu/arith/private_operation.h counts on a result below 3P.
 */
#ifndef WARPRSA_GPU_ARITH_INT32_LIMB_H
#define WARPRSA_GPU_ARITH_INT32_LIMB_H

#include <stddef.h>

#include "gpu/arith/bound.h"
#include "gpu/arith/int32_key.h"
#include "gpu/arith/lanes.h"

#define WARPRSA_SAMPLE_BITS          32
#define WARPRSA_SAMPLE_MASK          0xFFFFFFFFull
#define WARPRSA_LIMBS_PER_THREAD_MAX 33 /* limbs in a lane at most */
#define WARPRSA_HALF_LIMBS_MAX       WARPRSA_INT32_HALF_LIMBS

typedef uint32_t warprsa_sample_t;
typedef uint32_t warprsa_sample_bits_t;

typedef struct warprsa_int32_number {
    uint32_t of[WARPRSA_LANES_EMULATED][WARPRSA_LIMBS_PER_THREAD_MAX];
} warprsa_number;

/* For gpu/arith/exact_reduction.h: sums of a few limbs, carries not
 * resolved. */
typedef struct warprsa_int32_columns {
    uint64_t of[WARPRSA_LANES_EMULATED][WARPRSA_LIMBS_PER_THREAD_MAX];
} warprsa_columns;

/* A modulus and the constant that its product needs. */
typedef struct warprsa_int32_modulus {
    warprsa_number p;
    uint32_t n0inv[WARPRSA_LANES_EMULATED]; /* -1/P mod 2^32 */
} warprsa_modulus;

#include "gpu/arith/number_bound.h"

typedef warprsa_int32_key warprsa_operation_key;
typedef warprsa_int32_half warprsa_operation_half;

#define warprsa_prepare_operation_key warprsa_prepare_int32_key
#define WARPRSA_SHAPES_FEW                                                     \
    {                                                                          \
        WARPRSA_INT32_SHAPE_FEW_1024, WARPRSA_INT32_SHAPE_FEW_2048,            \
            WARPRSA_INT32_SHAPE_FEW_3072, WARPRSA_INT32_SHAPE_FEW_4096         \
    }
#define WARPRSA_SHAPES_MANY                                                    \
    {                                                                          \
        WARPRSA_INT32_SHAPE_MANY_1024, WARPRSA_INT32_SHAPE_MANY_2048,          \
            WARPRSA_INT32_SHAPE_MANY_3072, WARPRSA_INT32_SHAPE_MANY_4096       \
    }

WARPRSA_FN uint32_t warprsa_bits(uint32_t x)
{
    return x;
}

WARPRSA_FN uint32_t warprsa_from_bits(uint64_t bits)
{
    return (uint32_t)bits;
}

WARPRSA_FN uint32_t warprsa_sample(uint64_t x)
{
    return (uint32_t)x;
}

/* Bits of a blinding factor, at most: all random words that are there for
 * it. */
#define WARPRSA_BLINDING_BITS (64 * WARPRSA_BLINDING_SAMPLES)

/* The random bits that limb `index` of a blinding factor is made of. */
WARPRSA_FN uint64_t warprsa_random_bits(const uint64_t *random, int index)
{
    return index < 2 * WARPRSA_BLINDING_SAMPLES
               ? random[index / 2] >> (32 * (index % 2))
               : 0;
}

/*
 * The sum of a product within one lane, L = limbs_per_thread limbs and a carry.
 * A limb times a limb fills a pair of adjacent limbs of the sum. Pairs that
 * begin at an even index do not overlap one another, nor do those that begin at
 * an odd index. So each kind is one chain of multiply-adds in which the carry
 * goes from pair to pair, for which the device has an instruction.
 *
 *   even[i]  at index i: pairs 0-1, 2-3 .. (L-1)-L, then the chain's carries
 *   odd[i]   at index i + 1: pairs 1-2 .. (L-2)-(L-1), then its carries
 *   left     at index 0: the second limb of even's lowest pair, left over from
 *            the row before
 *
 * Bounds. Before a row the sum is below 3 * 2^(32 L), and so it is after the
 * row: it takes less than (2^32 - 1) 2^(32 L) twice, is divided by 2^32, and
 * gets at most 2^(32 L) - 2^(32 (L - 1)) from the lane above. So the carry word
 * of even, at index L + 1, is at most 2, and that of odd, at index L, is at
 * most these 2 and two of its own.
 */
typedef struct warprsa_sums {
    uint32_t even[WARPRSA_LANES_EMULATED][WARPRSA_LIMBS_PER_THREAD_MAX + 2];
    uint32_t odd[WARPRSA_LANES_EMULATED][WARPRSA_LIMBS_PER_THREAD_MAX];
    uint32_t left[WARPRSA_LANES_EMULATED];
} warprsa_sums;

/*
 * Adds t v[0], t v[2], .. to consecutive pairs of limbs of `sum`, from pair
 * `first` on; the carry out of the last pair goes to the limb above it. If
 * `low` is not NULL, *low += more comes first and its carry enters the chain.
 * `first` may depend on the counter of an unrolled loop around the call: the
 * compiler unrolls this loop first.
 */
WARPRSA_FN void warprsa_mad_chain(uint32_t *sum, const uint32_t *v, uint32_t t,
                                  const int pairs, int first, uint32_t *low,
                                  uint32_t more)
{
#ifdef __CUDACC__
    if (low != NULL)
        asm volatile("add.cc.u32 %0, %0, %1;" : "+r"(*low) : "r"(more));
    WARPRSA_UNROLL
    for (int i = 0; i < pairs; i++) {
        if (i < first)
            continue;
        if (i == first && low == NULL)
            asm volatile("mad.lo.cc.u32 %0, %1, %2, %0;"
                         : "+r"(sum[2 * i])
                         : "r"(v[2 * i]), "r"(t));
        else
            asm volatile("madc.lo.cc.u32 %0, %1, %2, %0;"
                         : "+r"(sum[2 * i])
                         : "r"(v[2 * i]), "r"(t));
        asm volatile("madc.hi.cc.u32 %0, %1, %2, %0;"
                     : "+r"(sum[2 * i + 1])
                     : "r"(v[2 * i]), "r"(t));
    }
    if (first < pairs)
        asm volatile("addc.u32 %0, %0, 0;" : "+r"(sum[2 * pairs]));
#else
    uint64_t carry = 0;

    if (low != NULL) {
        carry = (uint64_t)*low + more;
        *low = (uint32_t)carry;
        carry >>= 32;
    }
    for (int i = 2 * first; i < 2 * pairs; i += 2) {
        unsigned __int128 x = (uint64_t)t * v[i];

        x += ((uint64_t)sum[i + 1] << 32) | sum[i];
        x += carry;
        sum[i] = (uint32_t)x;
        sum[i + 1] = (uint32_t)(x >> 32);
        carry = (uint64_t)(x >> 64);
    }
    WARPRSA_BOUND("Limbs of 32 bits: Carry words",
                  carry <= 1 && sum[2 * pairs] + carry <= 4);
    sum[2 * pairs] += (uint32_t)carry;
#endif
}

/* to += x over `count` limbs; returns the carry. */
WARPRSA_FN uint32_t warprsa_add_limbs(uint32_t *to, const uint32_t *x,
                                      const int count)
{
#ifdef __CUDACC__
    uint32_t carry;

    asm volatile("add.cc.u32 %0, %0, %1;" : "+r"(to[0]) : "r"(x[0]));
    WARPRSA_UNROLL
    for (int i = 1; i < count; i++)
        asm volatile("addc.cc.u32 %0, %0, %1;" : "+r"(to[i]) : "r"(x[i]));
    asm volatile("addc.u32 %0, 0, 0;" : "=r"(carry));
    return carry;
#else
    uint64_t sum = 0;

    for (int i = 0; i < count; i++) {
        sum += (uint64_t)to[i] + x[i];
        to[i] = (uint32_t)sum;
        sum >>= 32;
    }
    return (uint32_t)sum;
#endif
}

/* to += x for a single limb x; returns the carry. */
WARPRSA_FN uint32_t warprsa_add_limb(uint32_t *to, uint32_t x, const int count)
{
    uint32_t limbs[WARPRSA_LIMBS_PER_THREAD_MAX] = {0};

    limbs[0] = x;
    return warprsa_add_limbs(to, limbs, count);
}

/* Divides the sum by 2^32 and adds `from_above`, the limb that the lane above
 * has shifted out, at the top. With that shift even pairs become odd ones and
 * the other way round. The second limb of even's lowest pair, whose first is
 * gone, belongs to no pair any more and becomes *left. */
WARPRSA_FN void warprsa_shift_sums(uint32_t *even, uint32_t *odd,
                                   uint32_t *left, uint32_t from_above,
                                   const int limbs_per_thread)
{
    uint64_t top = (uint64_t)odd[limbs_per_thread - 1] + from_above;

    *left = even[1];
    WARPRSA_UNROLL
    for (int i = 0; i < limbs_per_thread - 1; i++) {
        uint32_t x = odd[i];

        odd[i] = even[i + 2];
        even[i] = x;
    }
    odd[limbs_per_thread - 1] = even[limbs_per_thread + 1];
    even[limbs_per_thread - 1] = (uint32_t)top;
    even[limbs_per_thread] = (uint32_t)(top >> 32);
    even[limbs_per_thread + 1] = 0;
}

/* Adds t times the limbs of v from index `from` on. */
WARPRSA_FN void warprsa_add_row(uint32_t *even, uint32_t *odd,
                                const uint32_t *v, uint32_t t, int from,
                                const int limbs_per_thread)
{
    warprsa_mad_chain(even, v, t, limbs_per_thread / 2 + 1, (from + 1) / 2,
                      NULL, 0);
    warprsa_mad_chain(odd, v + 1, t, limbs_per_thread / 2, from / 2, NULL, 0);
}

/* Ends a row: S = (S + q P) / 2^32 with q = -S / P mod 2^32, which makes the
 * lowest limb zero. Lane 0 hands that zero limb to the top lane, whose incoming
 * limb thereby is zero, as it has to be. */
WARPRSA_FN void warprsa_divide_row(warprsa_sums *s, const warprsa_modulus *m,
                                   const int threads_per_number,
                                   const int limbs_per_thread,
                                   const int threads_per_request)
{
    uint32_t q[WARPRSA_LANES_EMULATED], down[WARPRSA_LANES_EMULATED];

    WARPRSA_EACH_LANE (k, threads_per_request) {
        q[k] = (s->even[k][0] + s->left[k]) * m->n0inv[k];
    }
    warprsa_broadcast_word(q, q, 0, threads_per_number, threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        warprsa_mad_chain(s->odd[k], m->p.of[k] + 1, q[k], limbs_per_thread / 2,
                          0, &s->even[k][0], s->left[k]);
        warprsa_mad_chain(s->even[k], m->p.of[k], q[k],
                          limbs_per_thread / 2 + 1, 0, NULL, 0);
        down[k] = s->even[k][0];
    }
    warprsa_rotate_word(down, down, 1, threads_per_number, threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        warprsa_shift_sums(s->even[k], s->odd[k], &s->left[k], down[k],
                           limbs_per_thread);
    }
}

/* Resolves sums into limbs. Each lane adds up its own parts and passes what
 * exceeds its top limb, at most 2, to the lane above. What that addition
 * carries on is 0 or 1. */
WARPRSA_FN void warprsa_resolve(warprsa_number *r, warprsa_sums *s,
                                const int threads_per_number,
                                const int limbs_per_thread,
                                const int threads_per_request)
{
    uint32_t up[WARPRSA_LANES_EMULATED], full[WARPRSA_LANES_EMULATED];

    WARPRSA_EACH_LANE (k, threads_per_request) {
        uint32_t odd[WARPRSA_LIMBS_PER_THREAD_MAX + 1];

        odd[0] = s->left[k];
        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            odd[i + 1] = s->odd[k][i];
        (void)warprsa_add_limbs(s->even[k], odd, limbs_per_thread + 1);
        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            r->of[k][i] = s->even[k][i];
        up[k] = s->even[k][limbs_per_thread];
        WARPRSA_BOUND("Limbs of 32 bits: Carry words",
                      up[k] <= (warprsa_lane_in_number(k, threads_per_number,
                                                       threads_per_request) ==
                                        threads_per_number - 1
                                    ? 0
                                    : 2));
    }
    if (threads_per_number == 1)
        return;
    /* The number is below R: nothing leaves its top lane. */
    warprsa_rotate_word(up, up, -1, threads_per_number, threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        up[k] = warprsa_add_limb(r->of[k], up[k], limbs_per_thread);
        full[k] = 0xFFFFFFFFu;
        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            full[k] &= r->of[k][i];
        full[k] = full[k] == 0xFFFFFFFFu;
    }
    warprsa_carry_in(up, up, full, threads_per_number, threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        (void)warprsa_add_limb(r->of[k], up[k], limbs_per_thread);
    }
}

WARPRSA_FN void warprsa_start_sums(warprsa_sums *s, const int limbs_per_thread,
                                   const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread + 2; i++)
            s->even[k][i] = 0;
        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            s->odd[k][i] = 0;
        s->left[k] = 0;
    }
}

/* Whether a number ends below index `index` of lane `lane`; it may end within a
 * lane. */
WARPRSA_FN int warprsa_ends(int lane, const int index, const int limbs,
                            const int limbs_per_thread)
{
    return limbs % limbs_per_thread != 0 && limbs % limbs_per_thread == index &&
           lane * limbs_per_thread + index == limbs;
}

/* r = a b / R mod P, plus at most one P (see the bounds above); r may be a or
 * b. */
WARPRSA_FN void warprsa_mont_mul(warprsa_number *r, const warprsa_number *a,
                                 const warprsa_number *b,
                                 const warprsa_modulus *m, const int limbs,
                                 const int threads_per_number,
                                 const int limbs_per_thread,
                                 const int threads_per_request)
{
    warprsa_sums s;

    WARPRSA_VERIFY_ONLY(const warprsa_values product = warprsa_products_of(
                            a, b, limbs, threads_per_number, limbs_per_thread,
                            threads_per_request));
    warprsa_start_sums(&s, limbs_per_thread, threads_per_request);
    WARPRSA_ROLLED
    for (int lane = 0; lane * limbs_per_thread < limbs; lane++) {
        WARPRSA_UNROLL
        for (int index = 0; index < limbs_per_thread; index++) {
            uint32_t t[WARPRSA_LANES_EMULATED];

            if (warprsa_ends(lane, index, limbs, limbs_per_thread))
                break;
            WARPRSA_EACH_LANE (k, threads_per_request) {
                t[k] = b->of[k][index];
            }
            warprsa_broadcast_word(t, t, lane, threads_per_number,
                                   threads_per_request);
            WARPRSA_EACH_LANE (k, threads_per_request) {
                warprsa_add_row(s.even[k], s.odd[k], a->of[k], t[k], 0,
                                limbs_per_thread);
            }
            warprsa_divide_row(&s, m, threads_per_number, limbs_per_thread,
                               threads_per_request);
        }
    }
    warprsa_resolve(r, &s, threads_per_number, limbs_per_thread,
                    threads_per_request);
    WARPRSA_BOUND("Limbs of 32 bits: Bound",
                  warprsa_are_below(r, &product, 1, &m->p, limbs,
                                    threads_per_number, limbs_per_thread,
                                    threads_per_request));
    WARPRSA_BOUND("Limbs of 32 bits: Bound",
                  warprsa_are_below(r, NULL, 3, &m->p, limbs,
                                    threads_per_number, limbs_per_thread,
                                    threads_per_request));
}

/* r = 2 a for a below R / 2, without the bit that each lane takes over from the
 * lane below: carried[k] gets that. */
WARPRSA_FN void warprsa_double(warprsa_number *r, uint32_t *carried,
                               const warprsa_number *a,
                               const int threads_per_number,
                               const int limbs_per_thread,
                               const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        carried[k] = a->of[k][limbs_per_thread - 1] >> 31;
        WARPRSA_UNROLL
        for (int i = limbs_per_thread - 1; i > 0; i--)
            r->of[k][i] = a->of[k][i] << 1 | a->of[k][i - 1] >> 31;
        r->of[k][0] = a->of[k][0] << 1;
    }
    warprsa_rotate_word(carried, carried, -1, threads_per_number,
                        threads_per_request);
}

/*
 * The rows of a square for all limbs of one lane, which is not the top one.
 * That lane adds t a, the lanes above it add t 2a, and the lanes below add
 * nothing. In this way the products of the lane's limbs with those of the lanes
 * above are complete, and these lanes' own rows can leave them out. Of 2a only
 * the part in the lanes above counts: the first of them does not take over a
 * bit from `lane`.
 */
WARPRSA_FN void
warprsa_mont_sqr_lane(warprsa_sums *s, int lane, const warprsa_number *a,
                      const warprsa_number *twice, const uint32_t *carried,
                      const warprsa_modulus *m, const int threads_per_number,
                      const int limbs_per_thread, const int threads_per_request)
{
    warprsa_number v;

    WARPRSA_EACH_LANE (k, threads_per_request) {
        int above =
            (warprsa_lane(k, threads_per_request) & (threads_per_number - 1)) -
            lane;

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            v.of[k][i] = above > 0    ? twice->of[k][i]
                         : above == 0 ? a->of[k][i]
                                      : 0;
        v.of[k][0] |= above > 1 ? carried[k] : 0;
    }
    WARPRSA_UNROLL
    for (int index = 0; index < limbs_per_thread; index++) {
        uint32_t t[WARPRSA_LANES_EMULATED];

        WARPRSA_EACH_LANE (k, threads_per_request) {
            t[k] = a->of[k][index];
        }
        warprsa_broadcast_word(t, t, lane, threads_per_number,
                               threads_per_request);
        WARPRSA_EACH_LANE (k, threads_per_request) {
            warprsa_add_row(s->even[k], s->odd[k], v.of[k], t[k], 0,
                            limbs_per_thread);
        }
        warprsa_divide_row(s, m, threads_per_number, limbs_per_thread,
                           threads_per_request);
    }
}

/*
 * r = a^2 / R mod P, by the same sums as in warprsa_mont_mul(). A product of
 * two different limbs is added once, doubled, in the row of the lower limb: no
 * row before needs it. The rows of the top lane, the last that the number
 * reaches, add a triangle of products, as all other lanes have added all of
 * theirs by then.
 */
WARPRSA_FN void warprsa_mont_sqr(warprsa_number *r, const warprsa_number *a,
                                 const warprsa_modulus *m, const int limbs,
                                 const int threads_per_number,
                                 const int limbs_per_thread,
                                 const int threads_per_request)
{
    const int top = (limbs - 1) / limbs_per_thread;
    uint32_t carried[WARPRSA_LANES_EMULATED];
    warprsa_number twice;
    warprsa_sums s;

    WARPRSA_VERIFY_ONLY(const warprsa_values product = warprsa_products_of(
                            a, a, limbs, threads_per_number, limbs_per_thread,
                            threads_per_request));
    warprsa_start_sums(&s, limbs_per_thread, threads_per_request);
    warprsa_double(&twice, carried, a, threads_per_number, limbs_per_thread,
                   threads_per_request);
    WARPRSA_ROLLED
    for (int lane = 0; lane < top; lane++)
        warprsa_mont_sqr_lane(&s, lane, a, &twice, carried, m,
                              threads_per_number, limbs_per_thread,
                              threads_per_request);
    WARPRSA_UNROLL
    for (int index = 0; index < limbs_per_thread; index++) {
        if (warprsa_ends(top, index, limbs, limbs_per_thread))
            break;
        WARPRSA_EACH_LANE (k, threads_per_request) {
            int own = (warprsa_lane(k, threads_per_request) &
                       (threads_per_number - 1)) == top;
            uint32_t v[WARPRSA_LIMBS_PER_THREAD_MAX];

            WARPRSA_UNROLL
            for (int i = 0; i < limbs_per_thread; i++)
                v[i] = i < index        ? 0
                       : i == index     ? a->of[k][i]
                       : i == index + 1 ? a->of[k][i] << 1
                                        : twice.of[k][i];
            warprsa_add_row(s.even[k], s.odd[k], v, own ? v[index] : 0, index,
                            limbs_per_thread);
        }
        warprsa_divide_row(&s, m, threads_per_number, limbs_per_thread,
                           threads_per_request);
    }
    warprsa_resolve(r, &s, threads_per_number, limbs_per_thread,
                    threads_per_request);
    WARPRSA_BOUND("Limbs of 32 bits: Bound",
                  warprsa_are_below(r, &product, 1, &m->p, limbs,
                                    threads_per_number, limbs_per_thread,
                                    threads_per_request));
    WARPRSA_BOUND("Limbs of 32 bits: Bound",
                  warprsa_are_below(r, NULL, 3, &m->p, limbs,
                                    threads_per_number, limbs_per_thread,
                                    threads_per_request));
}

#endif
