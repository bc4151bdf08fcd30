/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A request of the fold in integers: from its bytes to numbers, through the
 * programs and the secret powers, and back to bytes.
 */
#ifndef WARPRSA_GPU_KERNELS_INT32_FOLD_REQUEST_H
#define WARPRSA_GPU_KERNELS_INT32_FOLD_REQUEST_H

#include "gpu/kernels/int32_fold/operation.h"

/* Where the data of a request are. Numbers have n limbs and lie on borders of
 * 16 bytes. SECRET. */
typedef struct warprsa_int_fold_request {
    const uint8_t *input;   /* modulus_bytes */
    uint8_t *output;        /* likewise */
    const uint64_t *random; /* [RANDOM_WORDS] */
    uint32_t *exponent;     /* [2][BLINDED_WORDS] */
    /* Of p, and `apart` words further of q: u; and x F, then the root. */
    uint32_t *factor, *root;
    int apart;
    uint32_t *status; /* warprsa_status */
} warprsa_int_fold_request;

/* Limb i of a number given as bytes, most significant first. */
WARPRSA_FN uint32_t warprsa_int_fold_limb_of_bytes(const uint8_t *bytes,
                                                   int length, int i)
{
    uint32_t limb = 0;

    WARPRSA_UNROLL
    for (int j = 0; j < 4; j++) {
        const int at = length - 1 - (4 * i + j);

        if (at >= 0)
            limb |= (uint32_t)bytes[at] << (8 * j);
    }
    return limb;
}

/* Puts m into INPUT. */
WARPRSA_FN void warprsa_int_fold_put_input(const warprsa_int_fold_group *g,
                                           const warprsa_int_fold_request *r,
                                           const warprsa_int_fold_key *key,
                                           const int n)
{
    uint32_t *to = warprsa_int_fold_register(g, WARPRSA_INT_FOLD_INPUT, n);

    WARPRSA_ROLLED
    for (int c = 0; c < 2 * WARPRSA_INT_FOLD_CHUNKS(n); c++) {
        uint32_t four[4];

        WARPRSA_UNROLL
        for (int i = 0; i < 4; i++)
            four[i] = warprsa_int_fold_limb_of_bytes(
                r->input, (int)key->modulus_bytes, 4 * c + i);
        warprsa_int_fold_store(to + 4 * c * g->stride, four);
    }
}

/* Puts r into BLINDING: 320 random bits, odd, hence not zero. They are fewer
 * than the prime has, so r is no multiple of it. 320 bits cannot be guessed. */
WARPRSA_FN void warprsa_int_fold_put_blinding(const warprsa_int_fold_group *g,
                                              const warprsa_int_fold_request *r,
                                              const int n)
{
    uint32_t *to = warprsa_int_fold_register(g, WARPRSA_INT_FOLD_BLINDING, n);

    WARPRSA_ROLLED
    for (int c = 0; c < WARPRSA_INT_FOLD_CHUNKS(n); c++) {
        uint32_t four[4];

        WARPRSA_UNROLL
        for (int i = 0; i < 4; i++) {
            const int at = 4 * c + i;

            four[i] = at < 2 * WARPRSA_BLINDING_SAMPLES
                          ? (uint32_t)(r->random[at / 2] >> (32 * (at % 2)))
                          : 0;
            four[i] |= at == 0;
        }
        warprsa_int_fold_store(to + 4 * c * g->stride, four);
    }
}

/* Blinds an exponent as warprsa_blind_exponent() does: exponent + k (prime -
 * 1), less one. Words up to n + 1 are written: the exponent of a key may have
 * n + 1 limbs, as 52-bit samples make it. */
WARPRSA_FN void
warprsa_int_fold_blind_exponent(const warprsa_int_fold_request *r,
                                const warprsa_int_fold_key *key, const int n)
{
    uint32_t *blinded = r->exponent + key->which * WARPRSA_BLINDED_WORDS;
    const uint32_t *exponent = key->exponent, *p_minus_1 = key->p_minus_1;
    const uint64_t k =
        (uint32_t)(r->random[WARPRSA_BLINDING_SAMPLES] >>
                   (WARPRSA_EXPONENT_BLINDING_BITS * key->which));
    uint64_t sum = 0;

    WARPRSA_ROLLED
    for (int i = 0; i < n + 1; i++) {
        WARPRSA_BOUND("The private operation: Blinded exponents",
                      (unsigned __int128)k * p_minus_1[i] + exponent[i] + sum <=
                          UINT64_MAX);
        sum += k * p_minus_1[i] + exponent[i];
        blinded[i] = (uint32_t)sum;
        sum >>= 32;
    }
    blinded[n + 1] = (uint32_t)sum;
    blinded[0] &= ~1u;
}

/* Before the program of the beginning: the exponent, m and r. */
WARPRSA_FN void warprsa_int_fold_put_begin(const warprsa_int_fold_group *g,
                                           const warprsa_int_fold_request *r,
                                           const warprsa_int_fold_key *key,
                                           const int n)
{
    warprsa_int_fold_blind_exponent(r, key, n);
    warprsa_int_fold_put_input(g, r, key, n);
    warprsa_int_fold_put_blinding(g, r, n);
    warprsa_sync_lanes();
}

/* Copies a register to where a request has it. */
WARPRSA_FN void warprsa_int_fold_copy_register(uint32_t *to,
                                               const warprsa_int_fold_group *g,
                                               int reg, const int n)
{
    const uint32_t *from = warprsa_int_fold_register(g, reg, n);

    WARPRSA_UNROLL
    for (int c = 0; c < WARPRSA_INT_FOLD_CHUNKS(n); c++) {
        uint32_t four[4];

        warprsa_int_fold_load(four, from + 4 * c * g->stride);
        warprsa_int_fold_store(to + 4 * c, four);
    }
}

