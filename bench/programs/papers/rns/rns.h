/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Szerwinski and Güneysu, "Exploiting the Power of GPUs for Asymmetric
 * Cryptography" (2008), sections 4.2 to 4.4 and 5.2: Montgomery products in
 * residue number systems (algorithm 2). A warp computes one exponentiation; its
 * thread i has the residues modulo a_i and b_i, both just below 2^32. Two base
 * extensions make a product: from A to B by mixed radices (Szabo and Tanaka) or
 * without the correction of the Chinese remainder theorem (Bajard), and back by
 * mixed radices, by a redundant modulus (Shenoy and Kumaresan) or by a
 * fixed-point sum (Kawamura).
 *
 * The last thread's two moduli are one and the same, the redundant modulus, if
 * Shenoy's extension is used; it then counts in neither base.
 *
 * Bounds: with A > (n + 2)^2 M and operands below (n + 2) M, f from Bajard's
 * extension is below n A, so the product is below (n + 2)^2 M^2 / A + n M, and
 * that is below (n + 1) M. With mixed radices A > 4 M and 2 M do. As printed,
 * equation 9 divides a residue by A where x itself belongs, and equation 4
 * begins its last line with x_n, which is x_(n-1).
 *
 * Lanes exchange through shared memory, as in the paper; its threads that
 * have nothing to do while one computes alpha are the paper's, too.
 * Compiled for the device and for the host. For benchmarks only: it is not
 * constant time.
 */
#ifndef WARPRSA_PAPERS_RNS_H
#define WARPRSA_PAPERS_RNS_H

#include <stdbool.h>

#ifndef WARPRSA_BLOCK_ARITH
#define WARPRSA_BLOCK_ARITH /* 32 lanes on the host */
#endif
#include "gpu/arith/lanes.h"

enum {
    RNS_LANES = 32,
    /* Bits of each delta that Kawamura's sum takes. */
    RNS_KEPT_BITS = 16,
};

typedef enum rns_extension {
    RNS_MIXED_RADIX,
    RNS_BAJARD,
    RNS_SHENOY,
    RNS_KAWAMURA,
} rns_extension;

/* One base, as the other sees it. Lane i's words are at index i; [k][i] is of
 * source k for target i. `size` moduli count. */
typedef struct rns_base {
    uint32_t m[RNS_LANES];
    uint32_t inverse[RNS_LANES][RNS_LANES]; /* 1/m_k mod m_i, k < i */
    uint32_t hat_inverse[RNS_LANES];        /* 1/(P/m_i) mod m_i */
    uint32_t hat[RNS_LANES][RNS_LANES];     /* P/m_k modulo the other's i */
    uint32_t product[RNS_LANES];            /* P modulo the other's i */
    uint32_t product_inverse[RNS_LANES];    /* 1/P modulo the other's i */
} rns_base;

typedef struct rns_key {
    rns_base a, b;
    uint32_t size;                         /* of either base: 32, or 31 */
    uint32_t minus_m_inverse_a[RNS_LANES]; /* -1/M mod a_i */
    uint32_t m_b[RNS_LANES];               /* M mod b_i */
    uint32_t exponent_bits;
    uint32_t exponent[32];
} rns_key;

/* A number's residues in both bases. */
typedef struct rns_number {
    uint32_t a[WARPRSA_LANES_EMULATED], b[WARPRSA_LANES_EMULATED];
} rns_number;

/* A warp's shared memory. */
typedef struct rns_shared {
    uint32_t digit[RNS_LANES], alpha;
} rns_shared;

#define RNS_EACH_LANE(k) WARPRSA_EACH_LANE (k, RNS_LANES)

WARPRSA_FN int rns_lane(int k)
{
    return warprsa_lane(k, RNS_LANES);
}

/* x mod m for x < 2^48. m = 2^32 - c with c < 2^12, so the upper bits count c
 * each: the first sum is below 2^32 + 2^28, the second below 2^32 + 2^13, and
 * that is less than 2 m. */
