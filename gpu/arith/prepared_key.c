/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys prepared for the arithmetic in double precision, by libcrypto's big
 * numbers. Secret ones carry BN_FLG_CONSTTIME, and BN_CTX_free() wipes them.
 * They are not on libcrypto's secure heap: it is as large as the program has
 * made it, and may have no room for them. Compiled twice: with WARPRSA_LARGE it
 * prepares keys of the large classes.
 */
#include "gpu/arith/prepared_key.h"

#include <stdbool.h>
#include <string.h>

#include <openssl/bn.h>
#include <openssl/crypto.h>

#include "gpu/arith/octets.h"

/* Writes a number below 2^(52 count) as samples. */
static int put_samples(double *to, const BIGNUM *number, int count)
{
    uint8_t bytes[WARPRSA_FULL_SAMPLES * 52 / 8];
    int length = (count * 52 + 7) / 8, ok;

    ok = BN_bn2lebinpad(number, bytes, length) == length;
    for (int i = 0; ok && i < count; i++) {
        uint64_t bits = 0;
        int low = i * 52 / 8;

        for (int j = 0; j < 7 && low + j < length; j++)
            bits |= (uint64_t)bytes[low + j] << (8 * j);
        to[i] = (double)((bits >> (i * 52 % 8)) & 0xFFFFFFFFFFFFFull);
    }
    OPENSSL_cleanse(bytes, sizeof(bytes));
    return ok;
}

/* -1/m mod 2^52 for odd m, from its lowest sample, by Newton's iteration: x = m
 * is 1/m mod 8, and each turn doubles the 3 correct bits. */
static double compute_n0inv(double lowest)
{
    uint64_t m = (uint64_t)lowest, x = m;

    for (int i = 0; i < 5; i++)
        x *= 2 - m * x;
    return (double)((0 - x) & 0xFFFFFFFFFFFFFull);
}

/* to = factor 2^bits mod modulus; factor NULL stands for 1. */
static int put_scaled(double *to, const BIGNUM *factor, int bits,
                      const BIGNUM *modulus, int count, BN_CTX *ctx)
{
    BIGNUM *x = BN_CTX_get(ctx);
    int ok;

    if (x == NULL)
        return 0;
    BN_set_flags(x, BN_FLG_CONSTTIME);
    ok = (factor != NULL ? BN_copy(x, factor) != NULL : BN_one(x)) &&
         BN_lshift(x, x, bits) && BN_mod(x, x, modulus, ctx) &&
         put_samples(to, x, count);
    BN_clear(x);
    return ok;
}

/* to = 2^-52 mod modulus = (1 + modulus (-1/modulus mod 2^52)) / 2^52. */
static int put_inv_2_52(double *to, const BIGNUM *modulus, double modulus_n0inv,
                        int count, BN_CTX *ctx)
{
    BIGNUM *x = BN_CTX_get(ctx);
    int ok = x != NULL && BN_copy(x, modulus) != NULL &&
             BN_mul_word(x, (BN_ULONG)modulus_n0inv) && BN_add_word(x, 1) &&
             BN_rshift(x, x, 52) && put_samples(to, x, count);

    if (x != NULL)
        BN_clear(x);
    return ok;
}

#ifndef WARPRSA_LARGE
/* Sets block_n0inv = i = -1/prime mod 2^(52 B), and block_inv_2_52 = 2^(-52 B)
 * mod prime = (1 + prime i) / 2^(52 B). */
static int put_block(warprsa_prepared_half *half, const BIGNUM *prime,
                     int limbs, BN_CTX *ctx)
{
    const int block = WARPRSA_BLOCK_OF(limbs);
    BIGNUM *power = BN_CTX_get(ctx), *i = BN_CTX_get(ctx);
    int ok;

    if (i == NULL)
        return 0;
    BN_set_flags(i, BN_FLG_CONSTTIME);
    BN_zero(power);
    ok = BN_set_bit(power, 52 * block) &&
         BN_mod_inverse(i, prime, power, ctx) != NULL && BN_sub(i, power, i) &&
         put_samples(half->block_n0inv, i, block) && BN_mul(i, i, prime, ctx) &&
         BN_add_word(i, 1) && BN_rshift(i, i, 52 * block) &&
         put_samples(half->block_inv_2_52, i, limbs);
    BN_clear(i);
    return ok;
}
#endif

