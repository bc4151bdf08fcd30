/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The fold in integers: a number of 2 N limbs of 32 bits becomes one of N limbs
 * that is congruent to it divided by 2^32. What lies above 2^(32 N) is folded
 * back by a matrix of the prime, as in gpu/kernels/fold, and one limb is taken
 * off at the lower end, as by Montgomery.
 *
 *   S = L + 2^(32 N) H               a product, or two numbers
 *   y = L + sum of h[k] M[k]         h[k]: bytes of H
 *                                    M[k] = 2^(32 N + 8 k) mod P
 *   z = (y + m P) / 2^32             m = -y / P mod 2^32
 *
 * The tensor cores sum the columns of h[k] M[k], bytes each. A digit is made of
 * two columns, c + 256 c', and counts for 2^(16 i).
 *
 * Bounds. Let P be odd and 2^(32 N - 1) < P < 2^(32 N) - 2^(32 N - 16), that is
 * the upper 16 bits are not all ones, and let the operands be below 2^(32 N).
 * N is 32, 48 or 64.
 *
 * Columns. Each is at most 4 N * 255^2, so a digit is at most
 * 257 * 4 N * 255^2 = 2.14e9, 3.21e9 and 4,278,124,800: below 2^32.
 *
 * Result. M[k] < P, so y < 2^(32 N) + 4 N * 255 P and
 *
 *   z < P + 4 N * 255 P / 2^32 + 2^(32 N - 32)
 *     < P + 0.9963 * 2^(32 N - 16) + 2^(32 N - 32) < P + 2^(32 N - 16)
 *
 * which is below 2^(32 N): z is an operand again. It is below 2 P, too.
 *
 * Chains. E takes L, the even digits, and the products of m with the even limbs
 * of P; O takes the odd digits, 16 bits higher, and the other products. Each is
 * at most y + m P < 2^(32 N + 32), so N + 1 limbs hold it. The lowest limb of
 * E + O is zero by the choice of m, and (E + O) / 2^32 = z has N limbs.
 */
#ifndef WARPRSA_GPU_KERNELS_INT32_FOLD_INT_FOLD_H
#define WARPRSA_GPU_KERNELS_INT32_FOLD_INT_FOLD_H

#ifdef __CUDACC__
#include "gpu/kernels/int32_fold/group.cuh"
#else
#include "gpu/kernels/int32_fold/group_host.h"
#endif

#ifdef WARPRSA_VERIFIES
/* Whether x < P + 2^(32 n - 16), for x of n limbs. */
static inline int warprsa_int_fold_holds(const uint32_t *x,
                                         const warprsa_int_fold_prime *prime,
                                         const int n)
{
    warprsa_carry carry = {0};
    uint32_t top = 0;

    for (int i = 0; i < n; i++)
        top = warprsa_subc_cc(&carry, x[i],
                              warprsa_int_fold_prime_limb(prime, i));
    return carry.flag || top >> 16 == 0;
}
#endif

/* The words of the digits of a block in the order of their weights become a
 * number: even[0..16) at the limbs, and odd[0..16) 16 bits higher, with what
 * the block below had at its top in *before. */
WARPRSA_FN void warprsa_int_fold_shift(uint32_t *to, const uint32_t *odd,
                                       uint32_t *before)
{
    WARPRSA_UNROLL
    for (int i = 0; i < WARPRSA_INT_FOLD_BLOCK; i++) {
#ifdef __CUDACC__
        to[i] = __funnelshift_l(*before, odd[i], 16);
#else
        to[i] = odd[i] << 16 | *before >> 16;
#endif
        *before = odd[i];
    }
}

/* The two chains of a fold. */
typedef struct warprsa_int_fold_chains {
    uint32_t even[WARPRSA_INT_FOLD_LIMBS_MAX + 2];
    uint32_t odd[WARPRSA_INT_FOLD_LIMBS_MAX + 2];
} warprsa_int_fold_chains;

/* Adds block h of L and of the digits: `over` is what the block below carries,
 * and `before` its last odd digit. */
