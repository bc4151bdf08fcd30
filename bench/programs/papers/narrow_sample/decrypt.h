/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * RSA decryption with narrow samples: the powers modulo p and q by windows of
 * six bits (algorithm 4), and the Chinese remainder theorem (section 5.2).
 */
#ifndef WARPRSA_PAPERS_NARROW_DECRYPT_H
#define WARPRSA_PAPERS_NARROW_DECRYPT_H

#include "bench/programs/papers/narrow_sample/narrow_sample.h"

/* A request's memory. Limb j of lane k of a table's entry is
 * table[(entry * t + j) * stride + k]; limbs are integers there, which take
 * half the memory of doubles (5.1). `scratch` has 2 r t words. */
typedef struct narrow_memory {
    uint32_t *table, *scratch;
    size_t stride;
} narrow_memory;

WARPRSA_FN void narrow_save(const narrow_memory *memory, int entry,
                            const narrow_number *x, const narrow_shape s)
{
    NARROW_EACH_LANE(k, s)
    {
        const int lane = warprsa_lane(k, 2 * s.threads);

        WARPRSA_UNROLL
        for (int j = 0; j < s.per_thread; j++)
            memory->table[(size_t)(entry * s.per_thread + j) * memory->stride +
                          (size_t)lane] = (uint32_t)x->of[k][j];
    }
}

/* x <- the entry of digit number `digit` of the half's exponent. */
WARPRSA_FN void narrow_look_up(narrow_number *x, const narrow_memory *memory,
                               const narrow_key *key, int digit,
                               const narrow_shape s)
{
    const int words = s.bits / 32;

    NARROW_EACH_LANE(k, s)
    {
        const int lane = warprsa_lane(k, 2 * s.threads);
        const uint32_t entry =
            narrow_bits(key->exponent + narrow_half_of(k, s) * words, words,
                        digit * NARROW_WINDOW, NARROW_WINDOW);

        WARPRSA_UNROLL
        for (int j = 0; j < s.per_thread; j++)
            x->of[k][j] =
                memory->table[(size_t)((int)entry * s.per_thread + j) *
                                  memory->stride +
                              (size_t)lane];
    }
}

WARPRSA_FN void narrow_one(narrow_number *x, const narrow_shape s)
{
    NARROW_EACH_LANE(k, s)
    {
        WARPRSA_UNROLL
        for (int j = 0; j < s.per_thread; j++)
            x->of[k][j] = j == 0 && narrow_place(k, s) == 0;
    }
}

/* x <- C R mod M, below 4 M. */
WARPRSA_FN void narrow_enter(narrow_number *x, const uint32_t *c,
                             const narrow_key *key, const narrow_modulus *m,
                             const narrow_shape s)
{
    const int words = s.bits / 32, limbs = narrow_limbs(s);
    narrow_number y, by;
    int64_t top[WARPRSA_LANES_EMULATED];

    narrow_load(x, c, 2 * words, limbs * s.width, limbs, false, s);
    narrow_load(&by, key->r3, words, 0, limbs, true, s);
    narrow_multiply(x, &by, m, s);
    narrow_load(&y, c, 2 * words, 0, limbs, false, s);
    narrow_load(&by, key->r2, words, 0, limbs, true, s);
    narrow_multiply(&y, &by, m, s);
    NARROW_EACH_LANE(k, s)
    {
        WARPRSA_UNROLL
        for (int j = 0; j < s.per_thread; j++)
            x->of[k][j] += y.of[k][j];
    }
    narrow_carry(x, top, s);
}

/* Fills the table with x^0 to x^63 in Montgomery's form. */
WARPRSA_FN void narrow_fill(const narrow_memory *memory, const narrow_number *x,
                            const narrow_key *key, const narrow_modulus *m,
                            const narrow_shape s)
{
    narrow_number power, by;

    narrow_one(&power, s);
    narrow_load(&by, key->r2, s.bits / 32, 0, narrow_limbs(s), true, s);
    WARPRSA_ROLLED
    for (int entry = 0; entry < NARROW_ENTRIES; entry++) {
        if (entry == 1)
            power = by = *x;
        else
            narrow_multiply(&power, &by, m, s);
        narrow_save(memory, entry, &power, s);
    }
}

/* x <- the power of x with the half's exponent, in [0, M). */
WARPRSA_FN void narrow_power(narrow_number *x, const narrow_memory *memory,
                             const narrow_key *key, const narrow_modulus *m,
                             const narrow_shape s)
{
    const int digits = (s.bits + NARROW_WINDOW - 1) / NARROW_WINDOW;
    narrow_number by;

    narrow_fill(memory, x, key, m, s);
    warprsa_sync_lanes();
    narrow_look_up(x, memory, key, digits - 1, s);
    WARPRSA_ROLLED
    for (int turn = (digits - 1) * (NARROW_WINDOW + 1); turn-- > 0;) {
        if (turn % (NARROW_WINDOW + 1) == 0)
            narrow_look_up(&by, memory, key, turn / (NARROW_WINDOW + 1), s);
        else
            by = *x;
        narrow_multiply(x, &by, m, s);
    }
    narrow_one(&by, s);
    narrow_multiply(x, &by, m, s);
    narrow_reduce(x, m, s);
}