static BIGNUM *get(BN_CTX *ctx, const uint8_t *bytes, size_t length)
{
    BIGNUM *x = BN_CTX_get(ctx);

    if (x == NULL || BN_bin2bn(bytes, (int)length, x) == NULL)
        return NULL;
    BN_set_flags(x, BN_FLG_CONSTTIME);
    return x;
}

static int put_exponent(uint32_t *words, const uint8_t *bytes, int limbs)
{
    int length = 52 * limbs / 8;

    if (warprsa_octets_bits(bytes, WARPRSA_PRIME_BYTES_MAX) >
        (unsigned)(8 * length))
        return 0;
    for (int i = 0; i < length; i++)
        words[i / 4] |= (uint32_t)bytes[WARPRSA_PRIME_BYTES_MAX - 1 - i]
                        << (8 * (i % 4));
    return 1;
}

/* prime - 1, for an odd prime: it differs in the lowest bit alone. */
static int put_p_minus_1(uint32_t *words, const BIGNUM *prime)
{
    uint8_t bytes[4 * WARPRSA_EXPONENT_WORDS];
    int ok = BN_bn2lebinpad(prime, bytes, sizeof(bytes)) == sizeof(bytes);

    for (size_t i = 0; ok && i < sizeof(bytes); i++)
        words[i / 4] |= (uint32_t)bytes[i] << (8 * (i % 4));
    words[0] &= ~1u;
    OPENSSL_cleanse(bytes, sizeof(bytes));
    return ok;
}

/* The number of digits that hold dp + k (p - 1), and likewise for q. It must
 * not depend on secrets. As long as no prime is longer than half of n, which is
 * the usual way to make keys, n's length gives it; for other keys it is what
 * the class can hold. */
static uint32_t windows_of(const warprsa_prepared_key *key, const BIGNUM *n,
                           int limbs)
{
    uint32_t bits = ((uint32_t)BN_num_bits(n) + 1) / 2;

    if (key->half[0].bits > bits || key->half[1].bits > bits)
        bits = (uint32_t)(52 * limbs);
    return (bits + WARPRSA_EXPONENT_BLINDING_BITS + WARPRSA_WINDOW - 1) /
           WARPRSA_WINDOW;
}

static warprsa_status prepare_half(warprsa_prepared_half *half,
                                   const BIGNUM *prime, const uint8_t *exponent,
                                   int limbs, BN_CTX *ctx)
{
    if (!put_exponent(half->exponent, exponent, limbs))
        return WARPRSA_UNSUPPORTED_KEY;
    if (!put_samples(half->modulus, prime, limbs))
        return WARPRSA_NO_MEMORY;
    if (!put_p_minus_1(half->p_minus_1, prime))
        return WARPRSA_NO_MEMORY;
    half->n0inv = compute_n0inv(half->modulus[0]);
    half->bits = (uint32_t)BN_num_bits(prime);
    return put_inv_2_52(half->inv_2_52, prime, half->n0inv, limbs, ctx) &&
#ifndef WARPRSA_LARGE
                   put_block(half, prime, limbs, ctx) &&
#endif
                   put_scaled(half->r2, NULL, 104 * limbs, prime, limbs, ctx) &&
                   put_scaled(half->r3, NULL, 156 * limbs, prime, limbs, ctx)
               ? WARPRSA_OK
               : WARPRSA_NO_MEMORY;
}

/* The constants of a product modulo n: n itself, 2^-52 mod n, R^2 mod n for R =
 * 2^(52 samples), and -1/n mod 2^52. */
static bool put_modulus(double *modulus, double *inv_2_52, double *r2,
                        double *n0inv, const BIGNUM *n, int samples,
                        BN_CTX *ctx)
{
    if (!put_samples(modulus, n, samples))
        return false;
    *n0inv = compute_n0inv(modulus[0]);
    return put_inv_2_52(inv_2_52, n, *n0inv, samples, ctx) &&
           put_scaled(r2, NULL, 104 * samples, n, samples, ctx);
}

/* The constants of n, which all lanes use together. */
static bool prepare_full(warprsa_prepared_key *out, const BIGNUM *n,
                         const BIGNUM *q, int limbs, BN_CTX *ctx)
{
    return put_modulus(out->modulus, out->inv_2_52, out->r2, &out->n0inv, n,
                       2 * limbs, ctx) &&
           put_scaled(out->q_r, q, 104 * limbs, n, 2 * limbs, ctx);
}