WARPRSA_FN void warprsa_int_fold_add_block(warprsa_int_fold_chains *chains,
                                           const uint32_t *low,
                                           const uint32_t *even,
                                           const uint32_t *odd, uint32_t *over,
                                           uint32_t *before, int h)
{
    const int first = WARPRSA_INT_FOLD_BLOCK * h;
    warprsa_carry carry = {0};

    warprsa_int_fold_shift(chains->odd + first, odd, before);
    if (h != 0)
        (void)warprsa_add_cc(&carry, *over, 0xFFFFFFFFu);
    WARPRSA_UNROLL
    for (int i = 0; i < WARPRSA_INT_FOLD_BLOCK; i++)
        chains->even[first + i] =
            h == 0 && i == 0 ? warprsa_add_cc(&carry, low[0], even[0])
                             : warprsa_addc_cc(&carry, low[i], even[i]);
    *over = warprsa_addc(&carry, 0, 0);
}

/* Adds m P. */
WARPRSA_FN void warprsa_int_fold_add_multiple(warprsa_int_fold_chains *chains,
                                              const warprsa_int_fold_group *g,
                                              uint32_t m, const int n)
{
    uint32_t *even = chains->even, *odd = chains->odd, p[4];
    warprsa_carry carry = {0};

    WARPRSA_UNROLL
    for (int i = 0; i < n / 2; i++) {
        if (i % 4 == 0)
            warprsa_int_fold_get_prime(p, g, 0, i / 4);
        even[2 * i] =
            i == 0 ? warprsa_mad_lo_cc(&carry, m, p[0], even[0])
                   : warprsa_madc_lo_cc(&carry, m, p[i % 4], even[2 * i]);
        even[2 * i + 1] =
            warprsa_madc_hi_cc(&carry, m, p[i % 4], even[2 * i + 1]);
    }
    even[n] = warprsa_last_addc(&carry, even[n], 0);
    WARPRSA_UNROLL
    for (int i = 0; i < n / 2; i++) {
        if (i % 4 == 0)
            warprsa_int_fold_get_prime(p, g, 1, i / 4);
        odd[2 * i + 1] =
            i == 0 ? warprsa_mad_lo_cc(&carry, m, p[0], odd[1])
                   : warprsa_madc_lo_cc(&carry, m, p[i % 4], odd[2 * i + 1]);
        if (i < n / 2 - 1)
            odd[2 * i + 2] =
                warprsa_madc_hi_cc(&carry, m, p[i % 4], odd[2 * i + 2]);
        else
            odd[n] = warprsa_last_madc_hi(&carry, m, p[i % 4], odd[n]);
    }
}

/* Folds. H is in the row; L is in s[0..n) or, where parts of a product wait
 * there, in the stage. */
WARPRSA_FN void warprsa_int_fold(uint32_t *x, const uint32_t *s,
                                 const warprsa_int_fold_group *g, const int n)
{
    warprsa_int_fold_bytes bytes;
    warprsa_int_fold_chains chains;
    uint32_t over = 0, before = 0, m = 0;
    warprsa_carry carry = {0};

    warprsa_int_fold_get_bytes(&bytes, g, n);
    WARPRSA_UNROLL
    for (int h = 0; h < n / WARPRSA_INT_FOLD_BLOCK; h++) {
        const int first = WARPRSA_INT_FOLD_BLOCK * h;
        uint32_t even[WARPRSA_INT_FOLD_BLOCK], odd[WARPRSA_INT_FOLD_BLOCK],
            low[WARPRSA_INT_FOLD_BLOCK];

        warprsa_int_fold_digits(even, odd, &bytes, g, h, n);
        if (WARPRSA_INT_FOLD_STAGES(n))
            warprsa_int_fold_get(low, g->stage, first / 4,
                                 WARPRSA_INT_FOLD_STAGE,
                                 WARPRSA_INT_FOLD_BLOCK);
        else
            WARPRSA_UNROLL
        for (int i = 0; i < WARPRSA_INT_FOLD_BLOCK; i++)
            low[i] = s[first + i];
        warprsa_sync_lanes();
        warprsa_int_fold_add_block(&chains, low, even, odd, &over, &before, h);
        if (h == 0)
            m = (chains.even[0] + chains.odd[0]) * warprsa_int_fold_inverse(g);
    }
    chains.even[n] = over;
    chains.odd[n] = before >> 16;
    warprsa_int_fold_add_multiple(&chains, g, m, n);
    WARPRSA_BOUND("The fold in integers: Chains",
                  chains.even[0] + chains.odd[0] == 0);
    (void)warprsa_add_cc(&carry, chains.even[0], chains.odd[0]);
    WARPRSA_UNROLL
    for (int i = 0; i < n - 1; i++)
        x[i] = warprsa_addc_cc(&carry, chains.even[i + 1], chains.odd[i + 1]);
    x[n - 1] = warprsa_last_addc(&carry, chains.even[n], chains.odd[n]);
    WARPRSA_BOUND("The fold in integers: Result",
                  warprsa_int_fold_holds(x, g->prime, n));
}

