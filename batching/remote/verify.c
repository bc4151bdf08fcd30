/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checks results of other hosts; see verify.h.
 */
#include "batching/remote/verify.h"

#include <stdlib.h>

#include <openssl/bn.h>
#include <openssl/err.h>

struct warprsa_verify {
    BIGNUM *n, *e;
    BN_MONT_CTX *montgomery;
};

warprsa_verify *warprsa_verify_new(const warprsa_private_key *key)
{
    warprsa_verify *v = calloc(1, sizeof(*v));
    BN_CTX *context = BN_CTX_new();
    bool done = false;

    if (v != NULL && context != NULL) {
        v->n = BN_bin2bn(key->n, sizeof(key->n), NULL);
        v->e = BN_bin2bn(key->e, sizeof(key->e), NULL);
        v->montgomery = BN_MONT_CTX_new();
        done = v->n != NULL && v->e != NULL && v->montgomery != NULL &&
               BN_MONT_CTX_set(v->montgomery, v->n, context) == 1;
    }
    BN_CTX_free(context);
    ERR_clear_error();
    if (done)
        return v;
    warprsa_verify_free(v);
    return NULL;
}

void warprsa_verify_free(warprsa_verify *v)
{
    if (v == NULL)
        return;
    BN_free(v->n);
    BN_free(v->e);
    BN_MONT_CTX_free(v->montgomery);
    free(v);
}

bool warprsa_verify_is_right(const warprsa_verify *v, const uint8_t *input,
                             const uint8_t *output, size_t bytes)
{
    BN_CTX *context = BN_CTX_new();
    BIGNUM *s = BN_bin2bn(output, (int)bytes, NULL);
    BIGNUM *m = BN_bin2bn(input, (int)bytes, NULL), *again = BN_new();
    bool right =
        context != NULL && s != NULL && m != NULL && again != NULL &&
        BN_ucmp(s, v->n) < 0 &&
        BN_mod_exp_mont(again, s, v->e, v->n, context, v->montgomery) == 1 &&
        BN_ucmp(again, m) == 0;

    BN_clear_free(s);
    BN_clear_free(m);
    BN_clear_free(again);
    BN_CTX_free(context);
    ERR_clear_error();
    return right;
}
