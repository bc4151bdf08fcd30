/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tells a device that computes wrongly from a key whose numbers are wrong: by
 * libcrypto's big numbers. See warprsa_recompute() in gpu/engine.h. Secret
 * numbers carry BN_FLG_CONSTTIME, and BN_CTX_free() wipes them.
 */
#include "gpu/engine.h"

#include <openssl/bn.h>
#include <openssl/err.h>

/* The numbers of a key, and those that are computed. */
typedef struct numbers {
    BIGNUM *n, *e, *p, *q, *dp, *dq, *qinv;
    BIGNUM *input, *sp, *sq, *result;
} numbers;

static bool get(BN_CTX *ctx, BIGNUM **number, const uint8_t *bytes, size_t size)
{
    *number = BN_CTX_get(ctx);
    if (*number == NULL)
        return false;
    BN_set_flags(*number, BN_FLG_CONSTTIME);
    return bytes == NULL || BN_bin2bn(bytes, (int)size, *number) != NULL;
}

static bool get_all(BN_CTX *ctx, numbers *x, const warprsa_private_key *key,
                    const uint8_t *input)
{
    return get(ctx, &x->n, key->n, sizeof(key->n)) &&
           get(ctx, &x->e, key->e, sizeof(key->e)) &&
           get(ctx, &x->p, key->p, sizeof(key->p)) &&
           get(ctx, &x->q, key->q, sizeof(key->q)) &&
           get(ctx, &x->dp, key->dp, sizeof(key->dp)) &&
           get(ctx, &x->dq, key->dq, sizeof(key->dq)) &&
           get(ctx, &x->qinv, key->qinv, sizeof(key->qinv)) &&
           get(ctx, &x->input, input, key->modulus_bytes) &&
           get(ctx, &x->sp, NULL, 0) && get(ctx, &x->sq, NULL, 0) &&
           get(ctx, &x->result, NULL, 0);
}

/* to = input^d mod prime */
static bool power(BN_CTX *ctx, BIGNUM *to, const numbers *x, const BIGNUM *d,
                  const BIGNUM *prime)
{
    return BN_mod(to, x->input, prime, ctx) == 1 &&
           BN_mod_exp_mont_consttime(to, to, d, prime, ctx, NULL) == 1;
}

/* result = sq + q (qinv (sp - sq) mod p), RFC 8017, 5.1.2, and its check. */
static bool compute(BN_CTX *ctx, const numbers *x, bool *is_right)
{
    bool done = power(ctx, x->sp, x, x->dp, x->p) &&
                power(ctx, x->sq, x, x->dq, x->q) &&
                BN_mod_sub(x->result, x->sp, x->sq, x->p, ctx) == 1 &&
                BN_mod_mul(x->result, x->result, x->qinv, x->p, ctx) == 1 &&
                BN_mul(x->result, x->result, x->q, ctx) == 1 &&
                BN_add(x->result, x->result, x->sq) == 1 &&
                BN_mod_exp_mont(x->sp, x->result, x->e, x->n, ctx, NULL) == 1;

    *is_right = done && BN_cmp(x->sp, x->input) == 0;
    return done;
}

warprsa_status warprsa_recompute(const warprsa_private_key *key,
                                 const uint8_t *input)
{
    BN_CTX *ctx = BN_CTX_new();
    warprsa_status status = WARPRSA_NO_MEMORY;
    bool is_right = false;
    numbers x;

    if (ctx != NULL) {
        BN_CTX_start(ctx);
        if (get_all(ctx, &x, key, input) && compute(ctx, &x, &is_right))
            status = is_right ? WARPRSA_OK : WARPRSA_CHECK_FAILED;
        BN_CTX_end(ctx);
    }
    BN_CTX_free(ctx);
    ERR_clear_error();
    return status;
}