/* h <- (P1 - P2) / q mod p in the first half, from P1 in x there and P2 in the
 * second; then the second half's h is that of the first. P1 - P2 + 2 p is
 * positive, as q < 2 p. */
WARPRSA_FN void narrow_garner(narrow_number *h, const narrow_number *x,
                              const narrow_key *key, const narrow_modulus *m,
                              const narrow_shape s)
{
    narrow_number by;
    int64_t top[WARPRSA_LANES_EMULATED];
    double mine[WARPRSA_LANES_EMULATED], other[WARPRSA_LANES_EMULATED];

    WARPRSA_UNROLL
    for (int j = 0; j < s.per_thread; j++) {
        NARROW_EACH_LANE(k, s)
        {
            mine[k] = x->of[k][j];
        }
        narrow_exchange(other, mine, s);
        NARROW_EACH_LANE(k, s)
        {
            h->of[k][j] = mine[k] - other[k] + 2 * m->m.of[k][j];
        }
    }
    narrow_carry(h, top, s);
    narrow_load(&by, key->q_inverse, s.bits / 32, 0, narrow_limbs(s), false, s);
    narrow_multiply(h, &by, m, s);
    narrow_reduce(h, m, s);
    WARPRSA_UNROLL
    for (int j = 0; j < s.per_thread; j++) {
        NARROW_EACH_LANE(k, s)
        {
            mine[k] = h->of[k][j];
        }
        narrow_exchange(other, mine, s);
        NARROW_EACH_LANE(k, s)
        {
            if (narrow_half_of(k, s) == 1)
                h->of[k][j] = other[k];
        }
    }
}

/* scratch <- the limbs of h q + x, by the second half: one limb a turn leaves
 * at the bottom, and the rest is what stays. */
WARPRSA_FN void narrow_recombine(uint32_t *scratch, narrow_number *x,
                                 const narrow_number *h,
                                 const narrow_modulus *m, const narrow_shape s)
{
    const uint32_t mask = (1u << s.width) - 1;
    int64_t top[WARPRSA_LANES_EMULATED];

    WARPRSA_ROLLED
    for (int owner = 0; owner < s.threads; owner++) {
        WARPRSA_UNROLL
        for (int i = 0; i < s.per_thread; i++) {
            double limb[WARPRSA_LANES_EMULATED];
            const int at = owner * s.per_thread + i;

            if (at >= narrow_limbs(s))
                continue;
            NARROW_EACH_LANE(k, s)
            {
                limb[k] = h->of[k][i];
            }
            narrow_broadcast(limb, limb, owner, s);
            narrow_add_row(x, &m->m, limb, s);
            NARROW_EACH_LANE(k, s)
            {
                if (narrow_half_of(k, s) == 1 && narrow_place(k, s) == 0)
                    scratch[at] = (uint32_t)(int64_t)x->of[k][0] & mask;
            }
            narrow_shift(x, s);
        }
    }
    narrow_carry(x, top, s);
    NARROW_EACH_LANE(k, s)
    {
        WARPRSA_UNROLL
        for (int j = 0; j < s.per_thread; j++) {
            int at = narrow_limbs(s) + narrow_place(k, s) * s.per_thread + j;

            if (narrow_half_of(k, s) == 1)
                scratch[at] = (uint32_t)x->of[k][j];
        }
    }
    warprsa_sync_lanes();
}

/* Conversion of output (5.3): word j of the limbs. */
WARPRSA_FN uint32_t narrow_word(const uint32_t *limbs, int j,
                                const narrow_shape s)
{
    uint64_t word = 0;

    for (int at = 32 * j / s.width; at * s.width < 32 * (j + 1); at++) {
        int shift = at * s.width - 32 * j;

        word |= shift < 0 ? limbs[at] >> -shift : (uint64_t)limbs[at] << shift;
    }
    return (uint32_t)word;
}

/* out <- c^d mod p q; both have 2 n / 32 words. */
WARPRSA_FN void narrow_decrypt(uint32_t *out, const uint32_t *c,
                               const narrow_key *key,
                               const narrow_memory *memory,
                               const narrow_shape s)
{
    const int words = s.bits / 32;
    narrow_modulus m;
    narrow_number x, h;

    narrow_load(&m.m, key->modulus, words, 0, narrow_limbs(s), true, s);
    NARROW_EACH_LANE(k, s)
    {
        m.n0inv[k] = key->n0inv[narrow_half_of(k, s)];
    }
    narrow_enter(&x, c, key, &m, s);
    narrow_power(&x, memory, key, &m, s);
    narrow_garner(&h, &x, key, &m, s);
    narrow_recombine(memory->scratch, &x, &h, &m, s);
    NARROW_EACH_LANE(k, s)
    {
        for (int j = warprsa_lane(k, 2 * s.threads); j < 2 * words;
             j += 2 * s.threads)
            out[j] = narrow_word(memory->scratch, j, s);
    }
}

/* Montgomery products of one decryption, in each half. */
WARPRSA_FN int narrow_products(const narrow_shape s)
{
    return (s.bits + NARROW_WINDOW - 1) / NARROW_WINDOW * (NARROW_WINDOW + 1) -
           (NARROW_WINDOW + 1) + NARROW_ENTRIES + 3;
}

#endif
