/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Prepares keys for 32-bit limbs. All that does not depend on the size of a
 * limb, the checks included, is taken from the key as prepared for 52-bit
 * samples.
 */
#include "gpu/arith/int32_key.h"

#include <string.h>

#include <openssl/bn.h>
#include <openssl/crypto.h>

warprsa_shape warprsa_int32_shape_of(warprsa_size_class size, bool many)
{
    static const warprsa_shape shapes[2][WARPRSA_CLASSES] = {
        {WARPRSA_INT32_SHAPE_FEW_1024, WARPRSA_INT32_SHAPE_FEW_2048,
         WARPRSA_INT32_SHAPE_FEW_3072, WARPRSA_INT32_SHAPE_FEW_4096},
        {WARPRSA_INT32_SHAPE_MANY_1024, WARPRSA_INT32_SHAPE_MANY_2048,
         WARPRSA_INT32_SHAPE_MANY_3072, WARPRSA_INT32_SHAPE_MANY_4096}};

    return shapes[many][size];
}

/* Writes a number below 2^(32 count) as limbs. */
static bool put_limbs(uint32_t *to, const BIGNUM *number, int count)
{
    uint8_t bytes[4 * WARPRSA_INT32_FULL_LIMBS];
    bool ok = BN_bn2lebinpad(number, bytes, 4 * count) == 4 * count;

    for (int i = 0; ok && i < count; i++)
        to[i] = (uint32_t)bytes[4 * i] | (uint32_t)bytes[4 * i + 1] << 8 |
                (uint32_t)bytes[4 * i + 2] << 16 |
                (uint32_t)bytes[4 * i + 3] << 24;
    OPENSSL_cleanse(bytes, sizeof(bytes));
    return ok;
}

/* to = factor 2^(32 limbs) mod modulus. */
static bool put_scaled(uint32_t *to, const BIGNUM *factor, int limbs,
                       const BIGNUM *modulus, int count, BN_CTX *ctx)
{
    BIGNUM *x = BN_CTX_get(ctx);
    bool ok;

    if (x == NULL)
        return false;
    BN_set_flags(x, BN_FLG_CONSTTIME);
    ok = BN_lshift(x, factor, 32 * limbs) && BN_mod(x, x, modulus, ctx) &&
         put_limbs(to, x, count);
    BN_clear(x);
    return ok;
}

/* -1/m mod 2^32 for odd m, from its lowest limb, by Newton's iteration: x = m
 * is 1/m mod 8, and each turn doubles the 3 correct bits. */
static uint32_t compute_n0inv(uint32_t m)
{
    uint32_t x = m;

    for (int i = 0; i < 4; i++)
        x *= 2 - m * x;
    return 0 - x;
}

static BIGNUM *get(BN_CTX *ctx, const uint8_t *bytes, size_t length)
{
    BIGNUM *x = BN_CTX_get(ctx);

    if (x == NULL || BN_bin2bn(bytes, (int)length, x) == NULL)
        return NULL;
    BN_set_flags(x, BN_FLG_CONSTTIME);
    return x;
}

static bool prepare_half(warprsa_int32_half *half,
                         const warprsa_prepared_half *from, const BIGNUM *prime,
                         int limbs, BN_CTX *ctx)
{
    memcpy(half->exponent, from->exponent, sizeof(half->exponent));
    memcpy(half->p_minus_1, from->p_minus_1, sizeof(half->p_minus_1));
    half->bits = from->bits;
    if (!put_limbs(half->modulus, prime, limbs))
        return false;
    half->n0inv = compute_n0inv(half->modulus[0]);
    return put_scaled(half->r2, BN_value_one(), 2 * limbs, prime, limbs, ctx) &&
           put_scaled(half->r3, BN_value_one(), 3 * limbs, prime, limbs, ctx);
}

static bool prepare(warprsa_int32_key *out, const warprsa_prepared_key *from,
                    const warprsa_private_key *key, BN_CTX *ctx)
{
    const int limbs =
        warprsa_int32_shape_of((warprsa_size_class)from->size, true).limbs;
    BIGNUM *n = get(ctx, key->n, sizeof(key->n));
    BIGNUM *p = get(ctx, key->p, sizeof(key->p));
    BIGNUM *q = get(ctx, key->q, sizeof(key->q));
    BIGNUM *qinv = get(ctx, key->qinv, sizeof(key->qinv));

    out->e = from->e;
    out->modulus_bytes = from->modulus_bytes;
    out->size = from->size;
    out->windows = from->windows;
    if (n == NULL || p == NULL || q == NULL || qinv == NULL ||
        !put_limbs(out->modulus, n, 2 * limbs))
        return false;
    out->n0inv = compute_n0inv(out->modulus[0]);
    return prepare_half(&out->half[0], &from->half[0], p, limbs, ctx) &&
           prepare_half(&out->half[1], &from->half[1], q, limbs, ctx) &&
           put_scaled(out->qinv_r, qinv, limbs, p, limbs, ctx) &&
           put_scaled(out->r2, BN_value_one(), 4 * limbs, n, 2 * limbs, ctx) &&
           put_scaled(out->q_r, q, 2 * limbs, n, 2 * limbs, ctx);
}

warprsa_status warprsa_prepare_int32_key(warprsa_int32_key *out,
                                         const warprsa_private_key *key)
{
    warprsa_prepared_key wide;
    warprsa_status status = warprsa_prepare_key(&wide, key);
    BN_CTX *ctx;

    memset(out, 0, sizeof(*out));
    if (status != WARPRSA_OK)
        return status;
    ctx = BN_CTX_new();
    status = WARPRSA_NO_MEMORY;
    if (ctx != NULL) {
        BN_CTX_start(ctx);
        if (prepare(out, &wide, key, ctx))
            status = WARPRSA_OK;
        BN_CTX_end(ctx);
    }
    BN_CTX_free(ctx);
    OPENSSL_cleanse(&wide, sizeof(wide));
    if (status != WARPRSA_OK)
        OPENSSL_cleanse(out, sizeof(*out));
    return status;
}
