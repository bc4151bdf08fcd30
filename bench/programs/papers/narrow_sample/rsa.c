/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * RSA keys that are quickly made, and libcrypto's decryptions.
 */
#include "bench/programs/papers/narrow_sample/rsa.h"

static void want(int done)
{
    if (!done)
        papers_fail("no key");
}

static void make_number(BIGNUM **x, size_t bits, bool ones, unsigned long less)
{
    *x = BN_new();
    want(*x != NULL);
    if (ones)
        want(BN_lshift(*x, BN_value_one(), (int)bits) && BN_sub_word(*x, less));
    else
        want(BN_rand(*x, (int)bits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ODD));
}

/* 2^shift mod m, as words number `place` of the key. */
static void put_power(narrow_rsa *k, size_t place, size_t shift,
                      const BIGNUM *m)
{
    BIGNUM *x = BN_new();

    want(x != NULL && BN_lshift(x, BN_value_one(), (int)shift) &&
         BN_mod(x, x, m, k->ctx));
    papers_words(k->key + place * k->words, k->words, x);
    BN_free(x);
}

static void put(narrow_rsa *k, size_t place, const BIGNUM *x)
{
    papers_words(k->key + place * k->words, k->words, x);
}

/* R / q mod p. */
static void put_inverse(narrow_rsa *k, size_t shift)
{
    BIGNUM *x = BN_new();

    want(x != NULL && BN_lshift(x, BN_value_one(), (int)shift) &&
         BN_mod_mul(x, x, k->q_inverse, k->p, k->ctx));
    put(k, 8, x);
    BN_free(x);
}

void narrow_rsa_new(narrow_rsa *k, size_t bits, size_t width, size_t limbs,
                    bool ones)
{
    const size_t shift = width * limbs;
    const uint32_t mask = (1u << width) - 1;

    *k = (narrow_rsa){.words = bits / 32, .ctx = BN_CTX_new()};
    want(k->ctx != NULL);
    for (;;) {
        make_number(&k->p, bits, ones, 1);
        make_number(&k->q, bits, ones, 3);
        k->q_inverse = BN_mod_inverse(NULL, k->q, k->p, k->ctx);
        if (k->q_inverse != NULL)
            break;
        BN_free(k->p);
        BN_free(k->q);
    }
    make_number(&k->dp, bits, ones, 1);
    make_number(&k->dq, bits, ones, 1);
    const BIGNUM *moduli[] = {k->p, k->q}, *powers[] = {k->dp, k->dq};
    for (size_t i = 0; i < 2; i++) {
        put(k, i, moduli[i]);
        put_power(k, 2 + i, 2 * shift, moduli[i]);
        put_power(k, 4 + i, 3 * shift, moduli[i]);
        put(k, 6 + i, powers[i]);
        k->n0inv[i] = papers_n0inv(k->key[i * k->words]) & mask;
    }
    put_inverse(k, shift);
}

void narrow_rsa_free(narrow_rsa *k)
{
    BN_free(k->p);
    BN_free(k->q);
    BN_free(k->dp);
    BN_free(k->dq);
    BN_free(k->q_inverse);
    BN_CTX_free(k->ctx);
}

void narrow_rsa_text(const narrow_rsa *k, uint32_t *to, bool largest)
{
    BIGNUM *n = BN_new(), *x = BN_new();

    want(n != NULL && x != NULL && BN_mul(n, k->p, k->q, k->ctx) &&
         BN_sub_word(n, 1) && BN_rand_range(x, n));
    papers_words(to, 2 * k->words, largest ? n : x);
    BN_free(n);
    BN_free(x);
}

/* Whether x mod m is c^d mod m. */
static bool agrees(const narrow_rsa *k, const BIGNUM *x, const BIGNUM *c,
                   const BIGNUM *d, const BIGNUM *m)
{
    BIGNUM *want_x = BN_new(), *have = BN_new();
    bool same;

    want(want_x != NULL && have != NULL &&
         BN_mod_exp(want_x, c, d, m, k->ctx) && BN_mod(have, x, m, k->ctx));
    same = BN_cmp(want_x, have) == 0;
    BN_free(want_x);
    BN_free(have);
    return same;
}

bool narrow_rsa_is(const narrow_rsa *k, const uint32_t *c,
                   const uint32_t *result)
{
    BIGNUM *x = BN_new(), *y = BN_new(), *n = BN_new();
    bool same;

    want(x != NULL && y != NULL && n != NULL && BN_mul(n, k->p, k->q, k->ctx));
    papers_number(x, result, 2 * k->words);
    papers_number(y, c, 2 * k->words);
    same = BN_cmp(x, n) < 0 && agrees(k, x, y, k->dp, k->p) &&
           agrees(k, x, y, k->dq, k->q);
    BN_free(x);
    BN_free(y);
    BN_free(n);
    return same;
}