/* After it: u and x F. */
WARPRSA_FN void warprsa_int_fold_put_begun(const warprsa_int_fold_group *g,
                                           const warprsa_int_fold_request *r,
                                           int which, const int n)
{
    warprsa_int_fold_copy_register(r->factor + which * r->apart, g,
                                   WARPRSA_INT_FOLD_FACTOR, n);
    warprsa_int_fold_copy_register(r->root + which * r->apart, g,
                                   WARPRSA_INT_FOLD_BLINDED, n);
}

/* Before the secret power: puts x F, u and the exponent where it wants them. */
WARPRSA_FN void warprsa_int_fold_put_power(const warprsa_int_fold_group *g,
                                           const warprsa_int_fold_request *r,
                                           int which, const int n)
{
    const uint32_t *exponent = r->exponent + which * WARPRSA_BLINDED_WORDS;
    uint32_t x[WARPRSA_INT_FOLD_LIMBS_MAX];

    warprsa_int_fold_load_number(x, r->root + which * r->apart, 1, n);
    warprsa_int_fold_store_number(warprsa_int_fold_entry(g, 1, n), x, g->stride,
                                  n);
    warprsa_int_fold_load_number(x, r->factor + which * r->apart, 1, n);
    warprsa_int_fold_store_number(
        warprsa_int_fold_entry(g, WARPRSA_INT_FOLD_ENTRIES(n) + 1, n), x,
        g->stride, n);
    WARPRSA_ROLLED
    for (int i = 0; i < n + 4; i++)
        *warprsa_int_fold_exponent_word(g, i, n) = i < n + 2 ? exponent[i] : 0;
}

/* After it: x F becomes the root. */
WARPRSA_FN void warprsa_int_fold_put_root(const warprsa_int_fold_request *r,
                                          const uint32_t *x, int which,
                                          const int n)
{
    warprsa_int_fold_store_number(r->root + which * r->apart, x, 1, n);
}

/* Before the program of the end, with the prime p: m, s_q and s_p - s_q.
 * q < 2^(32 n) < 2 p. */
WARPRSA_FN void warprsa_int_fold_put_end(const warprsa_int_fold_group *g,
                                         const warprsa_int_fold_request *r,
                                         const warprsa_int_fold_key *key,
                                         const int n)
{
    uint32_t p[WARPRSA_INT_FOLD_LIMBS_MAX], q[WARPRSA_INT_FOLD_LIMBS_MAX];

    warprsa_int_fold_put_input(g, r, key, n);
    *warprsa_int_fold_register(g, WARPRSA_INT_FOLD_DIFFERS, n) = 0;
    warprsa_int_fold_load_number(p, r->root, 1, n);
    warprsa_int_fold_load_number(q, r->root + r->apart, 1, n);
    warprsa_int_fold_store_number(
        warprsa_int_fold_register(g, WARPRSA_INT_FOLD_ROOT, n), q, g->stride,
        n);
    warprsa_int_fold_subtract(p, p, q, g->prime, n);
    warprsa_int_fold_store_number(
        warprsa_int_fold_register(g, WARPRSA_INT_FOLD_END_BASE, n), p,
        g->stride, n);
}

/* After it, for each prime: DIFFERS is nonzero if s^e, which is in CHECKED, is
 * not m, which is in NUMBER. */
WARPRSA_FN void warprsa_int_fold_compare(const warprsa_int_fold_group *g,
                                         const int n)
{
    const uint32_t *power =
        warprsa_int_fold_register(g, WARPRSA_INT_FOLD_CHECKED, n);
    const uint32_t *input =
        warprsa_int_fold_register(g, WARPRSA_INT_FOLD_NUMBER, n);
    uint32_t differs = 0;

    WARPRSA_UNROLL
    for (int c = 0; c < WARPRSA_INT_FOLD_CHUNKS(n); c++) {
        uint32_t a[4], b[4];

        warprsa_int_fold_load(a, power + 4 * c * g->stride);
        warprsa_int_fold_load(b, input + 4 * c * g->stride);
        WARPRSA_UNROLL
        for (int i = 0; i < 4; i++)
            differs |= a[i] ^ b[i];
    }
    *warprsa_int_fold_register(g, WARPRSA_INT_FOLD_DIFFERS, n) |= differs;
}

/* Writes s as bytes, and the status. The engine releases the bytes only if the
 * status is WARPRSA_OK. */
WARPRSA_FN void warprsa_int_fold_put_bytes(const warprsa_int_fold_group *g,
                                           const warprsa_int_fold_request *r,
                                           const warprsa_int_fold_key *key,
                                           const int n)
{
    const uint32_t *from =
        warprsa_int_fold_register(g, WARPRSA_INT_FOLD_RESULT, n);
    const int length = (int)key->modulus_bytes;

    WARPRSA_ROLLED
    for (int c = 0; c < 2 * WARPRSA_INT_FOLD_CHUNKS(n); c++) {
        uint32_t four[4];

        warprsa_int_fold_load(four, from + 4 * c * g->stride);
        WARPRSA_UNROLL
        for (int j = 0; j < 16; j++)
            if (16 * c + j < length)
                r->output[length - 1 - 16 * c - j] =
                    (uint8_t)(four[j / 4] >> (8 * (j % 4)));
    }
    *r->status = *warprsa_int_fold_register(g, WARPRSA_INT_FOLD_DIFFERS, n) == 0
                     ? WARPRSA_OK
                     : WARPRSA_CHECK_FAILED;
}

#endif
