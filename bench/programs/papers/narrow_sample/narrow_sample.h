/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Dong and others, "Utilizing the Double-Precision
 * Floating-Point Computing Power of GPUs for RSA Acceleration" (2017): RSA
 * decryption by double precision with narrow samples. A number is limbs of w
 * bits (23, or 22 beyond 1024 bits), `t` of them in each of r threads of a
 * warp. A limb's product has at most 2 w bits, so all 2 ceil(n / w) products
 * that meet in a limb fit in 53 bits, and no carry moves before the end of a
 * Montgomery product (algorithms 2 and 3). Threads 0 to r - 1 of a request
 * compute modulo p, the next r modulo q (section 5.2), and conversion from and
 * to 32-bit words is the GPU's, too (5.3).
 *
 * As printed, line 3 of algorithm 4 squares T; it must multiply T by X for T to
 * run through the table's powers. The paper does not say how the ciphertext of
 * 2 n bits is reduced modulo p: here C = C1 2^(w g) + C0, and C R = C1 R R +
 * C0 R are two Montgomery products by R^3 and R^2.
 *
 * Compiled for the device and for the host. For benchmarks only: it reads its
 * table at the exponent's digits, and its carries take as many turns as they
 * need. It is not constant time.
 */
#ifndef WARPRSA_PAPERS_NARROW_SAMPLE_H
#define WARPRSA_PAPERS_NARROW_SAMPLE_H

#include <stdbool.h>

#include "gpu/arith/lanes.h"

enum {
    NARROW_LIMBS_MAX = 24, /* of a thread */
    NARROW_WINDOW = 6,
    NARROW_ENTRIES = 1 << NARROW_WINDOW,
};

/* The shape: n bits of p and q, w bits of a limb, r threads for a number and t
 * limbs in each; r t >= limbs. */
typedef struct narrow_shape {
    int bits, width, threads, per_thread;
} narrow_shape;

/* Limbs of a number below R, and turns of a product: R = 2^(w g) > 4 M. */
WARPRSA_FN int narrow_limbs(const narrow_shape s)
{
    return (s.bits + 2 + s.width - 1) / s.width;
}

/* What a request reads: words of p, and of q behind them. */
typedef struct narrow_key {
    const uint32_t *modulus, *r2, *r3; /* n / 32 words each, for p and for q */
    const uint32_t *exponent;          /* d mod (p - 1), d mod (q - 1) */
    const uint32_t *q_inverse; /* R / q mod p; the words for q are not used */
    uint32_t n0inv[2];         /* -1/p and -1/q mod 2^w */
} narrow_key;

/* A number, spread over the request's lanes: limbs as integers in doubles. */
typedef struct narrow_number {
    double of[WARPRSA_LANES_EMULATED][NARROW_LIMBS_MAX];
} narrow_number;

typedef struct narrow_modulus {
    narrow_number m;
    uint32_t n0inv[WARPRSA_LANES_EMULATED];
} narrow_modulus;

#define NARROW_EACH_LANE(k, s) WARPRSA_EACH_LANE (k, 2 * (s).threads)

/* The lane's place in its number. */
WARPRSA_FN int narrow_place(int k, const narrow_shape s)
{
    return warprsa_lane(k, 2 * s.threads) & (s.threads - 1);
}

WARPRSA_FN int narrow_half_of(int k, const narrow_shape s)
{
    return warprsa_lane(k, 2 * s.threads) / s.threads;
}

/* Every lane gets the double of lane `source` of its number. */
WARPRSA_FN void narrow_broadcast(double *to, const double *from, int source,
                                 const narrow_shape s)
{
#ifdef __CUDACC__
    to[0] = __shfl_sync(0xffffffffu, from[0], source, s.threads);
#else
    for (int k = 0; k < 2 * s.threads; k++)
        to[k] = from[(k & ~(s.threads - 1)) + source];
#endif
}

