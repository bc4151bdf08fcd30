/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Szerwinski and Güneysu, "Exploiting the Power of GPUs for Asymmetric
 * Cryptography" (2008), sections 4.5 and 5.3: point multiplication on the curve
 * P-224, one thread a point, in mixed affine and Jacobian coordinates by the
 * binary left-to-right method. Every bit doubles and adds, and a select decides
 * which of the two counts. Products are the schoolbook's, reduced by algorithm
 * 3; the last word of its t5, printed as t_7, is r'_7.
 *
 * The paper keeps numbers in shared memory, as eight limbs of 28 bits, for its
 * cards had no addition with carry, and few registers. Here they are seven
 * words in registers, with sums of 64 bits.
 *
 * Compiled for the device and for the host. For benchmarks only: it is not
 * constant time in all of its parts.
 */
#ifndef WARPRSA_PAPERS_P224_H
#define WARPRSA_PAPERS_P224_H

#include <stdbool.h>

#include "gpu/arith/lanes.h"

enum {
    P224_WORDS = 7,
};

/* A number below p = 2^224 - 2^96 + 1. */
typedef struct p224_number {
    uint32_t w[P224_WORDS];
} p224_number;

/* (x / z^2, y / z^3), or the point at infinity with z = 0. */
typedef struct p224_point {
    p224_number x, y, z;
} p224_point;

/* Word i of p. */
WARPRSA_FN uint32_t p224_prime(const int i)
{
    return i == 0 ? 1 : i < 3 ? 0 : 0xffffffff;
}

/* x += times p for times -1 or +1 where `apply` is all ones; the carry out,
 * signed, is returned. */