#ifndef WARPRSA_LARGE
warprsa_status warprsa_prepare_modulus(const warprsa_private_key *key,
                                       int samples, double *numbers,
                                       double *n0inv)
{
    BN_CTX *ctx = BN_CTX_new();
    const BIGNUM *n;
    bool done;

    if (ctx == NULL)
        return WARPRSA_NO_MEMORY;
    BN_CTX_start(ctx);
    n = get(ctx, key->n, sizeof(key->n));
    done =
        n != NULL && put_modulus(numbers, numbers + samples,
                                 numbers + 2 * samples, n0inv, n, samples, ctx);
    BN_CTX_end(ctx);
    BN_CTX_free(ctx);
    return done ? WARPRSA_OK : WARPRSA_NO_MEMORY;
}
#endif

/*
 * WARPRSA_OK if n = p q, and qinv < p is the inverse of q modulo p. The latter
 * shows that p and q have no factor in common, since it would divide
 * q qinv - 1, too. Results are checked modulo p and q, and both are needed for
 * that to be a check modulo n.
 */
static warprsa_status check_numbers(const BIGNUM *n, const BIGNUM *p,
                                    const BIGNUM *q, const BIGNUM *qinv,
                                    BN_CTX *ctx)
{
    BIGNUM *product = BN_CTX_get(ctx);

    if (BN_cmp(qinv, p) >= 0)
        return WARPRSA_UNSUPPORTED_KEY;
    if (product == NULL || !BN_mul(product, p, q, ctx))
        return WARPRSA_NO_MEMORY;
    if (BN_cmp(product, n) != 0)
        return WARPRSA_UNSUPPORTED_KEY;
    BN_set_flags(product, BN_FLG_CONSTTIME);
    if (!BN_mul(product, q, qinv, ctx) || !BN_mod(product, product, p, ctx))
        return WARPRSA_NO_MEMORY;
    return BN_is_one(product) ? WARPRSA_OK : WARPRSA_UNSUPPORTED_KEY;
}

static warprsa_status prepare(warprsa_prepared_key *out,
                              const warprsa_private_key *key, int limbs,
                              BN_CTX *ctx)
{
    BIGNUM *n = get(ctx, key->n, sizeof(key->n));
    BIGNUM *p = get(ctx, key->p, sizeof(key->p));
    BIGNUM *q = get(ctx, key->q, sizeof(key->q));
    BIGNUM *qinv = get(ctx, key->qinv, sizeof(key->qinv));
    warprsa_status status = WARPRSA_NO_MEMORY;

    if (n == NULL || p == NULL || q == NULL || qinv == NULL)
        return WARPRSA_NO_MEMORY;
    status = check_numbers(n, p, q, qinv, ctx);
    if (status == WARPRSA_OK)
        status = prepare_half(&out->half[0], p, key->dp, limbs, ctx);
    if (status == WARPRSA_OK)
        status = prepare_half(&out->half[1], q, key->dq, limbs, ctx);
    if (status == WARPRSA_OK &&
        (!put_scaled(out->qinv_r, qinv, 52 * limbs, p, limbs, ctx) ||
         !prepare_full(out, n, q, limbs, ctx)))
        status = WARPRSA_NO_MEMORY;
    for (size_t i = 0; i < sizeof(key->e); i++)
        out->e = out->e << 8 | key->e[i];
    out->modulus_bytes = key->modulus_bytes;
    out->windows = windows_of(out, n, limbs);
    return status;
}

warprsa_status warprsa_prepare_key(warprsa_prepared_key *out,
                                   const warprsa_private_key *key)
{
#ifdef WARPRSA_LARGE
    const int least = WARPRSA_CLASS_LARGE, end = WARPRSA_CLASSES;
#else
    const int least = 0, end = WARPRSA_CLASS_LARGE;
#endif
    int size = warprsa_key_class(key);
    warprsa_status status = WARPRSA_OK;
    BN_CTX *ctx = NULL;

    if (size < least || size >= end)
        return WARPRSA_UNSUPPORTED_KEY;
    ctx = BN_CTX_new();
    if (ctx == NULL)
        return WARPRSA_NO_MEMORY;
    memset(out, 0, sizeof(*out));
    out->size = (uint32_t)size;
    BN_CTX_start(ctx);
    status = prepare(out, key, warprsa_shape_of((warprsa_size_class)size).limbs,
                     ctx);
    BN_CTX_end(ctx);
    BN_CTX_free(ctx);
    if (status != WARPRSA_OK)
        OPENSSL_cleanse(out, sizeof(*out));
    return status;
}