/* The same for the lane `step` above, cyclically within the number. */
WARPRSA_FN void narrow_rotate(double *to, const double *from, int step,
                              const narrow_shape s)
{
#ifdef __CUDACC__
    to[0] = __shfl_sync(0xffffffffu, from[0],
                        (int)(threadIdx.x + (unsigned)step) & (s.threads - 1),
                        s.threads);
#else
    for (int k = 0; k < 2 * s.threads; k++)
        to[k] = from[(k & ~(s.threads - 1)) + ((k + step) & (s.threads - 1))];
#endif
}

/* The same for the lane at its place in the other half. */
WARPRSA_FN void narrow_exchange(double *to, const double *from,
                                const narrow_shape s)
{
#ifdef __CUDACC__
    to[0] = __shfl_xor_sync(0xffffffffu, from[0], s.threads);
#else
    for (int k = 0; k < 2 * s.threads; k++)
        to[k] = from[k ^ s.threads];
#endif
}

/* Whether the value is nonzero in any lane of the warp. */
WARPRSA_FN bool narrow_any(const int64_t *value, const narrow_shape s)
{
#ifdef __CUDACC__
    (void)s;
    return __any_sync(0xffffffffu, value[0] != 0);
#else
    bool any = false;

    for (int k = 0; k < 2 * s.threads; k++)
        any |= value[k] != 0;
    return any;
#endif
}

/* Algorithm 3: carries, until every limb is in [0, 2^w). Limbs may be negative.
 * `top` gets what leaves the top limb: 0, or -1 for a negative number, whose
 * limbs are then those of its two's complement. Below 2^53, a limb and a carry
 * are exact as 64-bit integers, which shift as the paper's bit extraction. */
WARPRSA_FN void narrow_carry(narrow_number *x, int64_t *top,
                             const narrow_shape s)
{
    const int64_t mask = (1ll << s.width) - 1;
    int64_t carry[WARPRSA_LANES_EMULATED];
    double up[WARPRSA_LANES_EMULATED], out[WARPRSA_LANES_EMULATED];

    NARROW_EACH_LANE(k, s)
    {
        carry[k] = top[k] = 0;
    }
    do {
        NARROW_EACH_LANE(k, s)
        {
            WARPRSA_UNROLL
            for (int j = 0; j < s.per_thread; j++) {
                carry[k] += (int64_t)x->of[k][j];
                x->of[k][j] = (double)(carry[k] & mask);
                carry[k] >>= s.width;
            }
            out[k] = (double)carry[k];
        }
        narrow_rotate(up, out, -1, s);
        NARROW_EACH_LANE(k, s)
        {
            if (narrow_place(k, s) == s.threads - 1)
                top[k] += carry[k];
            carry[k] = narrow_place(k, s) == 0 ? 0 : (int64_t)up[k];
        }
    } while (narrow_any(carry, s));
}

/* Step 4 of algorithm 2: S = S / 2^w. The lowest limb's upper bits stay. */
WARPRSA_FN void narrow_shift(narrow_number *x, const narrow_shape s)
{
    double low[WARPRSA_LANES_EMULATED], above[WARPRSA_LANES_EMULATED];

    NARROW_EACH_LANE(k, s)
    {
        low[k] = x->of[k][0];
    }
    narrow_rotate(above, low, 1, s);
    NARROW_EACH_LANE(k, s)
    {
        double carry = (double)((int64_t)low[k] >> s.width);

        WARPRSA_UNROLL
        for (int j = 0; j < s.per_thread - 1; j++)
            x->of[k][j] = x->of[k][j + 1];
        x->of[k][s.per_thread - 1] =
            narrow_place(k, s) == s.threads - 1 ? 0 : above[k];
        x->of[k][0] += narrow_place(k, s) == 0 ? carry : 0;
    }
}

/* S += a b for one limb b. Exact: see the top. */
WARPRSA_FN void narrow_add_row(narrow_number *x, const narrow_number *a,
                               const double *b, const narrow_shape s)
{
    NARROW_EACH_LANE(k, s)
    {
        WARPRSA_UNROLL
        for (int j = 0; j < s.per_thread; j++)
            x->of[k][j] += a->of[k][j] * b[k];
    }
}

/* Steps 1 to 4 of algorithm 2 for one limb of B. The quotient q is the lowest
 * lane's; the others compute one that nobody reads. */