/* x mod P, exactly, of x < 2 P, as a fold leaves it. */
WARPRSA_FN void warprsa_int_fold_reduce(uint32_t *x,
                                        const warprsa_int_fold_prime *prime,
                                        const int n)
{
    uint32_t less[WARPRSA_INT_FOLD_LIMBS_MAX], mask;
    warprsa_carry carry = {0};

    less[0] =
        warprsa_sub_cc(&carry, x[0], warprsa_int_fold_prime_limb(prime, 0));
    WARPRSA_UNROLL
    for (int i = 1; i < n; i++)
        less[i] = warprsa_subc_cc(&carry, x[i],
                                  warprsa_int_fold_prime_limb(prime, i));
    mask = warprsa_subc(&carry, 0, 0); /* all ones: x < P */
    WARPRSA_UNROLL
    for (int i = 0; i < n; i++)
        x[i] = (x[i] & mask) | (less[i] & ~mask);
    WARPRSA_BOUND("The fold in integers: Result",
                  mask != 0 || !warprsa_int_fold_is_at_least(x, prime, n));
}

/* x = (a - b) mod P, for a < P and b < 2 P. */
WARPRSA_FN void warprsa_int_fold_subtract(uint32_t *x, const uint32_t *a,
                                          uint32_t *b,
                                          const warprsa_int_fold_prime *prime,
                                          const int n)
{
    warprsa_carry carry = {0};
    uint32_t mask;

    warprsa_int_fold_reduce(b, prime, n);
    x[0] = warprsa_sub_cc(&carry, a[0], b[0]);
    WARPRSA_UNROLL
    for (int i = 1; i < n; i++)
        x[i] = warprsa_subc_cc(&carry, a[i], b[i]);
    mask = warprsa_subc(&carry, 0, 0);
    x[0] = warprsa_add_cc(&carry, x[0],
                          warprsa_int_fold_prime_limb(prime, 0) & mask);
    WARPRSA_UNROLL
    for (int i = 1; i < n; i++)
        x[i] = warprsa_addc_cc(&carry, x[i],
                               warprsa_int_fold_prime_limb(prime, i) & mask);
}

/*
 * x = x / 2^bits mod P, exactly, of x < P; `bits` is a multiple of 8. This is
 * how the numbers of a key become rows of the matrix: a number times a power of
 * two is there, and the row wants a lower one. x + m P is below 2^shift P for
 * the m of each step, so the result is below P again.
 */
WARPRSA_FN void warprsa_int_fold_lower(uint32_t *x,
                                       const warprsa_int_fold_prime *prime,
                                       int bits, const int n)
{
    WARPRSA_ROLLED
    for (; bits > 0; bits -= 32) {
        const int shift = bits < 32 ? bits : 32;
        const uint32_t m =
            (x[0] * prime->inverse) & (uint32_t)((1ull << shift) - 1);
        uint64_t sum = (uint64_t)m * warprsa_int_fold_prime_limb(prime, 0);
        uint32_t below;

        sum += x[0];
        below = (uint32_t)sum;
        WARPRSA_UNROLL
        for (int i = 1; i <= n; i++) {
            sum >>= 32;
            if (i < n)
                sum +=
                    (uint64_t)m * warprsa_int_fold_prime_limb(prime, i) + x[i];
            x[i - 1] = (uint32_t)(((sum & 0xFFFFFFFFu) << 32 | below) >> shift);
            below = (uint32_t)sum;
        }
        WARPRSA_BOUND("The fold in integers: The rows of the matrix",
                      below >> (shift % 32) == 0 || shift == 32);
    }
    WARPRSA_BOUND("The fold in integers: The rows of the matrix",
                  !warprsa_int_fold_is_at_least(x, prime, n));
}

#endif