WARPRSA_FN uint32_t rns_small_mod(uint64_t x, uint32_t m)
{
    const uint32_t c = 0 - m;

    x = (x >> 32) * c + (uint32_t)x;
    x = (x >> 32) * c + (uint32_t)x;
    return (uint32_t)(x >= m ? x - m : x);
}

/* a b mod m. The first sum is below 2^44 + 2^32. */
WARPRSA_FN uint32_t rns_mul(uint32_t a, uint32_t b, uint32_t m)
{
    const uint64_t x = (uint64_t)a * b;

    return rns_small_mod((x >> 32) * (0 - m) + (uint32_t)x, m);
}

WARPRSA_FN uint32_t rns_add(uint32_t a, uint32_t b, uint32_t m)
{
    const uint64_t x = (uint64_t)a + b;

    return (uint32_t)(x >= m ? x - m : x);
}

/* a - b mod m for any words: b may be of another modulus. */
WARPRSA_FN uint32_t rns_sub(uint32_t a, uint32_t b, uint32_t m)
{
    return rns_small_mod((uint64_t)a + 2 * (uint64_t)m - b, m);
}

/* to <- x modulo the other base, by mixed radices. `x` are the residues in the
 * base itself; they are destroyed. First digit j after digit j (equation 4):
 * each is the work of one thread. Then Horner's rule (5). */
WARPRSA_FN void rns_mixed_radix(uint32_t *to, uint32_t *x, rns_shared *shared,
                                const rns_base *base, const rns_base *other,
                                int size)
{
    WARPRSA_ROLLED
    for (int j = 0; j < size; j++) {
        RNS_EACH_LANE(k)
        {
            if (rns_lane(k) == j)
                shared->digit[j] = x[k];
        }
        warprsa_sync_lanes();
        RNS_EACH_LANE(k)
        {
            const int i = rns_lane(k);

            if (i > j && i < size)
                x[k] = rns_mul(rns_sub(x[k], shared->digit[j], base->m[i]),
                               base->inverse[j][i], base->m[i]);
        }
    }
    RNS_EACH_LANE(k)
    {
        const uint32_t m = other->m[rns_lane(k)];
        uint32_t sum = 0;

        WARPRSA_ROLLED
        for (int j = size - 1; j >= 0; j--)
            sum = rns_small_mod(
                (uint64_t)rns_mul(sum, base->m[j], m) + shared->digit[j], m);
        to[k] = sum;
    }
    warprsa_sync_lanes();
}

/* digit[k] <- delta_k (equation 7). */
WARPRSA_FN void rns_deltas(rns_shared *shared, const uint32_t *x,
                           const rns_base *base)
{
    RNS_EACH_LANE(k)
    {
        const int i = rns_lane(k);

        shared->digit[i] = rns_mul(x[k], base->hat_inverse[i], base->m[i]);
    }
    warprsa_sync_lanes();
}

/* to <- the sum of hat_k delta_k modulo the other base. The lower and the upper
 * halves of 32 products sum to less than 2^37 each. */
WARPRSA_FN void rns_weigh(uint32_t *to, const rns_shared *shared,
                          const rns_base *base, const rns_base *other, int size)
{
    RNS_EACH_LANE(k)
    {
        const int i = rns_lane(k);
        const uint32_t m = other->m[i];
        uint64_t low = 0, high = 0;

        for (int j = 0; j < size; j++) {
            const uint64_t x = (uint64_t)shared->digit[j] * base->hat[j][i];

            low += (uint32_t)x;
            high += x >> 32;
        }
        to[k] =
            rns_small_mod((uint64_t)rns_small_mod(high, m) * (0 - m) + low, m);
    }
}

/* to <- to - alpha P modulo the other base. */
WARPRSA_FN void rns_correct(uint32_t *to, const rns_shared *shared,
                            const rns_base *base, const rns_base *other)
{
    warprsa_sync_lanes();
    RNS_EACH_LANE(k)
    {
        const uint32_t m = other->m[rns_lane(k)];

        to[k] = rns_sub(
            to[k], rns_mul(shared->alpha, base->product[rns_lane(k)], m), m);
    }
}