WARPRSA_FN void narrow_turn(narrow_number *x, const narrow_number *a,
                            const double *b, const narrow_modulus *m,
                            const narrow_shape s)
{
    const uint32_t mask = (1u << s.width) - 1;
    double q[WARPRSA_LANES_EMULATED];

    narrow_add_row(x, a, b, s);
    NARROW_EACH_LANE(k, s)
    {
        uint32_t low = (uint32_t)(int64_t)x->of[k][0];

        q[k] = (double)(low * m->n0inv[k] & mask);
    }
    narrow_broadcast(q, q, 0, s);
    narrow_add_row(x, &m->m, q, s);
    narrow_shift(x, s);
}

/* a <- a b / R, below 2 M, for a < R and b < M, or both below 4 M. */
WARPRSA_FN void narrow_multiply(narrow_number *a, const narrow_number *b,
                                const narrow_modulus *m, const narrow_shape s)
{
    narrow_number x;
    int64_t top[WARPRSA_LANES_EMULATED];

    NARROW_EACH_LANE(k, s)
    {
        WARPRSA_UNROLL
        for (int j = 0; j < s.per_thread; j++)
            x.of[k][j] = 0;
    }
    WARPRSA_ROLLED
    for (int owner = 0; owner < s.threads; owner++) {
        WARPRSA_UNROLL
        for (int i = 0; i < s.per_thread; i++) {
            double limb[WARPRSA_LANES_EMULATED];

            if (owner * s.per_thread + i >= narrow_limbs(s))
                continue;
            NARROW_EACH_LANE(k, s)
            {
                limb[k] = b->of[k][i];
            }
            narrow_broadcast(limb, limb, owner, s);
            narrow_turn(&x, a, limb, m, s);
        }
    }
    narrow_carry(&x, top, s);
    *a = x;
}

/* Bits from `bit` on of `words` words; what lies beyond them is zero. */
WARPRSA_FN uint32_t narrow_bits(const uint32_t *from, int words, int bit,
                                int count)
{
    const int at = bit / 32;
    uint64_t low = at < words ? from[at] : 0;
    uint64_t high = at + 1 < words ? from[at + 1] : 0;

    return (uint32_t)((low | high << 32) >> (bit % 32)) &
           (uint32_t)((1ull << count) - 1);
}

/* Conversion of input (5.3): limb i is bits from + i w to from + (i + 1) w - 1
 * of the words; only `limbs` limbs are taken. A lane of the second half reads
 * the words behind. */
WARPRSA_FN void narrow_load(narrow_number *x, const uint32_t *words, int count,
                            int from, int limbs, bool halves,
                            const narrow_shape s)
{
    NARROW_EACH_LANE(k, s)
    {
        const uint32_t *at =
            words + (halves ? narrow_half_of(k, s) * count : 0);

        WARPRSA_UNROLL
        for (int j = 0; j < s.per_thread; j++) {
            int limb = narrow_place(k, s) * s.per_thread + j;

            x->of[k][j] =
                limb < limbs
                    ? narrow_bits(at, count, from + limb * s.width, s.width)
                    : 0;
        }
    }
}

/* x <- x - M if that is not negative. */
WARPRSA_FN void narrow_reduce(narrow_number *x, const narrow_modulus *m,
                              const narrow_shape s)
{
    narrow_number less;
    int64_t top[WARPRSA_LANES_EMULATED];
    double sign[WARPRSA_LANES_EMULATED];

    NARROW_EACH_LANE(k, s)
    {
        WARPRSA_UNROLL
        for (int j = 0; j < s.per_thread; j++)
            less.of[k][j] = x->of[k][j] - m->m.of[k][j];
    }
    narrow_carry(&less, top, s);
    NARROW_EACH_LANE(k, s)
    {
        sign[k] = (double)top[k];
    }
    narrow_broadcast(sign, sign, s.threads - 1, s);
    NARROW_EACH_LANE(k, s)
    {
        WARPRSA_UNROLL
        for (int j = 0; j < s.per_thread; j++)
            x->of[k][j] = sign[k] < 0 ? x->of[k][j] : less.of[k][j];
    }
}

#endif