WARPRSA_FN int32_t p224_add_prime(p224_number *x, const int times,
                                  uint32_t apply)
{
    int64_t carry = 0;

    WARPRSA_UNROLL
    for (int i = 0; i < P224_WORDS; i++) {
        carry += (int64_t)x->w[i] + times * (int64_t)(p224_prime(i) & apply);
        x->w[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return (int32_t)carry;
}

/* x + top 2^224 mod p, for values in (-3 p, 3 p): p is added where it is
 * negative, then taken away as long as it is not below p. */
WARPRSA_FN p224_number p224_settle(p224_number x, int32_t top)
{
    WARPRSA_UNROLL
    for (int i = 0; i < 3; i++)
        top += p224_add_prime(&x, 1, (uint32_t)(top >> 31));
    WARPRSA_UNROLL
    for (int i = 0; i < 3; i++) {
        p224_number less = x;
        const int32_t top_less = top + p224_add_prime(&less, -1, 0xffffffff);

        if (top_less >= 0) {
            x = less;
            top = top_less;
        }
    }
    return x;
}

WARPRSA_FN p224_number p224_add(const p224_number a, const p224_number b)
{
    p224_number x;
    int64_t carry = 0;

    WARPRSA_UNROLL
    for (int i = 0; i < P224_WORDS; i++) {
        carry += (int64_t)a.w[i] + b.w[i];
        x.w[i] = (uint32_t)carry;
        carry >>= 32;
    }
    p224_number less = x;
    carry += p224_add_prime(&less, -1, 0xffffffff);
    return carry < 0 ? x : less;
}

WARPRSA_FN p224_number p224_sub(const p224_number a, const p224_number b)
{
    p224_number x;
    int64_t carry = 0;

    WARPRSA_UNROLL
    for (int i = 0; i < P224_WORDS; i++) {
        carry += (int64_t)a.w[i] - b.w[i];
        x.w[i] = (uint32_t)carry;
        carry >>= 32;
    }
    p224_add_prime(&x, 1, (uint32_t)carry);
    return x;
}

/* Algorithm 3: r mod p for r < p^2 of 14 words, t1 + t2 + t3 - t4 - t5. */
WARPRSA_FN p224_number p224_reduce(const uint32_t *r)
{
    p224_number x;
    int64_t sum = 0;

    WARPRSA_UNROLL
    for (int i = 0; i < P224_WORDS; i++) {
        sum += r[i];                                    /* t1 */
        sum += i >= 3 ? (int64_t)r[i + 4] : 0;          /* t2 */
        sum += i >= 3 && i < 6 ? (int64_t)r[i + 8] : 0; /* t3 */
        sum -= i < 3 ? (int64_t)r[i + 11] : 0;          /* t4 */
        sum -= r[i + 7];                                /* t5 */
        x.w[i] = (uint32_t)sum;
        sum >>= 32;
    }
    return p224_settle(x, (int32_t)sum);
}

/* The schoolbook's rows: a word times a word and two more words are less than
 * 2^64. */
WARPRSA_NOINLINE_FN p224_number p224_mul(const p224_number a,
                                         const p224_number b)
{
    uint32_t r[2 * P224_WORDS] = {0};

    WARPRSA_UNROLL
    for (int i = 0; i < P224_WORDS; i++) {
        uint64_t carry = 0;

        WARPRSA_UNROLL
        for (int j = 0; j < P224_WORDS; j++) {
            carry += (uint64_t)a.w[j] * b.w[i] + r[i + j];
            r[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        r[i + P224_WORDS] = (uint32_t)carry;
    }
    return p224_reduce(r);
}

/* 2 P on a curve with a = -3 (8 products): delta = z^2, gamma = y^2, beta = x
 * gamma, alpha = 3 (x - delta) (x + delta). Infinity stays infinity. */
WARPRSA_FN p224_point p224_double(const p224_point p)
{
    const p224_number delta = p224_mul(p.z, p.z), gamma = p224_mul(p.y, p.y);
    const p224_number beta = p224_mul(p.x, gamma);
    const p224_number third =
        p224_mul(p224_sub(p.x, delta), p224_add(p.x, delta));
    const p224_number alpha = p224_add(p224_add(third, third), third);
    const p224_number beta2 = p224_add(beta, beta);
    const p224_number beta4 = p224_add(beta2, beta2);
    const p224_number gamma2 = p224_add(gamma, gamma);
    const p224_number yz = p224_add(p.y, p.z);
    p224_number eight = p224_mul(gamma2, gamma2);
    p224_point r;

    eight = p224_add(eight, eight);
    r.x = p224_sub(p224_mul(alpha, alpha), p224_add(beta4, beta4));
    r.z = p224_sub(p224_sub(p224_mul(yz, yz), gamma), delta);
    r.y = p224_sub(p224_mul(alpha, p224_sub(beta4, r.x)), eight);
    return r;
}

/* P + Q for an affine Q (11 products). P is neither Q nor -Q: a scalar k below
 * the group's order, whose upper bits are k', adds G to 2 k' G, and 2 k' is 1
 * or -1 modulo the order only if k is the order or more. */
WARPRSA_FN p224_point p224_add_affine(const p224_point p, const p224_number x,
                                      const p224_number y)
{
    const p224_number zz = p224_mul(p.z, p.z);
    const p224_number h = p224_sub(p224_mul(x, zz), p.x);
    const p224_number s = p224_sub(p224_mul(y, p224_mul(zz, p.z)), p.y);
    const p224_number hh = p224_mul(h, h), hhh = p224_mul(hh, h);
    const p224_number v = p224_mul(p.x, hh);
    p224_point r;

    r.x = p224_sub(p224_sub(p224_mul(s, s), hhh), p224_add(v, v));
    r.y = p224_sub(p224_mul(s, p224_sub(v, r.x)), p224_mul(p.y, hhh));
    r.z = p224_mul(p.z, h);
    return r;
}

/* k Q for 0 < k < the group's order. Every bit does the same work. */
WARPRSA_FN p224_point p224_multiply(const uint32_t *k, const p224_number x,
                                    const p224_number y)
{
    const p224_number one = {{1}}, zero = {{0}};
    p224_point r = {one, one, zero};
    bool infinity = true;

    WARPRSA_ROLLED
    for (int bit = 32 * P224_WORDS; bit-- > 0;) {
        r = p224_double(r);
        p224_point sum = p224_add_affine(r, x, y);
        if (infinity)
            sum = (p224_point){x, y, one};
        if (k[bit / 32] >> bit % 32 & 1) {
            r = sum;
            infinity = false;
        }
    }
    return r;
}

#endif