/* alpha by equation 8: the last thread's, modulo the redundant modulus. */
WARPRSA_FN void rns_shenoy(uint32_t *to, const uint32_t *x, rns_shared *shared,
                           const rns_base *base, const rns_base *other,
                           int size)
{
    RNS_EACH_LANE(k)
    {
        const int i = rns_lane(k);

        if (i == size)
            shared->alpha = rns_mul(rns_sub(to[k], x[k], other->m[i]),
                                    base->product_inverse[i], other->m[i]);
    }
    rns_correct(to, shared, base, other);
}

/* alpha by equation 10, with an offset of 1/2: the sum of the upper bits is too
 * small by less than 32 (2^-16 + 2^-20), and x / P is below 1/2. One thread
 * sums. */
WARPRSA_FN void rns_kawamura(uint32_t *to, rns_shared *shared,
                             const rns_base *base, const rns_base *other,
                             int size)
{
    RNS_EACH_LANE(k)
    {
        uint32_t sum = 1u << (RNS_KEPT_BITS - 1);

        if (rns_lane(k) == 0) {
            for (int j = 0; j < size; j++)
                sum += shared->digit[j] >> (32 - RNS_KEPT_BITS);
            shared->alpha = sum >> RNS_KEPT_BITS;
        }
    }
    rns_correct(to, shared, base, other);
}

/* to <- x in the other base. x is destroyed by mixed radices. */
WARPRSA_FN void rns_extend(uint32_t *to, uint32_t *x, rns_shared *shared,
                           const rns_base *base, const rns_base *other,
                           int size, const rns_extension how)
{
    if (how == RNS_MIXED_RADIX) {
        rns_mixed_radix(to, x, shared, base, other, size);
        return;
    }
    rns_deltas(shared, x, base);
    rns_weigh(to, shared, base, other, size);
    if (how == RNS_SHENOY)
        rns_shenoy(to, x, shared, base, other, size);
    if (how == RNS_KAWAMURA)
        rns_kawamura(to, shared, base, other, size);
    warprsa_sync_lanes();
}

/* x <- x y / A mod M, algorithm 2. */
WARPRSA_FN void rns_multiply(rns_number *x, const rns_number *y,
                             rns_shared *shared, const rns_key *key,
                             const rns_extension first,
                             const rns_extension second)
{
    const int size = second == RNS_SHENOY ? RNS_LANES - 1 : RNS_LANES;
    uint32_t f[WARPRSA_LANES_EMULATED], f_b[WARPRSA_LANES_EMULATED];

    RNS_EACH_LANE(k)
    {
        const int i = rns_lane(k);

        f[k] = rns_mul(rns_mul(x->a[k], y->a[k], key->a.m[i]),
                       key->minus_m_inverse_a[i], key->a.m[i]);
    }
    rns_extend(f_b, f, shared, &key->a, &key->b, size, first);
    RNS_EACH_LANE(k)
    {
        const int i = rns_lane(k);
        const uint32_t m = key->b.m[i];
        const uint32_t v = rns_add(rns_mul(x->b[k], y->b[k], m),
                                   rns_mul(f_b[k], key->m_b[i], m), m);

        x->b[k] = f[k] = rns_mul(v, key->a.product_inverse[i], m);
    }
    rns_extend(x->a, f, shared, &key->b, &key->a, size, second);
}

/* x <- x^e in Montgomery's form, by the binary left-to-right method: all warps
 * have one exponent. */
WARPRSA_FN void rns_modexp(rns_number *x, rns_shared *shared,
                           const rns_key *key, const rns_extension first,
                           const rns_extension second)
{
    const rns_number base = *x;
    int bit = (int)key->exponent_bits - 1;
    bool due = false;

    /* Each turn is a square, or the product with the base that a bit of one
     * makes due. */
    WARPRSA_ROLLED
    while (bit > 0 || due) {
        const rns_number y = due ? base : *x;

        rns_multiply(x, &y, shared, key, first, second);
        if (!due)
            bit--;
        due = !due && (key->exponent[bit / 32] >> bit % 32 & 1);
    }
}

#endif
