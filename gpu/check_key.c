/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tells a device that computes wrongly from a key whose numbers are wrong: by
 * libcrypto's big numbers. See warprsa_check_key() in gpu/engine.h. Secret
 * numbers carry BN_FLG_CONSTTIME, and BN_CTX_free() wipes them.
 *
 * To compute the operation once more would not do. Whoever makes up a key may
 * choose the input, too: with 1 any exponents give the right result, and with a
 * prime that is none those that are right for its factors. An engine that
 * blinds computes another power then, and would be blamed.
 */
#include "gpu/engine.h"

#include <openssl/bn.h>
#include <openssl/err.h>

/* The numbers of a key, and some that are computed. */
typedef struct numbers {
    BIGNUM *n, *e, *p, *q, *dp, *dq, *qinv, *less_one, *product;
} numbers;

static bool get(BN_CTX *ctx, BIGNUM **number, const uint8_t *bytes, size_t size)
{
    *number = BN_CTX_get(ctx);
    if (*number == NULL)
        return false;
    BN_set_flags(*number, BN_FLG_CONSTTIME);
    return bytes == NULL || BN_bin2bn(bytes, (int)size, *number) != NULL;
}

static bool get_all(BN_CTX *ctx, numbers *x, const warprsa_private_key *key)
{
    return get(ctx, &x->n, key->n, sizeof(key->n)) &&
           get(ctx, &x->e, key->e, sizeof(key->e)) &&
           get(ctx, &x->p, key->p, sizeof(key->p)) &&
           get(ctx, &x->q, key->q, sizeof(key->q)) &&
           get(ctx, &x->dp, key->dp, sizeof(key->dp)) &&
           get(ctx, &x->dq, key->dq, sizeof(key->dq)) &&
           get(ctx, &x->qinv, key->qinv, sizeof(key->qinv)) &&
           get(ctx, &x->less_one, NULL, 0) && get(ctx, &x->product, NULL, 0);
}

/* What is found out: 1 yes, 0 no, less than 0: not found out. */

static int is_product(BN_CTX *ctx, const numbers *x)
{
    if (BN_mul(x->product, x->p, x->q, ctx) != 1)
        return -1;
    return BN_cmp(x->product, x->n) == 0;
}

/* Whether a b = 1 mod `modulus`. */
static int is_inverse(BN_CTX *ctx, const numbers *x, const BIGNUM *a,
                      const BIGNUM *b, const BIGNUM *modulus)
{
    if (BN_mod_mul(x->product, a, b, modulus, ctx) != 1)
        return -1;
    return BN_is_one(x->product);
}

/* Whether d e = 1 mod prime - 1. */
static int is_exponent(BN_CTX *ctx, const numbers *x, const BIGNUM *d,
                       const BIGNUM *prime)
{
    if (BN_sub(x->less_one, prime, BN_value_one()) != 1)
        return -1;
    return is_inverse(ctx, x, d, x->e, x->less_one);
}

/* The cheap ones first. */
static int is_key(BN_CTX *ctx, const numbers *x)
{
    int is = is_product(ctx, x);

    if (is == 1)
        is = is_inverse(ctx, x, x->qinv, x->q, x->p);
    if (is == 1)
        is = is_exponent(ctx, x, x->dp, x->p);
    if (is == 1)
        is = is_exponent(ctx, x, x->dq, x->q);
    if (is == 1)
        is = BN_check_prime(x->p, ctx, NULL);
    if (is == 1)
        is = BN_check_prime(x->q, ctx, NULL);
    return is;
}

warprsa_status warprsa_check_key(const warprsa_private_key *key)
{
    BN_CTX *ctx = BN_CTX_new();
    numbers x;
    int is = -1;

    if (ctx != NULL) {
        BN_CTX_start(ctx);
        if (get_all(ctx, &x, key))
            is = is_key(ctx, &x);
        BN_CTX_end(ctx);
    }
    BN_CTX_free(ctx);
    ERR_clear_error();
    if (is < 0)
        return WARPRSA_NO_MEMORY;
    return is == 1 ? WARPRSA_OK : WARPRSA_CHECK_FAILED;
}
