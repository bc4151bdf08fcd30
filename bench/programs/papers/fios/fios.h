/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sakai, Nakano and Ito, "Accelerating RSA encryption using GPUs": Montgomery
 * products by finely integrated operand scanning (algorithm 1), one thread a
 * message, and the binary left-to-right method (algorithm 2). Its two ideas:
 * operands lie transposed in global memory, so that a warp reads neighbouring
 * words; and sums of products are chains of mad.cc and madc (figures 7 and 8)
 * where C has sums of 64 bits. Both ways of each are here.
 *
 * As printed, line 17 of algorithm 1 compares with N, which is M.
 *
 * The sum P is in registers, so the inner loop is unrolled. Compiled for the
 * device and for the host. For benchmarks only: it is not constant time.
 */
#ifndef WARPRSA_PAPERS_FIOS_H
#define WARPRSA_PAPERS_FIOS_H

#include <stdbool.h>

#include "gpu/arith/lanes.h"

enum {
    FIOS_WORDS_MAX = 64,
};

/* What all messages of a batch share. */
typedef struct fios_key {
    const uint32_t *modulus, *r2, *exponent;
    uint32_t n0inv, exponent_bits;
} fios_key;

/* A number in memory: word j is at[j * step]. */
typedef struct fios_number {
    uint32_t *at;
    uint32_t step;
} fios_number;

/* (u, v) = a b + c, figure 7. */
WARPRSA_FN void fios_sum1(uint32_t *u, uint32_t *v, uint32_t a, uint32_t b,
                          uint32_t c, const bool chains)
{
#ifdef __CUDACC__
    if (chains) {
        asm("mad.lo.cc.u32 %0, %2, %3, %4;\n\t"
            "madc.hi.u32 %1, %2, %3, 0;"
            : "=&r"(*v), "=r"(*u)
            : "r"(a), "r"(b), "r"(c));
        return;
    }
#endif
    uint64_t sum = (uint64_t)a * b + c;

    (void)chains;
    *v = (uint32_t)sum;
    *u = (uint32_t)(sum >> 32);
}

/* (u, v) = a b + c + d, figure 8: first (x, y) = c + d, then a b + (x, y). It
 * fits, for it is at most (2^32 - 1)^2 + 2 (2^32 - 1) = 2^64 - 1. */
WARPRSA_FN void fios_sum2(uint32_t *u, uint32_t *v, uint32_t a, uint32_t b,
                          uint32_t c, uint32_t d, const bool chains)
{
#ifdef __CUDACC__
    if (chains) {
        uint32_t x, y;

        asm("add.cc.u32 %1, %4, %5;\n\t"
            "addc.u32 %0, 0, 0;\n\t"
            "mad.lo.cc.u32 %1, %2, %3, %1;\n\t"
            "madc.hi.u32 %0, %2, %3, %0;"
            : "=&r"(x), "=&r"(y)
            : "r"(a), "r"(b), "r"(c), "r"(d));
        *u = x;
        *v = y;
        return;
    }
#endif
    uint64_t sum = (uint64_t)a * b + c + d;

    (void)chains;
    *v = (uint32_t)sum;
    *u = (uint32_t)(sum >> 32);
}

/* Lines 3 to 15 for one word of B. */
WARPRSA_FN void fios_row(uint32_t *p, fios_number a, uint32_t b,
                         const fios_key *key, const int words,
                         const bool chains)
{
    uint32_t t, u, v, q;

    fios_sum1(&t, &v, a.at[0], b, p[0], chains);
    q = v * key->n0inv;
    fios_sum1(&u, &v, key->modulus[0], q, v, chains);
    WARPRSA_UNROLL
    for (int j = 1; j < words; j++) {
        fios_sum2(&t, &v, a.at[(uint32_t)j * a.step], b, t, u, chains);
        fios_sum2(&u, &p[j - 1], key->modulus[j], q, p[j], v, chains);
    }
    uint64_t top = (uint64_t)p[words] + t + u;
    p[words - 1] = (uint32_t)top;
    p[words] = (uint32_t)(top >> 32);
}

/* to <- p, or p - M if p >= M: lines 17 to 21. */
WARPRSA_FN void fios_reduce(fios_number to, const uint32_t *p,
                            const fios_key *key, const int words)
{
    int64_t borrow = 0;
    uint32_t keep;

    WARPRSA_UNROLL
    for (int j = 0; j < words; j++)
        borrow = ((int64_t)p[j] - key->modulus[j] + borrow) >> 32;
    keep = borrow + p[words] < 0 ? 0 : 0xffffffff;
    borrow = 0;
    WARPRSA_UNROLL
    for (int j = 0; j < words; j++) {
        borrow += (int64_t)p[j] - (key->modulus[j] & keep);
        to.at[(uint32_t)j * to.step] = (uint32_t)borrow;
        borrow >>= 32;
    }
}

/* to <- a b / 2^(32 words) mod M. All three may be one number. */
WARPRSA_FN void fios_multiply(fios_number to, fios_number a, fios_number b,
                              const fios_key *key, const int words,
                              const bool chains)
{
    uint32_t p[FIOS_WORDS_MAX + 1];

    WARPRSA_UNROLL
    for (int j = 0; j <= words; j++)
        p[j] = 0;
    WARPRSA_ROLLED
    for (int i = 0; i < words; i++)
        fios_row(p, a, b.at[(uint32_t)i * b.step], key, words, chains);
    fios_reduce(to, p, key, words);
}

/* c <- x^e mod M; x becomes x R mod M. One loop has all products, so that there
 * is one copy of the code: into Montgomery's form, then a square and perhaps a
 * product for each bit, and out. */
WARPRSA_FN void fios_modexp(fios_number c, fios_number x, const fios_key *key,
                            const int words, const bool chains)
{
    const fios_number r2 = {(uint32_t *)key->r2, 1};
    int bit = (int)key->exponent_bits + 2;
    bool square = true;

    WARPRSA_ROLLED
    for (int j = 0; j < words; j++)
        c.at[(uint32_t)j * c.step] = j == 0;
    WARPRSA_ROLLED
    while (bit > 0) {
        fios_number to = c, by = c;

        if (bit > (int)key->exponent_bits + 1) {
            to = x;
            by = r2;
        } else if (bit > (int)key->exponent_bits) {
            by = r2;
        } else if (!square) {
            by = x;
        }
        fios_multiply(to, to, by, key, words, chains);
        const bool is_bit = bit <= (int)key->exponent_bits;
        const int at = bit - 1;
        if (is_bit && square && (key->exponent[at / 32] >> at % 32 & 1)) {
            square = false;
        } else {
            square = true;
            bit--;
        }
    }
    /* x, which is of no more use, becomes 1. */
    WARPRSA_ROLLED
    for (int j = 0; j < words; j++)
        x.at[(uint32_t)j * x.step] = j == 0;
    fios_multiply(c, c, x, key, words, chains);
}

#endif
