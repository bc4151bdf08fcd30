/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Szerwinski and Güneysu, "Exploiting the Power of GPUs for Asymmetric
 * Cryptography" (2008), sections 4.1 and 5.1: Montgomery products by coarsely
 * integrated operand scanning (algorithm 1), one thread a number, and the
 * binary right-to-left method. Every thread has three values of words + 2 words
 * in global memory, interleaved with those of the other threads of its block.
 *
 * As printed, algorithm 1 lacks two things: the carry out of line 13, which
 * line 14 must add to T_(n+1), and the final subtraction that its "0 <= C < M"
 * needs. Both are here. The paper's cards had no addition with carry, so it
 * kept carries in halves of words; sums of 64 bits take their place.
 *
 * Compiled for the device and for the host. For benchmarks only: it is not
 * constant time.
 */
#ifndef WARPRSA_PAPERS_CIOS_H
#define WARPRSA_PAPERS_CIOS_H

#include "gpu/arith/lanes.h"

/* Enough for the loads of some words to be under way at once. */
#ifdef __CUDACC__
#define CIOS_UNROLL _Pragma("unroll 8")
#else
#define CIOS_UNROLL
#endif

/* What all numbers of a batch share. */
typedef struct cios_key {
    const uint32_t *modulus, *r2, *exponent;
    uint32_t n0inv, exponent_bits;
} cios_key;

/* A number in memory: word j is at[j * step]. */
typedef struct cios_operand {
    const uint32_t *at;
    uint32_t step;
} cios_operand;

/* t <- t - m if t >= m, for t of words + 1 words. The difference is computed
 * twice, first for its borrow alone. */
WARPRSA_FN void cios_reduce(uint32_t *t, uint32_t step, const uint32_t *m,
                            const int words)
{
    int64_t borrow = 0;
    uint32_t keep;

    CIOS_UNROLL
    for (int j = 0; j < words; j++)
        borrow = ((int64_t)t[(uint32_t)j * step] - m[j] + borrow) >> 32;
    borrow += t[(uint32_t)words * step];
    keep = borrow < 0 ? 0 : 0xffffffff;
    borrow = 0;
    CIOS_UNROLL
    for (int j = 0; j < words; j++) {
        borrow += (int64_t)t[(uint32_t)j * step] - (m[j] & keep);
        t[(uint32_t)j * step] = (uint32_t)borrow;
        borrow >>= 32;
    }
}

/* Line 4: T += A * B_i, and the carry into T's two top words. A sum is at most
 * (2^32 - 1)^2 + 2 (2^32 - 1) = 2^64 - 1. */
WARPRSA_FN void cios_multiply_row(uint32_t *t, uint32_t step, cios_operand a,
                                  uint32_t b, const int words)
{
    uint64_t c = 0;
    uint32_t *top = t + (uint32_t)words * step;

    CIOS_UNROLL
    for (int j = 0; j < words; j++) {
        c += (uint64_t)a.at[(uint32_t)j * a.step] * b + t[(uint32_t)j * step];
        t[(uint32_t)j * step] = (uint32_t)c;
        c >>= 32;
    }
    c += top[0];
    top[0] = (uint32_t)c;
    top[step] = (uint32_t)(c >> 32);
}

/* Lines 8 to 14: T = (T + q * M) / 2^32. */
WARPRSA_FN void cios_reduce_row(uint32_t *t, uint32_t step, const cios_key *key,
                                const int words)
{
    uint32_t q = t[0] * key->n0inv;
    uint64_t c = ((uint64_t)q * key->modulus[0] + t[0]) >> 32;
    uint32_t *top = t + (uint32_t)words * step;

    CIOS_UNROLL
    for (int j = 1; j < words; j++) {
        c += (uint64_t)q * key->modulus[j] + t[(uint32_t)j * step];
        t[(uint32_t)(j - 1) * step] = (uint32_t)c;
        c >>= 32;
    }
    c += top[0];
    t[(uint32_t)(words - 1) * step] = (uint32_t)c;
    top[0] = top[step] + (uint32_t)(c >> 32);
}

/* t <- a b / 2^(32 words) mod m, below m, for a, b < m. T has words + 2 words
 * and is neither a nor b. */
WARPRSA_FN void cios_multiply(uint32_t *t, uint32_t step, cios_operand a,
                              cios_operand b, const cios_key *key,
                              const int words)
{
    CIOS_UNROLL
    for (int j = 0; j < words + 2; j++)
        t[(uint32_t)j * step] = 0;
    WARPRSA_ROLLED
    for (int i = 0; i < words; i++) {
        cios_multiply_row(t, step, a, b.at[(uint32_t)i * b.step], words);
        cios_reduce_row(t, step, key, words);
    }
    cios_reduce(t, step, key->modulus, words);
}

/* Raises the number in the first of three values at `memory` to the exponent;
 * the result takes its place. The values lie 3 (words + 2) words apart times
 * the step. The right-to-left method: `power` runs through x^(2^i). The values
 * change their places, and each place is named by its address. */
WARPRSA_FN void cios_modexp(uint32_t *memory, uint32_t step,
                            const cios_key *key, const int words)
{
    uint32_t *result = memory + (uint32_t)(words + 2) * step;
    uint32_t *power = memory, *spare = result + (uint32_t)(words + 2) * step;
    const cios_operand r2 = {key->r2, 1};

    cios_multiply(spare, step, (cios_operand){power, step}, r2, key, words);
    WARPRSA_ROLLED
    for (int j = 0; j < words; j++)
        power[(uint32_t)j * step] = j == 0;
    cios_multiply(result, step, (cios_operand){power, step}, r2, key, words);
    uint32_t *swap = power;
    power = spare;
    spare = swap;
    WARPRSA_ROLLED
    for (uint32_t i = 0; i < key->exponent_bits; i++) {
        const cios_operand x = {power, step};

        if (key->exponent[i / 32] >> i % 32 & 1) {
            cios_multiply(spare, step, (cios_operand){result, step}, x, key,
                          words);
            swap = result;
            result = spare;
            spare = swap;
        }
        cios_multiply(spare, step, x, x, key, words);
        swap = power;
        power = spare;
        spare = swap;
    }
    WARPRSA_ROLLED
    for (int j = 0; j < words; j++)
        power[(uint32_t)j * step] = j == 0;
    cios_multiply(spare, step, (cios_operand){result, step},
                  (cios_operand){power, step}, key, words);
    WARPRSA_ROLLED
    for (int j = 0; j < words; j++)
        memory[(uint32_t)j * step] = spare[(uint32_t)j * step];
}

#endif
