/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys that can be prepared and are of no use; see made_up_key.h.
 */
#include "bench/programs/made_up_key.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bn.h>

enum {
    FACTOR_BITS = 2048,
};

static BIGNUM *base; /* the factor p of number 0 */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fail(const char *why)
{
    fprintf(stderr, "made-up key: %s\n", why);
    exit(1);
}

/* The product of two such has full length. */
static void make_base(void)
{
    base = BN_new();
    if (base == NULL ||
        !BN_rand(base, FACTOR_BITS, BN_RAND_TOP_TWO, BN_RAND_BOTTOM_ODD))
        fail("no random number");
}

static void put(uint8_t *to, int size, const BIGNUM *number)
{
    if (BN_bn2binpad(number, to, size) != size)
        fail("a number that does not fit");
}

/* q = p + 2, whose inverse modulo p is (p + 1) / 2. */
void made_up_key(uint32_t number, warprsa_private_key *key)
{
    BIGNUM *n = BN_new(), *p, *q, *qinv;
    BN_CTX *ctx = BN_CTX_new();

    pthread_once(&once, make_base);
    p = BN_dup(base);
    if (n == NULL || ctx == NULL || p == NULL || !BN_add_word(p, 4ul * number))
        fail("no memory");
    q = BN_dup(p);
    qinv = BN_dup(p);
    if (q == NULL || qinv == NULL || !BN_add_word(q, 2) ||
        !BN_mul(n, p, q, ctx) || !BN_add_word(qinv, 1) ||
        !BN_rshift1(qinv, qinv))
        fail("no memory");
    memset(key, 0, sizeof(*key));
    key->modulus_bytes = (uint32_t)BN_num_bytes(n);
    put(key->n, sizeof(key->n), n);
    key->e[sizeof(key->e) - 1] = 3;
    put(key->p, sizeof(key->p), p);
    put(key->q, sizeof(key->q), q);
    put(key->dp, sizeof(key->dp), p);
    put(key->dq, sizeof(key->dq), q);
    put(key->qinv, sizeof(key->qinv), qinv);
    BN_free(qinv);
    BN_free(q);
    BN_free(p);
    BN_free(n);
    BN_CTX_free(ctx);
}
